"""A report as Markdown, and a table for a terminal."""

import re

from preprocess.tokenizer_study.report import Section
from preprocess.tokenizer_study.tables import Cut, Table


def markdown(title: str, sections: list[Section]) -> str:
    """The whole file."""
    return "\n".join([f"# {title}", "", *(line for section in sections for line in _section(section))])


def _section(section: Section) -> list[str]:
    lines = [f"## {section.title}", ""]
    for sentence in section.sentences:
        lines += [escaped(sentence), ""]
    for table in section.tables:
        lines += [f"### {escaped(table.title)}", "", *_rows(table), "", *_legend(table)]
    for picture in section.pictures:
        lines += [f"![{escaped(picture.text)}]({picture.file})", ""]
    return lines


def _rows(table: Table) -> list[str]:
    rows = [[escaped(column.header) for column in table.columns], ["---"] * len(table.columns)]
    rows += [list(map(_cell, row)) for row in table.rows]
    return [f"| {' | '.join(row)} |" for row in rows]


def _legend(table: Table) -> list[str]:
    meanings = [f"- {escaped(column.header)}: {escaped(column.meaning)}" for column in table.columns if column.meaning]
    return [*meanings, ""] if meanings else []


def _cell(cell: str | Cut) -> str:
    if isinstance(cell, str):
        return escaped(cell)
    return " ".join(_code(text) + "(?)" * unknown for text, unknown in cell.pieces)


def escaped(text: str) -> str:
    """The text as Markdown shows it literally."""
    return re.sub(r"([\\`*_\[\]<>|#~&])", r"\\\1", text)


def _code(text: str) -> str:
    """A piece as code, which may hold any sign; a bar would end the cell."""
    if not text:
        return ""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}".replace("|", r"\|")


def plain(table: Table) -> str:
    """One line a row, for a terminal; only for tables of text."""
    rows = [[column.header for column in table.columns], *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.columns))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
