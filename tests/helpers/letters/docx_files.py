"""Letters as DOCX, made by python-docx and, for what it lacks, by parts in WordprocessingML."""

import io
import random
from datetime import datetime
from pathlib import Path
from xml.sax.saxutils import escape

from docx import Document
from docx.enum.section import WD_SECTION
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Cm, Pt
from letters.letter import Block, Letter, Run, Table
from letters.office import settle
from letters.pictures import logo
from letters.syllables import SOFT_HYPHEN

NOTES = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
STYLES = {"heading": "Heading 2", "item": "List Bullet", "number": "List Number"}
ALIGNED = {name: getattr(WD_ALIGN_PARAGRAPH, name.upper()) for name in ("left", "right", "center", "justify")}
MOMENT = datetime(2024, 3, 1)
CHANGE = 'w:id="{}" w:author="Secrétariat" w:date="2024-03-01T09:00:00Z"'
TEXT_BOX = """
<w:r {namespaces} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"
 xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:v="urn:schemas-microsoft-com:vml">
<mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>
<wp:anchor distT="0" distB="0" distL="114300" distR="114300" simplePos="0" relativeHeight="251659264" behindDoc="0"
 locked="0" layoutInCell="1" allowOverlap="1"><wp:simplePos x="0" y="0"/>
<wp:positionH relativeFrom="page"><wp:posOffset>360000</wp:posOffset></wp:positionH>
<wp:positionV relativeFrom="page"><wp:posOffset>1800000</wp:posOffset></wp:positionV>
<wp:extent cx="1620000" cy="6000000"/><wp:wrapNone/><wp:docPr id="77" name="Zone de texte 2"/><wp:cNvGraphicFramePr/>
<a:graphic><a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><wps:wsp>
<wps:cNvSpPr txBox="1"/><wps:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="1620000" cy="6000000"/></a:xfrm>
<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></wps:spPr><wps:txbx><w:txbxContent>{text}</w:txbxContent></wps:txbx>
<wps:bodyPr/></wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing></mc:Choice>
<mc:Fallback><w:pict><v:shape id="_x0000_s1026" style="position:absolute;width:127pt;height:470pt">
<v:textbox><w:txbxContent>{text}</w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>
"""


def write_docx(letter: Letter, path: Path, seed: str) -> None:
    """Write the letter."""
    file = io.BytesIO()
    DocxLetter(letter, random.Random(seed)).document().save(file)
    path.write_bytes(settle(file.getvalue()))


