"""Letters as OpenDocument text, made by odfpy."""

import io
import random
from pathlib import Path

from letters.letter import Letter, Paragraph, Run, Table
from letters.odt_styles import add_styles
from letters.office import settle
from letters.pictures import logo
from odf import dc, draw, style, table, text
from odf.element import Element
from odf.namespaces import TEXTNS
from odf.office import ChangeInfo
from odf.opendocument import IS_IMAGE, OpenDocumentText


def write_odt(letter: Letter, path: Path, seed: str) -> None:
    """Write the letter."""
    file = io.BytesIO()
    OdtLetter(letter, random.Random(seed)).document().write(file)
    path.write_bytes(settle(file.getvalue()))


class OdtLetter:
    """One letter on the way into a document."""

    def __init__(self, letter: Letter, chance: random.Random):
        self.letter, self.chance, self.made = letter, chance, OpenDocumentText()
        self.changes = text.TrackedChanges()
        self.names = 0

    def document(self) -> OpenDocumentText:
        """The document, whole."""
        self.frame = add_styles(self.made, self.chance)
        self._page()
        body, letter = self.made.text, self.letter
        if letter.features & {"inserted", "deleted"}:
            body.addElement(self.changes)
        self._blocks(body, letter.head)
        if letter.side:
            body.addElement(self._side())
        inner = body
        if letter.layout == "two columns":
            inner = text.Section(name="Colonnes", stylename="Columns")
            body.addElement(inner)
        self._blocks(inner, letter.body)
        self._blocks(body, letter.end)
        return self.made

    def _page(self) -> None:
        layout = style.PageLayout(name="page")
        left = "6cm" if self.letter.side else "2cm"
        layout.addElement(
            style.PageLayoutProperties(
                pagewidth="21cm",
                pageheight="29.7cm",
                margintop="1.5cm",
                marginbottom="1.5cm",
                marginleft=left,
                marginright="2cm",
            )
        )
        page = style.MasterPage(name="Standard", pagelayoutname="page")
        if self.letter.running:
            for kind in ("header", "footer"):
                properties = style.HeaderFooterProperties(minheight="0.8cm", margintop="0.3cm", marginbottom="0.3cm")
                made = getattr(style, f"{kind.capitalize()}Style")()
                made.addElement(properties)
                layout.addElement(made)
            header, footer = self.letter.running
            above, below = style.Header(), style.Footer()
            above.addElement(text.P(text=header))
            line = text.P(text=footer)
            line.addElement(text.PageNumber(selectpage="current", text="1"))
            line.addText(" / ")
            line.addElement(text.PageCount(text="3"))
            below.addElement(line)
            page.addElement(above)
            page.addElement(below)
        self.made.automaticstyles.addElement(layout)
        self.made.masterstyles.addElement(page)

    def _side(self) -> Element:
        """The side column in a frame that stands in a paragraph of its own."""
        around = text.P(stylename="left")
        frame = draw.Frame(
            name="Colonne", anchortype="paragraph", width="4.5cm", height="17cm", x="1cm", y="5cm", stylename=self.frame
        )
        box = draw.TextBox()
        self._blocks(box, self.letter.side)
        frame.addElement(box)
        around.addElement(frame)
        return around

    def _blocks(self, into: Element, blocks) -> None:
        if into is self.made.text and self.chance.random() < 0.2 and blocks is self.letter.head:
            into.addElement(self._picture())
        current: tuple[str, Element | None] = ("", None)
        for block in blocks:
            kind = block.kind if isinstance(block, Paragraph) else "table"
            if kind not in ("item", "number"):
                current = ("", None)
                into.addElement(self._table(block) if isinstance(block, Table) else self._paragraph(block))
                continue
            if current[0] != kind:
                current = (kind, text.List(stylename=kind))
                into.addElement(current[1])
            item = text.ListItem()
            item.addElement(self._paragraph(block))
            current[1].addElement(item)

    def _picture(self) -> Element:
        href = "Pictures/logo.png"  # odfpy would name it by the time
        self.made.Pictures[href] = IS_IMAGE, logo(self.chance.randrange(9)), "image/png"
        around = text.P(stylename="left")
        frame = draw.Frame(name="Logo", anchortype="as-char", width="1.5cm", height="1.5cm")
        frame.addElement(draw.Image(href=href))
        around.addElement(frame)
        return around

    def _paragraph(self, block: Paragraph) -> Element:
        if block.kind == "heading":
            made = text.H(outlinelevel=2, stylename=f"heading-{block.align}")
        else:
            made = text.P(stylename=block.align)
        for run in block.runs:
            self._run(made, run)
        return made

    def _run(self, paragraph: Element, run: Run) -> None:
        if run.kind in ("inserted", "deleted"):
            self._change(paragraph, run)
            return
        into = paragraph
        if run.kind == "link":
            into = text.A(href="mailto:x@hopital.example", type="simple")
        elif run.style or run.kind == "hidden":
            into = text.Span(stylename=run.kind or run.style)
        self._text(into, run.text)
        if into is not paragraph:
            paragraph.addElement(into)

    def _text(self, into: Element, content: str) -> None:
        """The text, with elements for tabs, line breaks, and now and then for spaces."""
        for place, line in enumerate(content.split("\n")):
            if place:
                into.addElement(text.LineBreak())
            for number, part in enumerate(line.split("\t")):
                if number:
                    into.addElement(text.Tab())
                if " " in part and (part.startswith(" ") or self.chance.random() < 0.2):
                    before, _, part = part.partition(" ")
                    into.addText(before)
                    into.addElement(text.S(c=self.chance.choice((1, 1, 3))))
                into.addText(part)

    def _change(self, paragraph: Element, run: Run) -> None:
        self.names += 1
        name = f"ct{self.names}"
        region = text.ChangedRegion(check_grammar=False)  # odfpy knows another name of the id
        region.setAttrNS(TEXTNS, "id", name)
        kind = text.Insertion() if run.kind == "inserted" else text.Deletion()
        info = ChangeInfo()
        info.addElement(dc.Creator(text="Secrétariat"))
        info.addElement(dc.Date(text="2024-03-01T09:00:00"))
        kind.addElement(info)
        if run.kind == "deleted":
            kind.addElement(text.P(text=run.text))
            paragraph.addElement(text.Change(changeid=name))
        else:
            paragraph.addElement(text.ChangeStart(changeid=name))
            self._text(paragraph, run.text)
            paragraph.addElement(text.ChangeEnd(changeid=name))
        region.addElement(kind)
        self.changes.addElement(region)

    def _table(self, block: Table) -> Element:
        self.names += 1
        made = table.Table(name=f"Tableau{self.names}")
        made.addElement(table.TableColumn(numbercolumnsrepeated=block.columns))
        into = made
        for at, row in enumerate(block.rows):
            if at == 0 and "header rows" in self.letter.features:
                into = table.TableHeaderRows()
                made.addElement(into)
            into.addElement(self._row(row, block))
            into = made
        return made

    def _row(self, row: tuple[str, ...], block: Table) -> Element:
        made = table.TableRow()
        for content in row:
            span = {"numbercolumnsspanned": block.columns} if len(row) == 1 < block.columns else {}
            cell = table.TableCell(valuetype="string", **span, **({"stylename": "lined"} if block.lines else {}))
            for line in content.split("\n"):
                paragraph = text.P(stylename="left")
                self._text(paragraph, line)
                cell.addElement(paragraph)
            made.addElement(cell)
        if len(row) == 1 < block.columns:
            for _ in range(block.columns - 1):
                made.addElement(table.CoveredTableCell())
        return made
