"""A message of HL7 version 2 as text: OBX-5 and NTE-3, and the files inside OBX-5.

Coded and numeric results are rows: name, value, unit and normal range, divided by `|`.
"""

import base64
import binascii
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from preprocess.readers.content import Content
from preprocess.readers.dates import iso_date
from preprocess.readers.read_log import CommandError, Fault
from preprocess.readers.records.record import lines_of_text

Convert = Callable[[bytes, str], Content | None]  # the content of bytes, None where no reader fits the name
MISSING = "HL7 messages are read with hl7; install it with `pip install 'alibert_fairseq[hl7]'`."
# Of HL7 2.3 to 2.8, and Z segments of their own makers. "CRP|12" is a line of text.
SEGMENTS = frozenset("""
    ACC AL1 ARV BHS BLG BTS CON CTD CTI DB1 DG1 DRG DSC DSP ERR EVN FHS FT1 FTS GT1 IAM IN1 IN2 IN3 MRG MSA MSH NK1 NTE
    OBR OBX ODS ODT ORC PD1 PDA PID PR1 PRD PRT PV1 PV2 QAK QPD QRD QRF RF1 ROL RXA RXC RXD RXE RXG RXO RXR SAC SFT SPM
    TQ1 TQ2 TXA UAC UB1 UB2 VAR
""".split())  # fmt: skip
OWN = re.compile(r"Z[A-Z\d]{2}")
HIGHLIGHT = re.compile(r"\\[HN]\\")  # its begin and its end
LINE_END = re.compile(r"\\\.(?:br|sp\d*|ce)\\")
TEXTS = ("TX", "FT")
ENDINGS = {"html": ".html", "plain": ".txt", "text": ".txt"}  # of a file inside, by what OBX-5 calls it


def read_hl7_message(data: bytes, convert: Convert) -> Content:
    """The text of a message in UTF-8, its id, date and patient; `convert` reads the files inside it.

    Raises Fault, and CommandError if the library is not installed.
    """
    try:
        import hl7
    except ImportError:
        raise CommandError(MISSING) from None
    try:
        return Message(hl7.parse(_segments(data.decode())), convert).content()
    except (hl7.HL7Exception, LookupError, ValueError) as error:
        raise Fault("a damaged HL7 message", "export it again", str(error)[:100]) from None


def _segments(text: str) -> str:
    """The message with one line for each segment: a line without a segment's name belongs to the text above it."""
    lines: list[list[str]] = []
    for line in re.split(r"[\r\n]+", text.strip("\x0b\x1c\r\n\0 ")):
        if not lines or line[3:4] == text[3:4] and (line[:3] in SEGMENTS or OWN.match(line)):
            lines.append([line])
        else:  # "CRP|12||||||F": what stands before two separators is text
            words, fields, rest = line.partition(2 * text[3:4])
            lines[-1].append(rf"\.br\{words.replace(text[3:4], text[6:7] + 'F' + text[6:7])}{fields}{rest}")
    return "\r".join(map("".join, lines))


