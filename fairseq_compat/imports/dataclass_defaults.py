"""Dataclass instances as defaults of the configurations of fairseq, hydra and a --user-dir.

Python >= 3.11 refuses them, because it takes a missing `__hash__` for a sign of mutability. Here the classes of such
defaults get the hash of `object` while a module of these packages is imported; other dataclasses stay as they are.
Turning the defaults into factories would be cleaner, but omegaconf 2.0.6 cannot read those.
"""

import dataclasses
from contextlib import contextmanager

OWNERS = {"fairseq", "hydra"}  # and the package of each --user-dir (user_dir.py)

_original = dataclasses._get_field  # type: ignore[attr-defined]
_depth = 0  # imports nest: the first module in replaces the function, the last one out restores it


@contextmanager
def hashable_while_imported(module):
    """Replace the check of `dataclasses` while the module's code runs."""
    global _depth
    _depth += 1
    dataclasses._get_field = _get_field
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            dataclasses._get_field = _original


def _get_field(cls, name, *rest):
    if _is_ours(cls):
        default = getattr(cls, name, None)
        if isinstance(default, dataclasses.Field):
            default = default.default
        if type(default).__hash__ is None and _is_ours(type(default)):
            type(default).__hash__ = object.__hash__
    return _original(cls, name, *rest)


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in OWNERS