class DocxLetter:
    """One letter on the way into a document."""

    def __init__(self, letter: Letter, draw: random.Random):
        self.letter, self.draw, self.made = letter, draw, Document()
        self.notes: list[str] = []
        self.changes = 0

    def document(self):
        """The document, whole."""
        properties = self.made.core_properties
        properties.author, properties.created, properties.modified = "Secrétariat", MOMENT, MOMENT
        self._page()
        letter = self.letter
        if self.draw.random() < 0.4:
            self.made.add_picture(io.BytesIO(logo(self.draw.randrange(9))), Cm(1.5))
        if letter.layout == "side column":
            self._blocks(letter.head)
            self._text_box()
            self._blocks([*letter.body, *letter.end])
        elif letter.layout == "two columns":
            self._blocks(letter.head)
            self._columns(letter.body)
            self._blocks(letter.end)
        else:
            self._blocks(letter.blocks)
        if self.notes:
            self._add_notes()
        return self.made

    def _page(self) -> None:
        section = self.made.sections[0]
        section.page_width, section.page_height = Cm(21), Cm(29.7)
        section.left_margin = Cm(6 if self.letter.side else 2)
        section.right_margin = Cm(2)
        self.made.styles["Normal"].font.name = self.draw.choice(("Liberation Sans", "Liberation Serif", "DejaVu Sans"))
        self.made.styles["Normal"].font.size = Pt(self.draw.choice((9, 10, 11)))
        self.made.styles["Normal"].paragraph_format.space_after = Pt(3)
        if self.letter.running:
            header, footer = self.letter.running
            section.header.paragraphs[0].text = header
            line = section.footer.paragraphs[0]
            line.add_run(footer)
            self._field(line, "PAGE", "1")
            line.add_run(" / ")
            simple = parse_xml(
                f'<w:fldSimple {nsdecls("w")} w:instr=" NUMPAGES "><w:r><w:t>3</w:t></w:r></w:fldSimple>'
            )
            line._p.append(simple)

    def _columns(self, blocks) -> None:
        self.made.add_section(WD_SECTION.CONTINUOUS)
        self._blocks(blocks)
        ended = self.made.add_section(WD_SECTION.CONTINUOUS)
        inner = self.made.sections[-2]._sectPr
        for section, number in ((inner, "2"), (ended._sectPr, "1")):
            columns = section.find(qn("w:cols"))
            columns.set(qn("w:num"), number)
            columns.set(qn("w:space"), "420")

    def _text_box(self) -> None:
        texts = []
        for block in self.letter.side:
            bold = "<w:rPr><w:b/></w:rPr>" if block.runs[0].style == "b" else ""
            text = escape(block.truth())
            texts.append(f'<w:p><w:r>{bold}<w:t xml:space="preserve">{text}</w:t></w:r></w:p>')
        box = TEXT_BOX.format(namespaces=nsdecls("w", "wp", "a"), text="".join(texts))
        self.made.add_paragraph()._p.append(parse_xml(box))

    def _blocks(self, blocks) -> None:
        for block in blocks:
            self._block(block)

    def _block(self, block: Block) -> None:
        if isinstance(block, Table):
            self._table(block)
            return
        paragraph = self.made.add_paragraph(style=STYLES.get(block.kind))
        paragraph.alignment = ALIGNED[block.align]
        for run in block.runs:
            self._run(paragraph, run)
        if "control" in self.letter.features and self.draw.random() < 0.2:
            self._in_control(paragraph._p)

    def _in_control(self, element) -> None:
        """Put the paragraph into a content control."""
        control = parse_xml(
            f'<w:sdt {nsdecls("w")}><w:sdtPr><w:alias w:val="Champ"/><w:text/></w:sdtPr><w:sdtContent/></w:sdt>'
        )
        element.addprevious(control)
        control.find(qn("w:sdtContent")).append(element)

    def _run(self, paragraph, run: Run) -> None:
        if run.kind == "note":
            self._note(paragraph, run.text)
            return
        if run.kind == "field":
            self._field(paragraph, 'DATE \\@ "d MMMM yyyy"', run.text)
            return
        made = paragraph.add_run()
        made.bold, made.italic = "b" in run.style or None, "i" in run.style or None
        for place, part in enumerate(run.text.split(SOFT_HYPHEN)):
            if place:
                made._r.append(OxmlElement("w:softHyphen"))
            made.add_text(part)  # which makes elements of tabs and line breaks
        if run.kind == "hidden":
            made.font.hidden = True
        elif run.kind:
            self._wrap(paragraph, made._r, run.kind)

    def _wrap(self, paragraph, element, kind: str) -> None:
        """Put the run into a link or a tracked change."""
        if kind == "link":
            target = paragraph.part.relate_to("mailto:x@hopital.example", RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
            around = parse_xml(f'<w:hyperlink {nsdecls("w", "r")} r:id="{target}"/>')
        else:
            self.changes += 1
            name = {"inserted": "w:ins", "deleted": "w:del"}[kind]
            around = parse_xml(f"<{name} {nsdecls('w')} {CHANGE.format(900 + self.changes)}/>")
        element.addprevious(around)
        around.append(element)
        if kind == "deleted":
            for text in element.findall(qn("w:t")):
                text.tag = qn("w:delText")

    def _field(self, paragraph, instruction: str, result: str) -> None:
        for kind, text in (("begin", ""), ("", instruction), ("separate", ""), ("shown", result), ("end", "")):
            run = paragraph.add_run(text if kind == "shown" else "")
            if kind in ("begin", "separate", "end"):
                mark = OxmlElement("w:fldChar")
                mark.set(qn("w:fldCharType"), kind)
                run._r.append(mark)
            elif not kind:
                code = OxmlElement("w:instrText")
                code.text = f" {instruction} "
                run._r.append(code)

    def _note(self, paragraph, text: str) -> None:
        self.notes.append(text)
        mark = f'<w:r {nsdecls("w")}><w:footnoteReference w:id="{len(self.notes)}"/></w:r>'
        paragraph._p.append(parse_xml(mark))

    def _add_notes(self) -> None:
        rulers = "".join(
            f'<w:footnote w:type="{kind}" w:id="{number}"><w:p><w:r><w:{kind}/></w:r></w:p></w:footnote>'
            for kind, number in (("separator", -1), ("continuationSeparator", 0))
        )
        notes = "".join(
            f'<w:footnote w:id="{number}"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t>{escape(text)}</w:t></w:r></w:p>'
            "</w:footnote>"
            for number, text in enumerate(self.notes, 1)
        )
        content = f'<?xml version="1.0"?><w:footnotes {nsdecls("w")}>{rulers}{notes}</w:footnotes>'
        part = Part(PackURI("/word/footnotes.xml"), NOTES, content.encode(), self.made.part.package)
        self.made.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)

    def _table(self, table: Table) -> None:
        made = self.made.add_table(len(table.rows), table.columns, "Table Grid" if table.lines else None)
        for at, row in enumerate(table.rows):
            cells = made.rows[at].cells
            if len(row) == 1 < table.columns:
                cells[0].merge(cells[-1]).text = row[0]
                continue
            for cell, text in zip(cells, row, strict=True):
                first, *others = text.split("\n")
                cell.text = first
                for other in others:
                    cell.add_paragraph(other)
        self.made.add_paragraph()
