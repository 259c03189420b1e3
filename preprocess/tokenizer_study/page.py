"""A report as one HTML page that needs nothing else: pictures are inside it, nothing comes from a network."""

import base64
from html import escape
from pathlib import Path

from preprocess.tokenizer_study.report import Picture, Section
from preprocess.tokenizer_study.tables import Cut, Table

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #111; background: #fff; max-width: 75rem; margin: 0 auto;
  padding: 1rem; }
h1, h2, h3 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #888; }
p { overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1rem 0 .25rem; }
.wide:focus { outline: 3px solid #05a; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: bold; padding: .25rem 0; }
th, td { border: 1px solid #999; padding: .2rem .5rem; text-align: right; vertical-align: top; }
td { white-space: nowrap; }
thead th { background: #e8e8e8; vertical-align: bottom; }
th:first-child, .words, .pieces { text-align: left; }
th[scope=row] { background: #f4f4f4; font-weight: normal; position: sticky; left: 0; }
td.pieces { min-width: 10rem; line-height: 1.9; white-space: normal; }
td.long { min-width: 17rem; }
.piece { border: 1px solid #666; border-radius: .2rem; padding: 0 .2rem; white-space: pre-wrap; }
.unknown { border-style: dashed; font-style: italic; }
.legend { margin: .25rem 0 2rem; padding-left: 1.2rem; font-size: .9rem; }
figure { margin: 1rem 0; overflow-x: auto; }
img { max-width: 100%; min-width: 34rem; height: auto; }
figcaption { font-size: .9rem; }
@media print {
  body { font-size: 9px; max-width: none; padding: 0; }
  .wide, figure { overflow: visible; }
  h2, h3, caption { break-after: avoid; }
  tr, figure { break-inside: avoid; }
  th, td { padding: .1rem .2rem; }
  td { white-space: normal; }
  td.pieces, td.long, img { min-width: 0; }
}
"""


def page(title: str, sections: list[Section], directory: Path) -> str:
    """The page; `directory` holds the pictures."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            *(part for section in sections for part in _section(section, directory)),
            "</body>",
            "</html>",
            "",
        ]
    )


def _section(section: Section, directory: Path) -> list[str]:
    return [
        "<section>",
        f"<h2>{escape(section.title)}</h2>",
        *(f"<p>{escape(sentence)}</p>" for sentence in section.sentences),
        *map(_table, section.tables),
        *(_picture(picture, directory) for picture in section.pictures),
        "</section>",
    ]


def _table(table: Table) -> str:
    """A table wider than the screen scrolls by itself, with the keys too."""
    heads = "".join(
        f'<th scope="col" class="{_kind(cell)}">{escape(column.header)}</th>'
        for column, cell in zip(table.columns, table.rows[0], strict=True)
    )
    rows = "".join(f"<tr>{_row(row)}</tr>\n" for row in table.rows)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(table.title)}">\n'
        f'<table>\n<caption lang="{table.language}">{escape(table.title)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{_legend(table)}"
    )


def _kind(cell: str | Cut) -> str:
    """Words stand on the left of a column, numbers on its right."""
    return "pieces" if isinstance(cell, Cut) else "number" if any(map(str.isdigit, cell)) else "words"


def _row(row: list[str | Cut]) -> str:
    cells = [f'<th scope="row">{escape(row[0])}</th>']
    for cell in row[1:]:
        if isinstance(cell, Cut):
            long = " long" * (len(row) == 3)  # a sentence; a term has a column for each tokenizer
            cells.append(f'<td class="pieces{long}" lang="fr">{" ".join(map(_piece, cell.pieces))}</td>')
        else:
            cells.append(f'<td class="{_kind(cell)}">{escape(cell)}</td>')
    return "".join(cells)


def _piece(piece: tuple[str, bool]) -> str:
    text, unknown = piece
    return f'<span class="piece{" unknown" * unknown}">{escape(text)}{" (?)" * unknown}</span>'


def _legend(table: Table) -> str:
    meanings = [f"<li><b>{escape(c.header)}</b>: {escape(c.meaning)}</li>" for c in table.columns if c.meaning]
    return f'<ul class="legend">{"".join(meanings)}</ul>' if meanings else ""


def _picture(picture: Picture, directory: Path) -> str:
    data = base64.b64encode((directory / picture.file).read_bytes()).decode("ascii")
    text = escape(picture.text)
    return f'<figure><img src="data:image/png;base64,{data}" alt="{text}"><figcaption>{text}</figcaption></figure>'
