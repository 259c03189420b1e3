"""HL7 version 2: the documents in MDM and ORU messages, one message or a batch of them in a file.

Text is that of OBX-5 and NTE-3. Coded and numeric results are rows: name, value, unit and normal range, divided by `|`.
PDF, RTF and other files inside OBX-5 are converted.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from preprocess.documents.compression import open_bytes
from preprocess.documents.document import PATIENT, Document
from preprocess.readers.dates import iso_date
from preprocess.readers.office.reader import lines_inside
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import CommandError, Fault, ReadLog
from preprocess.readers.records.record import lines_of_text

CHUNK = 1 << 20
LARGEST = 64_000_000  # bytes of a message, of which the library makes several copies
HEAD = re.compile(rb"[\r\n\x0b](?=MSH[^\w\s])")  # behind the end of a line, or the frame of MLLP
SEGMENT = re.compile(r"[A-Z][A-Z\d]{2}(?:\||$)")
LINE_END = re.compile(r"\\\.(?:br|sp\d*|ce)\\")
TEXTS = ("TX", "FT")
# MSH-18 (HL7 table 0211) in Python's names.
CHARSETS = {
    "8859/1": "cp1252", "8859/15": "iso8859-15", "ASCII": "cp1252", "UNICODE UTF-8": "utf-8", "UTF-8": "utf-8",
    "UNICODE": "utf-8", "UNICODE UTF-16": "utf-16",
}  # fmt: skip


def read_hl7(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document for each message. Raises CommandError if the library is not installed."""
    try:
        import hl7
    except ImportError:
        raise CommandError(
            "HL7 messages are read with hl7; install it with `pip install 'alibert_fairseq[hl7]'`."
        ) from None
    with open_bytes(file, log) as handle:
        for number, data in enumerate(_messages(handle), 1):
            with log.refusing(options, file, f"message {number}"):
                if len(data) > LARGEST:
                    raise Fault(f"a message of more than {LARGEST // 1_000_000} MB", "write its files beside it")
                try:
                    message = hl7.parse(_segments(_decoded(data, options)))
                    yield Message(message, options, log).document(number)
                except (hl7.HL7Exception, LookupError, ValueError) as error:
                    raise Fault("a damaged HL7 message", "export it again", str(error)[:100]) from None


def _messages(handle: IO[bytes]) -> Iterator[bytes]:
    """The messages of a file, without what stands before the first one. Of one that is too long, its beginning."""
    held = b"\r"  # a line end, behind which a message may begin
    while chunk := handle.read(CHUNK):
        begun = max(0, len(held) - len("\rMSH"))
        held += chunk
        while head := HEAD.search(held, begun):
            if held.startswith(b"MSH"):
                yield held[: head.start()]
            held, begun = held[head.end() :], 0
        if len(held) > LARGEST:
            held = held[: LARGEST + 1] + held[-len("\rMSH") :]
    if held.startswith(b"MSH"):
        yield held


def _decoded(data: bytes, options: ReadOptions) -> str:
    """The characters of a message: --encoding, or what MSH-18 says, or UTF-8, or else Windows-1252. Raises Fault."""
    head = re.split(rb"[\r\n]", data, maxsplit=1)[0].split(data[3:4])
    said = head[17].partition(data[4:5])[0].partition(b"~")[0].decode("ascii", "replace") if len(head) > 17 else ""
    named = options.encoding and options.decoded_as("auto")
    names = [CHARSETS.get(said.strip(), "auto")] if named in ("", "auto") else [named]
    last: UnicodeDecodeError | None = None
    for name in names if names != ["auto"] else ["utf-8", "cp1252"]:
        try:
            return data.decode(name)
        except UnicodeDecodeError as error:
            last = error
    raise Fault("an HL7 message in another encoding", "say which with --encoding", str(last))


def _segments(text: str) -> str:
    """The message with one line for each segment: a line without a segment's name belongs to the text above it."""
    lines: list[str] = []
    for line in re.split(r"[\r\n]+", text.strip("\x0b\x1c\r\n\0 ")):
        if not lines or SEGMENT.match(line.replace(text[3:4], "|", 1)):
            lines.append(line)
        else:
            lines[-1] += rf"\.br\{line}"
    return "\r".join(lines)


class Message:
    """A message as a document."""

    def __init__(self, message: Any, options: ReadOptions, log: ReadLog):
        self.message, self.options, self.log = message, options, log

    def document(self, number: int) -> Document:
        """The document. Raises Fault for a file inside it that cannot be read."""
        lines: list[str] = []
        for segment in self.message:
            name = str(segment[0])
            if name == "OBX":
                lines += self._observation(segment)
            elif name == "NTE":
                lines += self._text(self._field(segment, 3))
            elif name == "OBR":
                lines += self._text(self._field(segment, 4, 2))
        name = self._first(("TXA", 12, 1), ("MSH", 10, 1)) or f"{self.options.name}-{number}"
        date = self._first(("TXA", 4, 1), ("TXA", 6, 1), ("OBR", 7, 1), ("MSH", 7, 1))[: len("20230214")]
        patient = self._first(("PID", 3, 1), ("PID", 2, 1))
        metadata = {PATIENT: patient} if patient else {}
        return Document(name, self.options.default_source, lines, "", iso_date(date), metadata)

    def _observation(self, segment: Any) -> list[str]:
        """The lines of an OBX segment."""
        kind = self._field(segment, 2)
        if kind in TEXTS:
            return self._text(self._field(segment, 5))
        if kind == "ED":
            return self._inside(segment)
        if kind == "RP":
            raise Fault("a document that lies elsewhere", "export messages that hold it", self._field(segment, 5)[:100])
        value = self._field(segment, 5, 2 if kind in ("CE", "CWE", "CNE") else None) or self._field(segment, 5, 1)
        parts = [self._field(segment, 3, 2), value.replace("^", " "), self._field(segment, 6, 1)]
        row = [" ".join(self._text(part)) for part in (*parts, self._field(segment, 7)) if part]
        return [" | ".join(row)] if value else []

    def _inside(self, segment: Any) -> list[str]:
        """The lines of a file in base 64, or hexadecimal, inside OBX-5."""
        form, coding, text = (self._field(segment, 5, place) for place in (3, 4, 5))
        try:
            if coding.lower() in ("", "a"):
                return self._text(text)
            data = (
                bytes.fromhex(text) if coding.lower() == "hex" else base64.b64decode(re.sub(r"\\\.br\\|\s", "", text))
            )
        except (ValueError, binascii.Error) as error:
            raise Fault("a file inside a message that is no base 64", "export it again", str(error)) from None
        return lines_inside(data, form.lower(), self.options, self.log)

    def _first(self, *places: tuple[str, int, int]) -> str:
        """The first of these fields (segment, field, component) that has a value."""
        for name, field, component in places:
            with suppress(KeyError, IndexError):
                if value := self._field(self.message.segments(name)[0], field, component):
                    return value.strip()
        return ""

    def _field(self, segment: Any, field: int, component: int | None = None) -> str:
        """A field of a segment, or a component of its first repetition; "" if it is not there."""
        try:
            value = segment[field] if component is None else segment[field][0]
            if component is None or isinstance(value, str):
                return str(value) if component in (None, 1) else ""
            return str(value[component - 1])
        except IndexError:
            return ""

    def _text(self, value: str) -> list[str]:
        """The lines of a text, whose escape sequences become what they stand for."""
        again = self.message.separators[2] if len(self.message.separators) > 2 else "~"
        pieces = LINE_END.sub("\n", value.replace(again, "\n")).split("\n")
        return lines_of_text("\n".join(self.message.unescape(piece) for piece in pieces))
