"""A report as Markdown, and a table for a terminal."""

import html
import re

from alibert_common.report.document import Block, Cell, Code, Picture, Pieces, Section, Strong, Table

# An underscore inside a word is plain as it is, and so are brackets that no link can follow. Names of tasks and
# intervals stay readable in the source.
SPECIAL = re.compile(r"[\\|*`~]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])")
LIST_OR_HEADING = re.compile(r"^(\d*)([-+#.)])(?=[\s#])")


def render(section: Section, level: int = 1) -> str:
    """Return the section and those below it as Markdown; its heading has this level."""
    parts = [f"{'#' * min(level, 6)} {escaped(section.title)}"]
    parts += [render(block, level + 1) if isinstance(block, Section) else _block(block) for block in section.blocks]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def escaped(text: str) -> str:
    """Return the text on one line, escaped for HTML and Markdown."""
    return SPECIAL.sub(r"\\\g<0>", html.escape(" ".join(text.split()), quote=False))


def plain(table: Table) -> str:
    """Return a table of strings for a terminal, one line per row."""
    rows = [[str(cell) for cell in row] for row in (table.head, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Code):
        return "\n".join(["```", *block.lines, "```"])
    if isinstance(block, Picture):
        alt = escaped(block.alt)
        return f"![{alt}]({block.file})" if block.file else f"(The HTML page has a picture here: {alt})"
    return LIST_OR_HEADING.sub(r"\1\\\2", escaped(str(block)))


def _table(table: Table) -> str:
    sides = "".join("---:|" if kind == "number" else ":---|" for kind in table.kinds)
    head, *rows = ["| " + " | ".join(map(_cell, row)) + " |" for row in (table.head, *table.rows)]
    legend = [f"- {escaped(header)}: {escaped(meaning)}" for header, meaning in table.meanings]
    lines = [f"**{escaped(table.caption)}**", "", head, f"|{sides}", *rows]
    return "\n".join([*lines, "", *legend] if legend else lines)


def _cell(cell: Cell) -> str:
    if isinstance(cell, Pieces):
        return " ".join(_code(text) + "(?)" * unknown for text, unknown in cell.pieces)
    return f"**{escaped(cell)}**" if isinstance(cell, Strong) else escaped(cell)


def _code(text: str) -> str:
    """Return a piece as code, with any characters in it; a bar would end the cell."""
    if not text:
        return ""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}".replace("|", r"\|")
