"""Letters as PDF, made by reportlab: frames for columns, justified text, words divided at line ends."""

import io
import random
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

from letters.letter import Block, Letter, Paragraph, Table, without_running
from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY, TA_LEFT, TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, FrameBreak, NextPageTemplate, PageTemplate
from reportlab.platypus import Paragraph as Text
from reportlab.platypus import Table as Grid

FONTS = Path("/usr/share/fonts/truetype")
# name: (file or "", the characters that it has)
FAMILIES = {
    "Helvetica": ("", "cp1252"),
    "Times": ("", "cp1252"),
    "LiberationSans": ("liberation/LiberationSans", "font"),
    "LiberationSerif": ("liberation/LiberationSerif", "font"),
    "DejaVuSans": ("dejavu/DejaVuSans", "all"),
}
BUILT_IN = {
    "Helvetica": ("Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique"),
    "Times": ("Times-Roman", "Times-Bold", "Times-Italic", "Times-BoldItalic"),
}
ALIGNED = {"left": TA_LEFT, "right": TA_RIGHT, "center": TA_CENTER, "justify": TA_JUSTIFY}
MARGIN, GAP, SIDE = 18 * mm, 8 * mm, 45 * mm


@cache
def faces(family: str) -> tuple[str, ...]:
    """The four faces of a family under reportlab's names: regular, bold, italic, both."""
    if family in BUILT_IN:
        return BUILT_IN[family]
    oblique = "Oblique" if family.startswith("DejaVu") else "Italic"
    file = FAMILIES[family][0]
    endings = ("" if oblique == "Oblique" else "-Regular", "-Bold", f"-{oblique}", f"-Bold{oblique}")
    names = (family, f"{family}-Bold", f"{family}-Italic", f"{family}-BoldItalic")
    for name, ending in zip(names, endings, strict=True):
        pdfmetrics.registerFont(TTFont(name, FONTS / f"{file}{ending}.ttf"))
    pdfmetrics.registerFontFamily(family, *names)
    return names


def write_pdf(letter: Letter, path: Path, family: str, seed: str) -> tuple[Letter, int]:
    """Write the letter. One that takes one page gets no header and footer. Returns it as written, and its pages."""
    pages, content = PdfLetter(letter, family, seed).build(0)
    if pages == 1:
        letter = without_running(letter)
    pages, content = PdfLetter(letter, family, seed).build(pages)
    path.write_bytes(content)
    return letter, pages


