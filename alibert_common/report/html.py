"""A report as one HTML page: no script, nothing to load, tables that a screen reader can read, A4 when printed."""

from pathlib import Path

from alibert_common.report.document import Section
from alibert_common.report.templates import filled


def render(report: Section) -> str:
    """Return the page."""
    return filled(Path(__file__).with_name("page.html"), report=report) + "\n"
