"""Compare runs in one report: `python -m downstream.report OUTPUT... [--output DIR]`."""

from downstream.report.command import main, print_and_write

__all__ = ["main", "print_and_write"]
