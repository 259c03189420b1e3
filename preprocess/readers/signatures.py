"""The format of a file by its content, whatever its name says."""

import re
from pathlib import Path

from preprocess.documents.compression import FORMS, open_bytes

LOOKED_AT = 1 << 16  # bytes at the start, and of a zip container at the end, where its list of files is
HL7 = re.compile(rb"[\x0b\s]*(?:MSH|FHS|BHS)([^\w\s])[^\r\n]{3,}")
FHIR = re.compile(rb'\s*[\[{].{0,4000}?"resourceType"\s*:\s*"[A-Z]', re.DOTALL)
HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,500}?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
HEADER = rb"(?:From|To|Subject|Date|Received|Return-Path|Delivered-To|MIME-Version|Message-ID|Reply-To|X-[\w-]+)"
MAIL = re.compile(rb"(?:From [^\n]+\n)?" + HEADER + rb":[^\n]*\n(?:[ \t][^\n]*\n)*" + HEADER + rb":", re.IGNORECASE)
# Formats that a name never hides: their text is not that of the bytes.
CERTAIN = ("pdf", "rtf", "docx", "odt", "hl7")


def kind_of(start: bytes, end: bytes = b"") -> str:
    """The format of these first and last bytes of a file, "" if they tell none."""
    head = start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0\r\n\t ")
    if b"%PDF-" in start[:1024]:
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_container(start, end or start)
    found = (("hl7", HL7), ("fhir", FHIR), ("html", HTML), ("email", MAIL))
    return next((name for name, pattern in found if pattern.match(head)), "")


def _kind_of_container(start: bytes, end: bytes) -> str:
    named = b"application/vnd.oasis.opendocument.text" in start[:200]
    if named or b"mimetype" in start[:60] and b"content.xml" in end:
        return "odt"
    return "docx" if b"word/" in start or b"word/" in end else ""


def kind_of_file(file: Path) -> str:
    """The format of a file, which may be compressed. Raises InputError for a damaged compression."""
    with open_bytes(file) if file.suffix in FORMS else open(file, "rb") as handle:
        start, end = handle.read(LOOKED_AT), b""
        if start.startswith(b"PK") and file.suffix not in FORMS:
            handle.seek(max(0, file.stat().st_size - LOOKED_AT))
            end = handle.read(LOOKED_AT)
    return kind_of(start, end)
