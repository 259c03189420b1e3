"""Files that were damaged, that are not what their endings say, or that have hostile names."""

import gzip
import os
import struct
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hostile.given import Given, Hostile, Kind
from hostile.record_kinds import MSH, OBX, fhir, mail
from letters.docx_files import write_docx
from letters.letter import draw_letter
from letters.odt_files import write_odt
from letters.pdf_files import write_pdf
from letters.pictures import logo
from letters.rtf_files import write_rtf

ENDINGS = ("pdf", "docx", "odt", "rtf", "json", "hl7", "eml", "parquet")
EMPTY = ("pdf", "docx", "odt", "rtf", "txt", "json", "hl7", "eml", "html", "csv", "parquet")
ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQ", 2, 62, 1, 0x400078, 64, 0)
EXE = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0d\x86\1\0"
MEGABYTE = 1_000_000


def whole(given: Given, ending: str) -> bytes:
    """A file of this format with nothing wrong."""
    writers: dict[str, Callable[[Path], object]] = {
        "pdf": lambda path: write_pdf(_letter(given), path, "Helvetica", given.mark),
        "docx": lambda path: write_docx(_letter(given), path, given.mark),
        "odt": lambda path: write_odt(_letter(given), path, given.mark),
        "rtf": lambda path: write_rtf(_letter(given), path, given.mark),
    }
    if ending in writers:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "whole")
            writers[ending](path)
            return path.read_bytes()
    return {
        "json": fhir({"contentType": "text/plain", "data": "YWJj" * 99}, given.mark),
        "hl7": (MSH.format(mark=given.mark) + OBX.format(mark=given.mark, text=given.text)).encode(),
        "eml": mail(given, "a.txt", "text/plain", b"abc"),
        "parquet": _parquet(given),
    }[ending]


def _letter(given: Given):
    letter = draw_letter(given.mark, "form", 25, "cp1252", ["link"])
    first = letter.head[0]
    return replace(letter, head=(replace(first, runs=(first.runs[0]._replace(text=given.text),)), *letter.head[1:]))


def _parquet(given: Given) -> bytes:
    import pyarrow
    from pyarrow import parquet

    file = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table({"id": [given.mark], "text": [given.text]}), file)
    return file.getvalue().to_pybytes()


def truncated(given: Given) -> Hostile:
    """A file that was cut somewhere."""
    ending = ENDINGS[given.number % len(ENDINGS)]
    content = whole(given, ending)
    return Hostile("either", ending, content[: given.draw.randrange(1, len(content))])


def flipped(given: Given) -> Hostile:
    """A file with one to twenty bits flipped."""
    ending = ENDINGS[given.number % len(ENDINGS)]
    content = bytearray(whole(given, ending))
    for _ in range(given.draw.randint(1, 20)):
        content[given.draw.randrange(len(content))] ^= 1 << given.draw.randrange(8)
    return Hostile("either", ending, bytes(content))


def zeroed(given: Given) -> Hostile:
    """A file with zeros from a place on, as after a crash."""
    ending = ENDINGS[given.number % len(ENDINGS)]
    content = whole(given, ending)
    place = given.draw.randrange(1, len(content))
    return Hostile("either", ending, content[:place] + bytes(len(content) - place))


def wrong_ending(given: Given) -> Hostile:
    """Another format than the ending says."""
    cases = (
        ("docx", whole(given, "pdf"), "either"),
        ("pdf", whole(given, "docx"), "either"),
        ("txt", whole(given, "rtf"), "either"),
        ("pdf", logo(1), "refused"),
        ("rtf", EXE + given.draw.randbytes(5000), "refused"),
        ("docx", ELF + given.draw.randbytes(5000), "refused"),
        ("txt", ELF + bytes(5000), "refused"),
        ("odt", whole(given, "docx"), "either"),
        ("docx", whole(given, "odt"), "either"),
        ("rtf", given.text.encode(), "either"),
        ("json", whole(given, "parquet"), "refused"),
        ("pdf", b"<html><body>404</body></html>", "refused"),
        ("docx", whole(given, "rtf"), "either"),
        ("hl7", whole(given, "pdf"), "either"),
        ("eml", whole(given, "docx"), "either"),
        ("html", logo(2), "either"),
    )
    ending, content, expected = cases[given.number % len(cases)]
    return Hostile(expected, ending, content)