class PdfLetter:
    """One letter with its sizes and its pages."""

    def __init__(self, letter: Letter, family: str, seed: str):
        self.letter, self.faces, self.draw = letter, faces(family), random.Random(seed)
        self.size = self.draw.choice((9, 10, 10.5, 11))
        self.inner = A4[0] - 2 * MARGIN
        self.top, self.bottom = A4[1] - 22 * mm, 20 * mm
        self.logo = self.draw.choice(("", "circle", "square"))
        self.number_first = self.draw.random() < 0.5

    def build(self, pages: int) -> tuple[int, bytes]:
        """The number of pages, and the bytes of the file that says "of so many" on each."""
        file = io.BytesIO()
        document = BaseDocTemplate(file, pagesize=A4, invariant=1, title="Courrier", author="Secrétariat")
        self.pages = pages
        document.addPageTemplates(self._templates())
        document.build([*self._story()])
        return document.page, file.getvalue()

    def _story(self) -> list[Flowable]:
        letter = self.letter
        later = NextPageTemplate("later")
        if letter.layout == "side column":
            return [later, *self._flow(letter.side, 0.85, SIDE), FrameBreak(), *self._main()]
        if letter.layout == "two columns":
            head = self._flow(letter.head, 1, self.inner)
            return [later, *head, FrameBreak(), *self._flow(letter.body, 1, self._column), *self._flow(letter.end, 1)]
        return [later, *self._main()]

    def _main(self) -> list[Flowable]:
        blocks = [*self.letter.head, *self.letter.body, *self.letter.end]
        return self._flow(blocks, 1)

    @property
    def _column(self) -> float:
        return (self.inner - GAP) / 2

    def _templates(self) -> list[PageTemplate]:
        height = self.top - self.bottom
        whole = Frame(MARGIN, self.bottom, self.inner, height, 0, 0, 0, 0)
        columns = [
            Frame(MARGIN + place * (self._column + GAP), self.bottom, self._column, height, 0, 0, 0, 0)
            for place in (0, 1)
        ]
        first, later = [whole], [whole]
        if self.letter.layout == "side column":
            start = MARGIN + SIDE + GAP
            side = Frame(MARGIN, self.bottom, SIDE, height, 0, 0, 0, 0)
            first = [side, Frame(start, self.bottom, A4[0] - MARGIN - start, height, 0, 0, 0, 0)]
        elif self.letter.layout == "two columns":
            head = sum(self._height(flowable) for flowable in self._flow(self.letter.head, 1, self.inner)) + 4 * mm
            first = [Frame(MARGIN, self.top - head, self.inner, head, 0, 0, 0, 0)]
            first += [Frame(frame.x1, self.bottom, self._column, height - head, 0, 0, 0, 0) for frame in columns]
            later = columns
        return [PageTemplate("first", first, self._on_first), PageTemplate("later", later, self._on_page)]

    def _height(self, flowable: Flowable) -> float:
        return flowable.wrap(self.inner, A4[1])[1] + flowable.getSpaceBefore() + flowable.getSpaceAfter()

    def _on_first(self, canvas, document) -> None:
        if self.logo:
            canvas.setFillColor(colors.steelblue)
            if self.logo == "circle":
                canvas.circle(MARGIN + 6 * mm, A4[1] - 12 * mm, 5 * mm, fill=1, stroke=0)
            else:
                canvas.rect(MARGIN, A4[1] - 17 * mm, 10 * mm, 10 * mm, fill=1, stroke=0)
            canvas.setFillColor(colors.black)
        self._on_page(canvas, document)

    def _on_page(self, canvas, document) -> None:
        if not self.letter.running:
            return
        header, footer = self.letter.running
        canvas.setFont(self.faces[2], 8)
        canvas.drawRightString(A4[0] - MARGIN, A4[1] - 12 * mm, header)
        pages = f" / {self.pages}" if self.number_first else ""
        canvas.drawCentredString(A4[0] / 2, 10 * mm, f"{footer}{document.page}{pages}")

    def _flow(self, blocks, scale: float, width: float = 0) -> list[Flowable]:
        flow, number = list[Flowable](), 0
        for block in blocks:
            number = number + 1 if isinstance(block, Paragraph) and block.kind == "number" else 0
            flow.append(self._flowable(block, scale, number, width))
        return flow

    def _flowable(self, block: Block, scale: float, number: int, width: float) -> Flowable:
        size = self.size * scale
        if isinstance(block, Table):
            return self._grid(block, size)
        style = self._style(block, size)
        markers = {"item": "•", "number": f"{number}."}
        text = "".join(map(self._marked_up, block.runs))
        if "\t" in text:
            return self._tabbed(block, size)
        if block.kind == "heading":
            text = f'<font name="{self.faces[1]}">{text}</font>'
        return Text(text, style, bulletText=markers.get(block.kind))

    def _style(self, block: Paragraph, size: float) -> ParagraphStyle:
        item = block.kind in ("item", "number")
        heading = block.kind == "heading"
        return ParagraphStyle(
            block.kind,
            fontName=self.faces[0],
            fontSize=size + heading,
            leading=size * 1.25 + heading,
            alignment=ALIGNED[block.align],
            spaceBefore=6 if heading else 1,
            spaceAfter=2,
            keepWithNext=heading,
            leftIndent=14 if item else 0,
            bulletIndent=4,
            bulletFontName=self.faces[0],
            bulletFontSize=size,
            uriWasteReduce=0,
        )

    def _marked_up(self, run) -> str:
        text = escape(run.text).replace("\n", "<br/>")
        face = self.faces[("b" in run.style) + 2 * ("i" in run.style)]
        return f'<font name="{face}">{text}</font>' if run.style else text

    def _tabbed(self, block: Paragraph, size: float) -> Grid:
        """The texts between tabs at fixed places of one line."""
        cells = "".join(run.text for run in block.runs).split("\t")
        widths = [30 * mm, *[(self.inner - 30 * mm) / (len(cells) - 1)] * (len(cells) - 1)]
        grid = Grid([cells], widths, hAlign="LEFT")
        grid.setStyle([("FONT", (0, 0), (-1, -1), self.faces[0], size), ("LEFTPADDING", (0, 0), (-1, -1), 0)])
        return grid

    def _grid(self, table: Table, size: float) -> Grid:
        style = ParagraphStyle("cell", fontName=self.faces[0], fontSize=size - 1, leading=(size - 1) * 1.2)
        rows = [[Text(escape(cell).replace("\n", "<br/>"), style) for cell in row] for row in table.rows]
        rows = [row + [""] * (table.columns - len(row)) for row in rows]
        width = self.inner if self.letter.layout != "side column" else A4[0] - 2 * MARGIN - SIDE - GAP
        grid = Grid(rows, [width / table.columns] * table.columns, spaceBefore=4, spaceAfter=4)
        commands = [("SPAN", (0, at), (-1, at)) for at, row in enumerate(table.rows) if len(row) == 1]
        commands += [("GRID", (0, 0), (-1, -1), 0.5, colors.grey)] if table.lines else []
        grid.setStyle([*commands, ("VALIGN", (0, 0), (-1, -1), "TOP")])
        return grid
