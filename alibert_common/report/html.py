"""A report as one HTML page: no script, nothing to load, tables that a screen reader can read, A4 when printed."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from alibert_common.report.document import Section

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)


def render(report: Section) -> str:
    """The whole page."""
    return TEMPLATES.get_template("page.html").render(report=report) + "\n"
