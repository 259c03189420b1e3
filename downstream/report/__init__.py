"""What runs come to, as one page that needs nothing else: `python -m downstream.report OUTPUT... [--output DIR]`."""

from downstream.report.command import main, tell

__all__ = ["main", "tell"]
