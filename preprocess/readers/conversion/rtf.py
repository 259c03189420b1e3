"""RTF files: the text as the last saved version shows it, then the notes; no headers, footers, deleted or hidden text.

Own code: striprtf 0.0.35 loses text boxes and footnotes, and keeps deleted text. The format is "Rich Text Format (RTF)
Specification, Version 1.9.1" (Microsoft, 2008).
"""

import codecs
import re
from dataclasses import dataclass, field, replace

from preprocess.readers.content import Content
from preprocess.readers.conversion.symbols import symbol, with_symbols
from preprocess.readers.markup.xml_text import LOWERED, NUMBER, RAISED, single_spaces
from preprocess.readers.read_log import Fault

TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<byte>[0-9a-fA-F]{2})|\\(?P<sign>[^a-zA-Z])"
    rb"|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)|\\",
    re.DOTALL,
)
# Groups that hold no text of the page.
LEFT_OUT = frozenset(
    "annotation atnauthor atnid colortbl fldinst fonttbl footer footerf footerl footerr generator header headerf "
    "headerl headerr info listtext listtable listoverridetable nonesttables nonshppict objdata pict pntext shprslt sp "
    "stylesheet upr xe tc".split()
)
BOXES = frozenset({"shptxt", "dptxbxtext"})  # text boxes, which are put before their paragraph
KEPT = BOXES | {"shpinst", "shppict", "footnote", "ud", "do", "nesttableprops"}  # of the groups marked as optional
ENDS = frozenset({"par", "sect", "page", "line", "column", "softline", "softpage"})
SIGNS = {
    "tab": "\t", "emdash": "—", "endash": "–", "emspace": " ", "enspace": " ", "qmspace": " ", "bullet": "•",
    "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
}  # fmt: skip
ESCAPED = {b"~": "\N{NO-BREAK SPACE}", b"_": "‑", b"\t": "\t"}
SYMBOL_FONT = 2
SEARCHED = 1024  # bytes at the start in which the file begins
# Windows' code page of a font's character set; 0, 1 and others use that of the document.
CODE_PAGES = {77: "mac_roman", 128: "cp932", 129: "cp949", 134: "cp936", 136: "cp950", 161: "cp1253", 162: "cp1254",
              163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
              254: "cp437", 255: "cp850"}  # fmt: skip


@dataclass
class Flow:
    """Lines that are being made: of the page, of a text box or of a footnote."""

    is_note: bool = False
    lines: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)  # of the line so far
    cells: list[list[str]] = field(default_factory=list)  # of the table row so far
    own: list[str] = field(default_factory=list)  # lines of the cell so far
    in_row: bool = False

    def end_line(self) -> None:
        """End the line."""
        if line := single_spaces(with_symbols("".join(self.text))).strip(" "):
            (self.own if self.in_row else self.lines).append(line)
        self.text.clear()

    def end_cell(self) -> None:
        """End a cell of a row."""
        self.in_row = True
        self.end_line()
        self.cells.append(self.own)
        self.own = []

    def end_row(self) -> None:
        """Write a row as one line, or, where its cells have several, as all of these."""
        if any(len(cell) > 1 for cell in self.cells):
            self.lines += [line for cell in self.cells for line in cell]
        elif any(self.cells):
            self.lines.append(" | ".join(line for cell in self.cells for line in cell))
        self.cells, self.in_row = [], False

    def end(self) -> list[str]:
        """All lines."""
        self.end_line()
        if self.cells or self.own:
            self.end_cell()
            self.end_row()
        return self.lines


@dataclass(frozen=True)
class State:
    """What a group inherits from the one around it, and loses at its end."""

    left_out: bool = False
    hidden: bool = False
    deleted: bool = False
    moved: str = ""  # super or sub
    font: int = -1
    fallback: int = 1  # characters that stand for one in Unicode
    flow: int = 0  # the number of flows around its own

    @property
    def shown(self) -> bool:
        """Whether its text is that of the page."""
        return not (self.left_out or self.hidden or self.deleted)


