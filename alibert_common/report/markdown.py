"""A report as Markdown."""

from alibert_common.report.document import Picture, Section, Strong, Table, Text
from alibert_common.report.escape import escaped


def render(section: Section, level: int = 1) -> str:
    """The section and those below it, headings from `level` on."""
    parts = [f"{'#' * min(level, 6)} {escaped(section.title)}"]
    parts += [render(one, level + 1) if isinstance(one, Section) else _block(one) for one in section.blocks]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _block(block: Text | Table | Picture) -> str:
    if isinstance(block, Text):
        return escaped(block.text)
    if isinstance(block, Picture):
        return f"(In report.html, a picture: {escaped(block.alt)})"
    sides = [":---" if number == 0 or block.words else "---:" for number in range(len(block.head))]
    rows = [block.head, *block.rows]
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join([f"**{escaped(block.caption)}**", "", lines[0], "|" + "|".join(sides) + "|", *lines[1:]])


def _cell(text: str) -> str:
    return f"**{escaped(text)}**" if isinstance(text, Strong) else escaped(text)
