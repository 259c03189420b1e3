"""A module under another's name: the same library with a few names changed, for one module's eyes only."""

from types import ModuleType


class StandIn(ModuleType):
    """Looks like `library`, except for the given names."""

    def __init__(self, library: ModuleType, **changed) -> None:
        super().__init__(library.__name__, library.__doc__)
        self.__dict__["_library"] = library
        self.__dict__.update(changed)

    def __getattr__(self, name: str):
        return getattr(self.__dict__["_library"], name)
