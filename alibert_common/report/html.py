"""A report as one HTML page: no script, nothing to load, tables that a screen reader can read, A4 when printed."""

from pathlib import Path

from alibert_common.report.document import Section


def render(report: Section) -> str:
    """The whole page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # here, because it makes `--help` slow

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    return templates.get_template("page.html").render(report=report) + "\n"
