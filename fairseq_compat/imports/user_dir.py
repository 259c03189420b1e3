"""A --user-dir that is an installed package, or whose dataclasses have configurations as defaults.

Stock fairseq takes --user-dir for a path only. A plugin in fairseq's own style has `field(default=SomeConfig())`, which
Python >= 3.11 refuses.
"""

import importlib.util
import os
from argparse import Namespace
from contextlib import contextmanager
from pathlib import Path

from fairseq_compat.errors import Refusal
from fairseq_compat.imports.dataclass_defaults import OWNERS, hashable_while_imported
from fairseq_compat.module_proxy import in_place_in


@contextmanager
def found_and_imported(module):
    """After `fairseq.utils` ran: a --user-dir that is no folder is looked up by its name, and its defaults work."""
    yield

    @in_place_in(module)
    def import_user_module(original, args):
        user_dir = getattr(args, "user_dir", None)
        if user_dir is None:
            return None
        folder = folder_of(user_dir, Path(module.__file__).parent)
        OWNERS.add(os.path.basename(folder))
        with hashable_while_imported(module):
            return original(Namespace(user_dir=folder))


def folder_of(user_dir: str, fairseq: Path) -> str:
    """The folder of a --user-dir: a path, a path beside fairseq's modules, or the name of an installed package."""
    for folder in (Path(user_dir), fairseq / user_dir, fairseq.parent / user_dir):
        if folder.exists():
            return os.path.abspath(folder)
    spec = importlib.util.find_spec(user_dir) if user_dir.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise Refusal(f"--user-dir {user_dir}: no such folder or installed package; give the path of a plugin.")
    return spec.submodule_search_locations[0]
