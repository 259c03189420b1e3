"""Texts from jinja2 templates: HTML is escaped, other formats are not. A value that is missing is an error."""

from pathlib import Path
from typing import Any


def filled(template: Path, **values: Any) -> str:
    """Fill in a template, which may include others of its folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape  # here: it makes --help slow

    environment = Environment(
        loader=FileSystemLoader(template.parent), autoescape=select_autoescape(), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(template.name).render(values)
