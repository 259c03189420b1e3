r"""Letters as RTF in the way that Word writes them: code pages and \u escapes, tables, lists, shapes, pictures."""

import random
from pathlib import Path

from letters.letter import Block, Letter, Paragraph, Run, Table
from letters.pictures import logo

WORDS = {"\t": r"\tab ", "\n": r"\line ", "\u00ad": r"\-", "\u00a0": r"\~", "’": r"\rquote ", "–": r"\endash "}
ALIGNED = {"left": r"\ql", "right": r"\qr", "center": r"\qc", "justify": r"\qj"}
STYLES = {"b": r"\b ", "i": r"\i ", "bi": r"\b\i "}
LINE = 255  # characters, after which Word ends a line inside the text
HEAD = (
    r"{\rtf1\adeflang1025\ansi\ansicpg1252\uc1\adeff0\deff0\stshfdbch0\deflang1036\deflangfe1036"
    r"{\fonttbl{\f0\froman\fcharset0\fprq2{\*\panose 02020603050405020304}Times New Roman;}"
    r"{\f1\fswiss\fcharset0\fprq2 Arial;}{\f3\froman\fcharset2\fprq2 Symbol;}"
    r"{\f39\froman\fcharset238\fprq2 Times New Roman CE;}{\fhiminor\f31506\fbidi \fswiss\fcharset0 Calibri;}}"
    r"{\colortbl;\red0\green0\blue0;\red0\green0\blue255;\red31\green78\blue121;}"
    r"{\*\defchp \f31506\fs22}{\stylesheet{\ql \li0\ri0\widctlpar \f1\fs20\lang1036 \snext0 \sqformat Normal;}"
    r"{\s1\ql \keepn\sb120 \b\f1\fs22 \sbasedon0 \snext0 heading 1;}{\*\cs10 \additive Default Paragraph Font;}"
    r"{\s15\ql \li360 \sbasedon0 \snext15 Paragraphe de liste;}}"
    r"{\*\listtable{\list\listtemplateid-1{\listlevel\levelnfc23{\leveltext\'01\u-3913 ?;}{\levelnumbers;}\f3\fi-360"
    r"\li720}{\listname ;}\listid77}}{\*\listoverridetable{\listoverride\listid77\listoverridecount0\ls1}}"
    r"{\*\rsidtbl \rsid1051\rsid65538}{\mmathPr\mmathFont34\mbrkBin0}{\info{\title Courrier}{\author Secr\'e9tariat}"
    r"{\operator Word}{\creatim\yr2024\mo3\dy1\hr9\min0}{\nofpages2}}{\*\generator Microsoft Word 16;}"
    r"{\*\xmlnstbl {\xmlns1 http://schemas.microsoft.com/office/word/2003/wordml}}\paperw11906\paperh16838\margl1134"
    r"\margr1134\margt1134\margb1134{\*\themedata 504b0304140006000800000021}{\*\revtbl {Unknown;}{Secr\'e9tariat;}}"
)
LATENT = (
    r"{\*\latentstyles\lsdstimax376\lsdlockeddef0\lsdsemihiddendef0\lsdunhideuseddef0\lsdqformatdef0\lsdprioritydef99"
    r"{\lsdlockedexcept \lsdqformat1 \lsdpriority0 \lsdlocked0 Normal;\lsdpriority9 \lsdlocked0 heading 1;}}"
)


def write_rtf(letter: Letter, path: Path, seed: str) -> None:
    """Write the letter."""
    path.write_bytes(RtfLetter(letter, random.Random(seed)).content())


def escaped(text: str, by_words: bool = True) -> str:
    r"""The text with what is not ASCII as \'xx of Windows-1252, else as \uN with "?" or another byte behind it."""
    return "".join(_escaped(sign, by_words) for sign in text)