def empty(given: Given) -> Hostile:
    """No byte."""
    return Hostile("refused", EMPTY[given.number % len(EMPTY)], b"")


def zeros(given: Given) -> Hostile:
    """Nothing but zeros."""
    return Hostile("refused", EMPTY[given.number % len(EMPTY)], bytes(given.draw.randrange(1, 100_000)))


def noise(given: Given) -> Hostile:
    """Random bytes, behind the first ones of the format or not."""
    ending = EMPTY[given.number % len(EMPTY)]
    starts = {"pdf": b"%PDF-1.7\n", "docx": b"PK\3\4", "odt": b"PK\3\4", "rtf": b"{\\rtf1", "parquet": b"PAR1"}
    start = starts.get(ending, b"") if given.number >= len(EMPTY) else b""
    return Hostile(
        "either" if ending in ("rtf", "html", "eml") else "refused", ending, start + given.draw.randbytes(9000)
    )


def odd_text(given: Given) -> Hostile:
    """Text in one line of 10 MB, with zeros, without its encoding, with marks of direction, of line ends alone."""
    text = given.text
    cases = (
        (text + " long" * (2 * MEGABYTE)).encode(),
        text.encode("utf-16-le"),
        f"\u202e{text}\u2066\u0000 \ufffe".encode(),
        text.encode() + b"\xff\xfe\xc0\x80\xed\xa0\x80",
        b"\n" * MEGABYTE + text.encode(),
        b"\xef\xbb\xbf" * 999 + text.encode(),
    )
    return Hostile("either", "txt", cases[given.number % len(cases)])


def packed_text(given: Given) -> Hostile:
    """Compressed text of 4 GB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = b"bombe " * (MEGABYTE // 6)
    once = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = gzip.compress(b"", mtime=0)[:10] + once * 4000 + packer.flush() + bytes(8)
    return Hostile("refused", "txt.gz", packed)


def odd_name(given: Given) -> Hostile:
    """Good text under a name with a line end, bytes that are not UTF-8, a tab, signs of the shell, or 240 bytes."""
    names = (
        "ligne\nfin",
        os.fsdecode(b"latin-\xe9\xff"),
        "tab\tnom",
        "$(touch x);`x`|'\"",
        "é" * 90,
        "-rf",
        "..",
        "%s%n\r",
    )
    return Hostile("read", f"{names[given.number % len(names)]}.txt", given.text.encode())


def link(given: Given) -> Hostile:
    """A link to itself, to nothing, to a file that nothing may read by it, or to a device."""
    targets = ("self", "nothing-here", "/dev/zero", "/dev/stdin")
    target = targets[given.number % len(targets)]
    return Hostile("refused", "txt", lambda path: path.symlink_to(path.name if target == "self" else target))


def pipe(given: Given) -> Hostile:
    """A named pipe, which whoever opens it waits for."""
    return Hostile("refused", ("txt", "pdf")[given.number % 2], os.mkfifo)


KINDS = {
    "truncated": Kind(truncated, 48),
    "flipped": Kind(flipped, 48),
    "zeroed": Kind(zeroed, 16),
    "wrongending": Kind(wrong_ending, 16),
    "empty": Kind(empty, 11),
    "zeros": Kind(zeros, 11),
    "noise": Kind(noise, 22),
    "textodd": Kind(odd_text, 6),
    "textpacked": Kind(packed_text, 1),
    "nameodd": Kind(odd_name, 8),
    "link": Kind(link, 4),
    "pipe": Kind(pipe, 2),
}
