"""Waits for the first import of fairseq or hydra; until then it costs one look into a set per import.

setup.py copies this source into `fairseq_compat.pth`, which every Python of the environment runs when it starts. So it
may import nothing but `sys`: to find one module on the disk would already take milliseconds.
"""

import sys


class WaitingFinder:
    """Stands first on `sys.meta_path`; gives its place to the repairing finder when a watched package is asked for."""

    WATCHED = frozenset(("fairseq", "fairseq_cli", "hydra", "omegaconf", "antlr4", "torchaudio"))

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in cls.WATCHED:
            return None
        from fairseq_compat.repair_finder import RepairingFinder

        finder = RepairingFinder(cls.WATCHED)
        sys.meta_path[sys.meta_path.index(cls)] = finder
        return finder.find_spec(name, path, target)

    @classmethod
    def find_distributions(cls, context=None):
        """Find none. pytest puts a finder before this one, asks for distributions, and imports hydra's test plugin."""
        sys.meta_path.remove(cls)
        sys.meta_path.insert(0, cls)
        return ()


sys.meta_path.insert(0, WaitingFinder)
