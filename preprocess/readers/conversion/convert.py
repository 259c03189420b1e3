"""Bytes of any of these formats as text, with the files inside them. Runs in a process of its own (isolated.py)."""

from functools import partial

from preprocess.readers.content import Content
from preprocess.readers.conversion.docx import read_docx
from preprocess.readers.conversion.hl7_message import read_hl7_message
from preprocess.readers.conversion.mail import read_mail
from preprocess.readers.conversion.odt import read_odt
from preprocess.readers.conversion.rtf import read_rtf
from preprocess.readers.markup.html_pages import decode_page, lines_of_page
from preprocess.readers.options import ReadOptions
from preprocess.readers.pdf.read import read_pdf
from preprocess.readers.read_log import Fault
from preprocess.readers.records.record import lines_of_text
from preprocess.readers.signatures import LOOKED_AT, kind_of

KINDS = ("pdf", "docx", "odt", "rtf", "email")
DEEPEST = 5  # files inside one another


def convert(data: bytes, kind: str, with_scans: bool = False, depth: int = 0) -> Content:
    """The content of a file of one of KINDS, or of a message of HL7; with images of its scanned pages if asked for.

    Raises Fault.
    """
    if depth > DEEPEST:
        raise Fault(f"files more than {DEEPEST} deep inside one another", "take them out")
    if kind == "pdf":
        return read_pdf(data, with_scans)
    inside = partial(convert_inside, with_scans=with_scans, depth=depth)
    if kind == "email":
        return read_mail(data, inside)
    if kind == "hl7":
        return read_hl7_message(data, inside)
    return {"docx": read_docx, "odt": read_odt, "rtf": read_rtf}[kind](data)


def convert_inside(data: bytes, name: str, with_scans: bool = False, depth: int = 0) -> Content | None:
    """The content of bytes that another file holds under a name; None where no reader fits. Raises Fault."""
    kind = kind_of(data[:LOOKED_AT], data[-LOOKED_AT:])
    if kind in KINDS:
        return convert(data, kind, with_scans, depth + 1)
    is_page = kind == "html" or name.lower().endswith((".html", ".htm"))
    if not is_page and not name.lower().endswith(".txt"):
        return None
    text = decode_page(data, ReadOptions())
    return Content(lines_of_page(text) if is_page else lines_of_text(text))