class Reader:
    """Reads an RTF file from start to end, without recursion."""

    def __init__(self, data: bytes):
        self.data, self.place = data, data.find(b"{\\rtf", 0, SEARCHED)
        if self.place < 0:
            raise Fault("no RTF file", "give it the ending of what it holds")
        self.state, self.stack, self.flows = State(), list[State](), [Flow()]
        self.noted: list[str] = []
        self.encoding, self.charsets = "cp1252", dict[int, int]()
        self.default_font = -1
        self.in_fonts = 0  # the depth of the font table
        self.optional = False  # the group has just begun with \*
        self.to_skip = 0  # characters that repeat one in Unicode
        self.pending = bytearray()  # bytes of characters to be decoded

    def read(self) -> list[str]:
        """The lines. Raises Fault for a file whose last group has no end."""
        while (token := TOKEN.match(self.data, self.place)) is not None:
            self.place = token.end()
            if token["byte"] is None:
                self.write_pending()
            self.take(token)
            if not self.stack and token["brace"] == b"}":
                break
        if self.stack:
            raise Fault("an RTF file that is cut short", "get it again")
        return self.flows[0].end() + self.noted

    def take(self, token: re.Match[bytes]) -> None:
        """Take one token."""
        if token["brace"]:
            self.open() if token["brace"] == b"{" else self.close()
        elif token["word"]:
            self.control(token["word"].decode(), int(token["number"]) if token["number"] else None)
        elif token["byte"]:
            if self.to_skip:
                self.to_skip -= 1
            else:
                self.pending += bytes.fromhex(token["byte"].decode())
        elif token["sign"]:
            self.escaped(token["sign"])
        elif token["text"]:
            text = token["text"][self.to_skip :]
            self.to_skip = max(0, self.to_skip - len(token["text"]))
            self.write(self.decoded(text))

    def open(self) -> None:
        """Begin a group."""
        self.stack.append(self.state)
        self.to_skip = 0

    def close(self) -> None:
        """End a group. A text box is put before the paragraph around it."""
        before = self.stack.pop() if self.stack else State()
        if self.state.flow > before.flow:
            flow, around = self.flows.pop(), self.flows[-1]
            target = self.noted if flow.is_note else around.own if around.in_row else around.lines
            target += flow.end()
        if len(self.stack) < self.in_fonts:
            self.in_fonts = 0
        self.state, self.to_skip, self.optional = before, 0, False

    def escaped(self, sign: bytes) -> None:
        """Take a backslash and a sign."""
        if sign == b"*":
            self.optional = True
        elif sign in b"\r\n":
            self.control("par", None)
        else:
            self.write(ESCAPED.get(sign, sign.decode("ascii", "ignore") if sign in b"{}\\" else ""))

    def control(self, word: str, number: int | None) -> None:
        """Take a control word with its number."""
        optional, self.optional = self.optional, False
        if word == "bin":
            self.place += max(0, number or 0)
        elif word == "u":
            self.write(chr((number or 0) % 0x10000))
            self.to_skip = self.state.fallback
        elif word in BOXES or word == "footnote":
            self.begin_flow(word == "footnote")
        elif word == "fonttbl":
            self.in_fonts = len(self.stack)
            self.change(left_out=True)
        elif word in LEFT_OUT or optional and word not in KEPT:
            self.change(left_out=True)
        elif word == "ud":
            self.change(left_out=False)
        elif word in ENDS or word in SIGNS or word in ("cell", "row", "nestcell", "nestrow"):
            self.page(word)
        else:
            self.format(word, number)

    def page(self, word: str) -> None:
        """Take a word that stands for something on the page."""
        flow = self.flows[-1]
        if not self.state.shown and word not in ("cell", "row"):
            return
        if word in SIGNS:
            self.write(SIGNS[word])
        elif word in ("cell", "nestcell") and not self.state.left_out:
            flow.end_cell() if word == "cell" else self.write(" | ")
        elif word == "row" and not self.state.left_out:
            flow.end_row()
        elif word in ENDS or word == "nestrow":
            flow.end_line()

    def format(self, word: str, number: int | None) -> None:
        """Take a word that changes how the following text is read."""
        on = number != 0
        if word == "f":
            self.change(font=number or 0)
        elif word == "fcharset" and self.in_fonts:
            self.charsets[self.state.font] = number or 0
        elif word == "deff":
            self.default_font = number or 0
        elif word in ("ansicpg", "mac", "pc", "pca"):
            self.encoding = _known({"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}.get(word, f"cp{number}"))
        elif word == "uc":
            self.change(fallback=max(0, number or 0))
        elif word == "v":
            self.change(hidden=on)
        elif word == "deleted":
            self.change(deleted=on)
        elif word in ("super", "sub", "nosupersub"):
            self.change(moved=word if on and word != "nosupersub" else "")
        elif word == "plain":
            self.change(hidden=False, deleted=False, moved="", font=self.default_font)
        elif word == "intbl" and self.state.shown:
            self.flows[-1].in_row = True
        elif word == "pard" and not self.flows[-1].cells and not self.flows[-1].own:
            self.flows[-1].in_row = False

    def begin_flow(self, is_note: bool) -> None:
        """Begin the lines of a text box or a footnote, if it is shown."""
        if self.state.shown:
            self.flows.append(Flow(is_note))
            self.change(flow=self.state.flow + 1, left_out=False)

    def change(self, **values: bool | int | str) -> None:
        """Change the state of the group."""
        self.state = replace(self.state, **values)  # type: ignore[arg-type]

    def decoded(self, data: bytes) -> str:
        """The characters of bytes in the font of the group."""
        charset = self.charsets.get(self.state.font, 0)
        if charset == SYMBOL_FONT:
            return "".join(map(symbol, data))
        return data.decode(CODE_PAGES.get(charset, self.encoding), "replace")

    def write_pending(self) -> None:
        """Write the characters that were given byte by byte."""
        if self.pending:
            self.write(self.decoded(bytes(self.pending)))
            self.pending.clear()

    def write(self, text: str) -> None:
        """Write text of the page."""
        if self.state.shown and text:
            if self.state.moved and NUMBER.fullmatch(text.strip()):
                text = text.translate(RAISED if self.state.moved == "super" else LOWERED)
            self.flows[-1].text.append(text)


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        return "utf-8" if encoding == "cp65001" else "cp1252"


def read_rtf(data: bytes) -> Content:
    """The text of an RTF file. Raises Fault."""
    lines = Reader(data).read()
    joined = [line.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") for line in lines]
    return Content(joined)
