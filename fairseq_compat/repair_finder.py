"""Runs the repairs of a module around its execution, and only for the modules that have one."""

import sys
from contextlib import ExitStack
from importlib.machinery import ModuleSpec
from types import ModuleType

from fairseq_compat.repairs import REPAIRS


class RepairingFinder:
    """Finds watched modules as Python would, and wraps the execution of those that need a repair."""

    def __init__(self, watched: frozenset[str]) -> None:
        self.watched = watched
        self.repairs = [repair for repair in REPAIRS if repair.state() == "repaired"]

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        if name.partition(".")[0] not in self.watched:
            return None
        repairs = [repair for repair in self.repairs if repair.covers(name)]
        others = sys.meta_path[sys.meta_path.index(self) + 1 :] if repairs else ()
        specs = (finder.find_spec(name, path, target) for finder in others if hasattr(finder, "find_spec"))
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = RepairingLoader(spec.loader, repairs)  # type: ignore[assignment]
        return spec


class RepairingLoader:
    """The loader that was found, with the repairs around the execution; the module never gets to see it.

    A wrapper and not a change to the loader, because one loader may serve other modules too: pytest's does.
    """

    def __init__(self, loader, repairs: list) -> None:
        self.loader = loader
        self.repairs = repairs

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = module.__spec__.loader = self.loader  # type: ignore[union-attr]
        with ExitStack() as stack:
            for repair in self.repairs:
                stack.enter_context(repair.around(module))
            self.loader.exec_module(module)

    def __getattr__(self, name: str):
        """What else a loader can do (`python -m` asks for `get_code`) is done by the loader that was found."""
        return getattr(self.loader, name)
