"""Repairs that let stock fairseq 0.12.2 run on today's Python, torch and numpy; `python -m fairseq_compat` lists them.

The file `fairseq_compat.pth` beside the installed packages runs `import_hook.py` when Python
starts, and the hook loads the rest when fairseq, or the hydra it needs, is first imported.
"""

import sys

__version__ = "0.2.0.dev0"  # that of alibert_common, which this package may not import


def is_active() -> bool:
    """Whether the hook, or what takes its place, is there."""
    return any(getattr(finder, "__module__", "").startswith("fairseq_compat.") for finder in sys.meta_path)


def activate() -> None:
    """Start the hook where no .pth file has. Modules of fairseq that are imported already stay as they are."""
    if not is_active():
        from fairseq_compat import import_hook  # noqa: F401  puts itself on sys.meta_path
