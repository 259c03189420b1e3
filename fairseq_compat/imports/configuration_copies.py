"""Copies of a part of a configuration, without all that the part belongs to.

omegaconf 2.0.6 copies the parent of each copied node too, so each part that hydra composes costs a copy of the whole
configuration. omegaconf 2.1 leaves the parent out of the copy, and so does this: the copy keeps its parent.
"""

from contextlib import contextmanager

from fairseq_compat.module_proxy import in_place_in


@contextmanager
def without_parents(module):
    """After `omegaconf.omegaconf` ran: copying a node takes its parent for copied."""
    yield

    def leave_out_parent(original, self, *args):
        memo, parent = args[-1], self.__dict__["_parent"]
        if parent is None or id(parent) in memo:  # in a copy of the parent, the new parent is known
            return original(self, *args)
        memo[id(parent)] = parent
        try:
            return original(self, *args)
        finally:
            del memo[id(parent)]

    @in_place_in(module.ValueNode)
    def _deepcopy_impl(original, self, res, memo):
        leave_out_parent(original, self, res, memo)

    for container in (module.DictConfig, module.ListConfig):

        @in_place_in(container)
        def __deepcopy__(original, self, memo):
            return leave_out_parent(original, self, memo)