def _escaped(sign: str, by_words: bool) -> str:
    if sign in r"\{}":
        return f"\\{sign}"
    if sign in WORDS and (by_words or sign in "\t\n\u00ad"):
        return WORDS[sign]
    if sign.isascii():
        return sign
    try:
        return f"\\'{sign.encode('cp1252')[0]:02x}"
    except UnicodeEncodeError:
        fallback = {"Ł": r"\'4c", "ł": r"\'6c"}.get(sign, "?")
        return "".join(f"\\u{number}{fallback}" for number in _signed_units(sign))


def _signed_units(sign: str) -> list[int]:
    code = sign.encode("utf-16-le")
    return [int.from_bytes(code[at : at + 2], "little", signed=True) for at in range(0, len(code), 2)]


class RtfLetter:
    """One letter on the way into RTF."""

    def __init__(self, letter: Letter, draw: random.Random):
        self.letter, self.draw = letter, draw
        self.by_words, self.central = draw.random() < 0.5, draw.random() < 0.5

    def content(self) -> bytes:
        """The bytes of the file."""
        letter, parts = self.letter, [HEAD]
        if letter.side:
            parts.append(r"\margl3400")
        if letter.running:
            parts.append(self._running())
        parts.append(r"\sectd \sbknone\linex0 ")
        if self.draw.random() < 0.4:
            parts.append(self._picture())
        parts += [self._block(block) for block in letter.head]
        if letter.side:
            parts.append(self._side())
        columns = letter.layout == "two columns"
        parts.append(r"\sect \sectd \sbknone\cols2\colsx420\linex0 " if columns else "")
        number = 0
        for block in letter.body:
            number = number + 1 if isinstance(block, Paragraph) and block.kind == "number" else 0
            parts.append(self._block(block, number))
        parts.append(r"\sect \sectd \sbknone\linex0 " if columns else "")
        parts += [self._block(block) for block in letter.end]
        parts.append(LATENT + r"{\*\datastore 010500000200000018000000}}")
        return b"".join(part if isinstance(part, bytes) else _wrapped(part) for part in parts)

    def _running(self) -> str:
        header, footer = (escaped(text, self.by_words) for text in self.letter.running or ())
        page = r"{\field{\*\fldinst {\rtlch\fcs1 \af0 \ltrch\fcs0 PAGE }}{\fldrslt {\insrsid1051 2}}}"
        return (
            rf"{{\header \pard\plain \qr {{\i\f1\fs16 {header}}}\par }}{{\footer \pard\plain \qc {footer}{page}\par }}"
        )

    def _picture(self) -> bytes:
        r"""A PNG in hexadecimal with its older copy behind it, or as raw bytes."""
        picture, size = logo(self.draw.randrange(9)), rb"\picw1693\pich1693\picwgoal960\pichgoal960"
        if self.draw.random() < 0.25:
            raw = b"{\\*\\shppict{\\pict" + size + b"\\pngblip\\bin%d " % len(picture) + picture + b"}}"
            return b"\\pard\\plain " + raw + b"\\par \r\n"
        digits = picture.hex()
        lines = "\n".join(digits[at : at + 128] for at in range(0, len(digits), 128)).encode()
        name = rb"{\*\picprop\shplid1025{\sp{\sn wzName}{\sv Image 1}}}"
        new = rb"{\*\shppict{\pict" + name + size + rb"\pngblip\bliptag-1{\*\blipuid 0a1b2c3d4e5f60718293a4b5c6d7e8f9}"
        old = rb"{\nonshppict{\pict" + size + rb"\wmetafile8" + b"\n010009000003\n}}"
        return b"\\pard\\plain " + new + b"\n" + lines + b"}}" + old + b"\\par \r\n"

    def _side(self) -> str:
        """The side column in a text box, with the drawing for older programs that holds the text once more."""
        text = "".join(self._block(block) for block in self.letter.side)
        sizes = r"\shpleft400\shptop2800\shpright3000\shpbottom12000\shpbxpage\shpbypage\shpwr3\shpwrk0\shpfblwtxt0"
        kind = r"{\sp{\sn shapeType}{\sv 202}}{\sp{\sn fLine}{\sv 0}}"
        new = rf"{{\*\shpinst{sizes}\shplid1026{kind}{{\shptxt {text}}}}}"
        old = rf"{{\shprslt{{\*\do\dobxpage\dobypage\dodhgt8192\dptxbx{{\dptxbxtext {text}}}\dpx400\dpy2800}}}}"
        return rf"\pard\plain {{\shp{new}{old}}}\par "

    def _block(self, block: Block, number: int = 0) -> str:
        if isinstance(block, Table):
            return self._table(block)
        style = {"heading": r"\s1\keepn\sb120", "text": r"\s0\sa40"}.get(block.kind, r"\s15\fi-360\li720\ls1")
        before = ""
        if block.kind == "item":
            before = r"{\listtext\pard\plain\f3\fs20 \'b7\tab}"
        elif block.kind == "number":
            before = rf"{{\listtext\pard\plain\f1\fs20 {number}.\tab}}"
        bold = r"\b" if block.kind == "heading" else ""
        text = "".join(map(self._run, block.runs))
        return rf"\pard\plain {style}{ALIGNED[block.align]}\f1\fs20{bold}\lang1036 {before}{text}" + "\\par \r\n"

    def _run(self, run: Run) -> str:
        text = escaped(run.text, self.by_words)
        if self.central:  # a letter of another code page in a font of its own
            text = text.replace(r"\u345?", r"{\f39 \'f8}").replace(r"\u281?", r"{\f39 \'ea}")
        link = r'{\*\fldinst {HYPERLINK "mailto:x@hopital.example" }}'
        groups = {
            "link": rf"{{\field{link}{{\fldrslt {{\ul\cf2 {text}}}}}}}",
            "field": rf'{{\field\fldedit{{\*\fldinst {{DATE \\@ "d MMMM yyyy" }}}}{{\fldrslt {{\noproof {text}}}}}}}',
            "inserted": rf"{{\revised\revauth1\revdttm1140000000 {text}}}",
            "deleted": rf"{{\deleted\revauthdel1\revdttmdel1140000000 {text}}}",
            "hidden": rf"{{\v\f1\fs20 {text}}}",
        }
        if run.kind in groups:
            return groups[run.kind]
        return rf"{{{STYLES[run.style]}\rtlch \ltrch {text}}}" if run.style else rf"{{\insrsid65538 {text}}}"

    def _table(self, table: Table) -> str:
        return "".join(self._row(row, table) for row in table.rows) + "\\pard\\plain \\par \r\n"

    def _row(self, row: tuple[str, ...], table: Table) -> str:
        width, border = 9600 // len(row), r"\clbrdrt\brdrs\brdrw10\clbrdrb\brdrs\brdrw10" if table.lines else ""
        shape = r"\trowd \trgaph70\trleft-70\trftsWidth1" + "".join(
            rf"\clvertalt{border}\cellx{width * place}" for place in range(1, len(row) + 1)
        )
        cells = [r"\par ".join(escaped(line, self.by_words) for line in cell.split("\n")) for cell in row]
        text = "".join(rf"\pard\plain \ql\intbl\f1\fs18 {{\insrsid1051 {cell}}}\cell " for cell in cells)
        return rf"{shape}{text}\pard\plain \intbl {{{shape}\row}}" + "\r\n"


def _wrapped(text: str) -> bytes:
    r"""The text as ASCII, with line ends in place of some spaces that end \par and \cell, as Word cuts long lines."""
    lines = [""]
    for piece in text.replace("\\par ", "\\par\0").replace("\\cell ", "\\cell\0").split("\0"):
        if lines[-1] and len(lines[-1]) + len(piece) > LINE:
            lines.append(piece)
        else:
            lines[-1] += (" " if lines[-1] else "") + piece
    return "\r\n".join(lines).encode("ascii")
