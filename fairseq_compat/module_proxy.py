"""A module with a few names changed: a library for one module's eyes only, or a function in another's place."""

import functools
from collections.abc import Callable
from types import ModuleType


class StandIn(ModuleType):
    """Looks like `library`, except for the given names."""

    def __init__(self, library: ModuleType, **changed) -> None:
        super().__init__(library.__name__, library.__doc__)
        self.__dict__["_library"] = library
        self.__dict__.update(changed)

    def __getattr__(self, name: str):
        return getattr(self.__dict__["_library"], name)


def in_place_in(owner) -> Callable[[Callable], Callable]:
    """Decorator: the function takes the place of its namesake in a module or class, and gets it as first argument."""

    def put(function):
        original = getattr(owner, function.__name__)

        @functools.wraps(original)
        def replacement(*args, **options):
            return function(original, *args, **options)

        setattr(owner, function.__name__, replacement)
        return replacement

    return put
