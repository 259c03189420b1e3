"""A report as one HTML page: no script, nothing that is loaded, tables that a screen reader can tell, good on paper."""

import base64
from html import escape
from pathlib import Path
from string import Template

from alibert_common.report.document import Picture, Section, Strong, Table, Text

PAGE = Path(__file__).with_name("page.html")


def render(report: Section) -> str:
    """The whole page."""
    parts = {"title": escape(report.title), "contents": _contents(report), "body": _blocks(report, 1, "s")}
    return Template(PAGE.read_text(encoding="utf-8")).substitute(parts)


def _contents(report: Section) -> str:
    """Links to the sections and those just below them."""
    return _links(report, "s", 2)


def _links(section: Section, anchor: str, depth: int) -> str:
    below = [(f"{anchor}-{number}", one) for number, one in enumerate(section.blocks) if isinstance(one, Section)]
    if not below or not depth:
        return ""
    items = [f'<li><a href="#{name}">{escape(one.title)}</a>{_links(one, name, depth - 1)}</li>' for name, one in below]
    return f"<ul>{''.join(items)}</ul>"


def _blocks(section: Section, level: int, anchor: str) -> str:
    parts = []
    for number, one in enumerate(section.blocks):
        name = f"{anchor}-{number}"
        if isinstance(one, Section):
            heading = f"h{min(level + 1, 6)}"
            parts.append(f'<section id="{name}">\n<{heading}>{escape(one.title)}</{heading}>')
            parts.append(f"{_blocks(one, level + 1, name)}\n</section>")
        else:
            parts.append(_block(one))
    return "\n".join(parts)


def _block(block: Text | Table | Picture) -> str:
    if isinstance(block, Text):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Picture):
        data = base64.b64encode(block.png).decode("ascii")
        return f'<p><img src="data:image/png;base64,{data}" alt="{escape(block.alt)}"></p>'
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in block.head)
    rows = "\n".join(f"<tr>{_row(row)}</tr>" for row in block.rows)
    kind = ' class="words"' if block.words else ""
    return (
        f'<div class="wide" tabindex="0"><table{kind}>\n<caption>{escape(block.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _row(row: list[str]) -> str:
    first, *others = row
    return f'<th scope="row">{_cell(first)}</th>' + "".join(f"<td>{_cell(cell)}</td>" for cell in others)


def _cell(text: str) -> str:
    return f"<strong>{escape(text)}</strong>" if isinstance(text, Strong) else escape(text)
