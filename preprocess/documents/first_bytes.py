"""The first bytes of a file tell what it is: a binary format, UTF-16 or UTF-32 without a mark, CR line ends."""

import codecs
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from alibert_common.errors import InputError, readable

LOOKED_AT = 1 << 16  # bytes at the start of a file
WORD = "save it as plain text in its own program, for example `soffice --convert-to txt:Text`"
SIGNATURES = (
    (b"%PDF-", "a PDF file", "extract its text first, for example with `pdftotext -layout`"),
    (b"{\\rtf", "an RTF file", WORD),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an older Microsoft Office file (.doc, .xls)", WORD),
    (b"PK\x03\x04", "a zip archive or an office file (.docx, .odt, .xlsx)", f"unpack it, or {WORD}"),
    (b"PAR1\x15", "a Parquet file", "name it .parquet, or say --format parquet"),
    (b"\x1f\x8b", "a gzip file", "name it .gz"),
    (b"\x28\xb5\x2f\xfd", "a zstandard file", "name it .zst"),
    (b"BZh", "a bzip2 file", "unpack it with `bunzip2`"),
    (b"\xfd7zXZ\x00", "an xz file", "unpack it with `unxz`"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it first"),
    (b"SQLite format 3\x00", "an SQLite database", "export its text as CSV first"),
)
CONTROL = bytes({*range(9), *range(14, 27), *range(28, 32)})  # what no text has but by accident
FEW = 32  # of them may stand in a short file
BINARY = 0.1  # share of control characters from which a file is no text; damaged exports have far fewer
SHORTEST_WIDE = 8  # bytes from which zeros count
# Byte order marks; that of UTF-32 begins as that of UTF-16 does.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
# Of a text in Latin letters: bytes of a character, the place of the byte that is seldom 0, those nearly always 0.
WIDE = {"utf-32-le": (4, 0, (2, 3)), "utf-32-be": (4, 3, (0, 1)), "utf-16-le": (2, 0, (1,)), "utf-16-be": (2, 1, (0,))}


def peek(handle: IO[bytes]) -> bytes:
    """The first bytes of a buffered file, which stay to be read."""
    return handle.peek(LOOKED_AT)[:LOOKED_AT]  # type: ignore[attr-defined]


def check_regular(path: Path) -> None:
    """Raise InputError for a device, pipe or socket: /dev/zero has no end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"{readable(path)}: is a device, pipe or socket; give a regular file or a folder.")


def check_text(path: Path, start: bytes) -> None:
    """Raise InputError for a file whose first bytes are those of a binary format."""
    head = start.removeprefix(codecs.BOM_UTF8).lstrip()
    for signature, kind, remedy in SIGNATURES:
        if head.startswith(signature):
            raise InputError(f"{readable(path)}: is {kind}, not text; {remedy}.")
    controls = len(start) - len(start.translate(None, CONTROL))
    if controls > max(FEW, BINARY * len(start)) and not wide_encoding(start):
        raise InputError(
            f"{readable(path)}: holds binary data, not text ({controls:,} control characters in its first "
            f"{len(start):,} bytes); export it as plain text first."
        )


def wide_encoding(start: bytes) -> str:
    """UTF-16 or UTF-32 by the byte order mark, or by where the zeros stand; nothing for other encodings."""
    mark = next((name for mark, name in MARKS.items() if start.startswith(mark)), "")
    if mark or len(start) < SHORTEST_WIDE:
        return mark.removeprefix("utf-8")
    for name, (width, filled, empty) in WIDE.items():
        zeros = [start[place::width].count(0) * width / len(start) for place in range(width)]
        if zeros[filled] < 0.2 and all(zeros[place] > 0.8 for place in empty):
            return name
    return ""


class LinesEndedByCR:
    """The lines of a file of an old Mac, each as bytes with LF at its end."""

    def __init__(self, handle: IO[bytes]):
        # Latin-1 has a character for every byte, and Python's universal line ends need text.
        self.text = io.TextIOWrapper(handle, encoding="latin-1", newline=None)

    def readline(self, size: int = -1) -> bytes:
        """Read a line, as a file does."""
        return self.text.readline(size).encode("latin-1")

    def readlines(self, size: int = -1) -> list[bytes]:
        """Read lines of `size` bytes or little more, as a file does."""
        return [line.encode("latin-1") for line in self.text.readlines(size)]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")


def ends_lines_with_cr(start: bytes) -> bool:
    """Whether CR alone ends the lines, as on old Macs: it does so more often than LF, with or without CRs before."""
    lines = start.split(b"\n")
    return sum(line.rstrip(b"\r").count(b"\r") for line in lines) >= len(lines)
