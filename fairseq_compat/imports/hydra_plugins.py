"""hydra 1.0.7's plugin scan on Python >= 3.12, whose finders have no `find_module`."""

import pkgutil
from contextlib import contextmanager

from fairseq_compat.module_proxy import StandIn


@contextmanager
def find_by_spec(module):
    """After the module ran: give it a pkgutil whose finders have `find_module` again."""
    yield
    module.pkgutil = StandIn(pkgutil, walk_packages=_walk_packages)


def _walk_packages(*args, **kwargs):
    for finder, name, is_package in pkgutil.walk_packages(*args, **kwargs):
        yield _Finder(finder), name, is_package


class _Finder:
    def __init__(self, finder) -> None:
        self.finder = finder

    def find_module(self, name: str):
        return self.finder.find_spec(name).loader
