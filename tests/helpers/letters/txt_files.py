"""Letters as plain text: centred by spaces, hard-wrapped or not, tables by tabs, spaces or bars."""

import random
import textwrap
from pathlib import Path

from letters.letter import Block, Letter, Table

# name: (encoding, whether lines are hard-wrapped)
KINDS = {
    "UTF-8": ("utf-8", False),
    "UTF-8, hard-wrapped": ("utf-8", True),
    "UTF-8 with a mark": ("utf-8-sig", False),
    "Windows-1252": ("cp1252", False),
    "Windows-1252, hard-wrapped": ("cp1252", True),
}


def write_txt(letter: Letter, path: Path, kind: str, seed: str) -> None:
    """Write the letter as one of KINDS."""
    encoding, wrapped = KINDS[kind]
    draw = random.Random(seed)
    text = TxtLetter(draw, draw.randint(66, 96) if wrapped else 0).text(letter)
    path.write_bytes(text.replace("\n", draw.choice(("\n", "\r\n"))).encode(encoding))


class TxtLetter:
    """How one letter is typed; without a margin every block is one line."""

    def __init__(self, draw: random.Random, margin: int):
        self.margin = margin
        self.bullet = draw.choice(("- ", "• ", "* ", "– ", "o  "))
        self.after_number = draw.choice((". ", ") ", ".\t"))
        self.between = draw.choice(("\t", " | ", ""))

    def text(self, letter: Letter) -> str:
        """All blocks, with blank lines around headings and tables."""
        lines, number = list[str](), 0
        for block in letter.blocks:
            number = number + 1 if not isinstance(block, Table) and block.kind == "number" else 0
            if isinstance(block, Table) or block.kind == "heading":
                lines.append("")
            lines += self._rows(block) if isinstance(block, Table) else self._lines(block, number)
        return "\n".join(lines).lstrip("\n") + "\n"

    def _lines(self, block: Block, number: int) -> list[str]:
        text = block.truth()
        if block.kind in ("item", "number"):
            text = (f"{number}{self.after_number}" if number else self.bullet) + text.removeprefix("- ")
        width = self.margin or 80
        if block.align == "right":
            text = text.rjust(width)
        elif block.align == "center":
            text = text.center(width).rstrip()
        if not self.margin or len(text) <= self.margin:
            return [text]
        return textwrap.wrap(text, self.margin, break_long_words=False, break_on_hyphens=False)

    def _rows(self, table: Table) -> list[str]:
        rows = [[" ".join(cell.split()) for cell in row] for row in table.rows]
        if self.between:
            return [self.between.join(row) for row in rows]
        whole = [row for row in rows if len(row) == table.columns]
        widths = [max(map(len, column)) + 2 for column in zip(*whole, strict=True)]
        return ["".join(map(str.ljust, row, widths)).rstrip() for row in rows]