class Message:
    """A parsed message."""

    def __init__(self, message: Any, convert: Convert):
        self.message, self.convert = message, convert

    def content(self) -> Content:
        """The lines, and the id, the date and the patient as metadata. Raises Fault for a file that cannot be read."""
        content = Content([])
        for segment in self.message:
            name = str(segment[0])
            if name == "OBX":
                content.add(self._observation(segment))
            elif name == "NTE":
                content.lines += self._text(self._field(segment, 3))
            elif name == "OBR":
                content.lines += self._text(self._field(segment, 4, 2))
        date = self._first(("TXA", 4, 1), ("TXA", 6, 1), ("OBR", 7, 1), ("MSH", 7, 1))[: len("20230214")]
        named = {"id": self._first(("TXA", 12, 1), ("MSH", 10, 1)), "date": iso_date(date)}
        content.metadata = named | {"patient": self._patient()}
        return content

    def _observation(self, segment: Any) -> Content:
        """The content of an OBX segment."""
        kind = self._field(segment, 2)
        if kind in TEXTS:
            return Content(self._text(self._field(segment, 5)))
        if kind == "ED":
            content = Content([])
            for place in range(len(segment[5])):
                content.add(self._inside(segment, place))
            return content
        if kind == "RP":
            raise Fault("a document that lies elsewhere", "export messages that hold it", self._field(segment, 5)[:100])
        value = ", ".join(filter(None, self._values(segment, kind in ("CE", "CWE", "CNE"))))
        parts = [self._field(segment, 3, 2), value.replace("^", " "), self._field(segment, 6, 1)]
        row = [" ".join(self._text(part)) for part in (*parts, self._field(segment, 7)) if part]
        return Content([" | ".join(row)] if value else [])

    def _values(self, segment: Any, is_coded: bool) -> list[str]:
        """The repetitions of OBX-5; of a coded one, the name or else the code."""
        again, part = self.message.separators[2], self.message.separators[3]
        found = []
        for value in self._field(segment, 5).split(again):
            components = value.split(part)
            name = components[1] if is_coded and len(components) > 1 else ""
            found.append((name or components[0]) if is_coded else value)
        return found

    def _inside(self, segment: Any, repetition: int) -> Content:
        """The content of a file in base 64, or hexadecimal, inside OBX-5."""
        form, coding, text = (self._field(segment, 5, place, repetition) for place in (3, 4, 5))
        try:
            if coding.lower() in ("", "a"):
                return Content(self._text(text))
            data = (
                bytes.fromhex(text) if coding.lower() == "hex" else base64.b64decode(re.sub(r"\\\.br\\|\s", "", text))
            )
        except (ValueError, binascii.Error) as error:
            raise Fault("a file inside a message that is no base 64", "export it again", str(error)) from None
        content = self.convert(data, next((end for word, end in ENDINGS.items() if word in form.lower()), ""))
        if content is None:
            raise Fault("a file of no known format inside a message", "take it out, or convert it", form)
        return content

    def _first(self, *places: tuple[str, int, int]) -> str:
        """The first of these fields (segment, field, component) that has a value."""
        for name, field, component in places:
            with suppress(KeyError, IndexError):
                if value := self._field(self.message.segments(name)[0], field, component):
                    return value.strip()
        return ""

    def _patient(self) -> str:
        """The number of the patient, "" for none. Raises Fault for two patients."""
        found = {self._number(segment) for segment in self.message if str(segment[0]) == "PID"}
        if len(found) > 1:
            raise Fault("a message of several patients", "export one for each patient")
        return found.pop() if found else ""

    def _number(self, pid: Any) -> str:
        """Of several numbers in PID-3 that of the hospital (PI), else the number in PID-2."""
        places = range(len(pid[3])) if len(pid) > 3 else range(1)
        of_hospital = [place for place in places if self._field(pid, 3, 5, place) == "PI"]
        numbers = self._field(pid, 3, 1, (of_hospital or [0])[0]), self._field(pid, 2, 1)
        return next((number.strip() for number in numbers if number.strip(' "')), "")  # "" in quotes is none

    def _field(self, segment: Any, field: int, component: int | None = None, repetition: int = 0) -> str:
        """A field of a segment, or a component of one of its repetitions; "" if it is not there."""
        try:
            value = segment[field] if component is None else segment[field][repetition]
            if component is None or isinstance(value, str):
                return str(value) if component in (None, 1) else ""
            return str(value[component - 1])
        except IndexError:
            return ""

    def _text(self, value: str) -> list[str]:
        """The lines of a text, whose escape sequences become what they stand for."""
        again = self.message.separators[2] if len(self.message.separators) > 2 else "~"
        pieces = LINE_END.sub("\n", HIGHLIGHT.sub("", value).replace(again, "\n")).split("\n")
        return lines_of_text("\n".join(self.message.unescape(piece) if "\\" in piece else piece for piece in pieces))
