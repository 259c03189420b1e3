"""E-mails: the subject, the text, and the text of attached files that have a reader. Addresses are left out."""

import email
import email.policy
import email.utils
from collections.abc import Callable, Iterator
from email.message import EmailMessage, MIMEPart

from preprocess.readers.content import Content
from preprocess.readers.markup.html_pages import decode_page, lines_of_page
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault
from preprocess.readers.records.record import lines_of_text

Convert = Callable[[bytes, str], Content | None]  # the content of bytes, None where no reader fits the name
PICTURES = "attached pictures, calendars and signatures, not read"
WITHOUT_TEXT = ("image/", "audio/", "video/", "text/calendar", "text/vcard", "application/pkcs7-signature")
FILES = ("rtf", "calendar", "vcard", "x-vcard")  # subtypes of text
READ = "attached files that were read"


def read_mail(data: bytes, convert: Convert) -> Content:
    """The text of an e-mail; `convert` reads attached files. Raises Fault for what has no header of an e-mail."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    if not message.keys():
        raise Fault("no e-mail", "leave it out, or give it the ending of what it holds")
    content = Content([str(message.get("subject", ""))], {"date": _date(message)} if _date(message) else {})
    for part in _parts(message):
        if part.get_content_type() == "message/rfc822":
            content.add(read_mail(_bytes_of(part), convert))
        elif _is_text(part):
            content.lines += _lines_of_part(part)
        else:
            content.add(_attached(part, convert))
    return content


def _parts(message: MIMEPart) -> Iterator[MIMEPart]:
    """The parts of a message in their order; of several forms of one text the first one that has lines."""
    if message.get_content_type() == "multipart/alternative":
        forms = [list(_parts(part)) for part in message.iter_parts()]
        texts = [[part for part in form if _is_text(part)] for form in forms]
        best = next((text for text in texts if any(map(_lines_of_part, text))), [])
        yield from (part for form in forms for part in form if not _is_text(part) or part in best)
    elif message.get_content_maintype() == "multipart":
        for part in message.iter_parts():
            yield from _parts(part)
    else:
        yield message


def _is_text(part: MIMEPart) -> bool:
    """Whether it is text of the message, and no file; RTF and calendars are files, whatever they say."""
    is_file = part.is_attachment() or part.get_filename() or part.get_content_maintype() != "text"
    return not is_file and part.get_content_subtype() not in FILES


def _bytes_of(part: MIMEPart) -> bytes:
    """The message that another one forwards."""
    inner = part.get_payload(0) if part.is_multipart() else part
    return inner.as_bytes() if isinstance(inner, EmailMessage) else b""


def _date(message: EmailMessage) -> str:
    """The day on which it was sent, "" if it does not say."""
    try:
        return email.utils.parsedate_to_datetime(str(message["date"])).date().isoformat()
    except (TypeError, ValueError, IndexError):
        return ""


def _lines_of_part(part: MIMEPart) -> list[str]:
    text = _text(part)
    return lines_of_page(text) if part.get_content_type() == "text/html" else lines_of_text(text)


def _text(part: MIMEPart) -> str:
    """The characters of a part; those of an unknown character set are found as in a page."""
    try:
        return str(part.get_content())
    except (LookupError, UnicodeError):
        payload = part.get_payload(decode=True)
        return decode_page(payload if isinstance(payload, bytes) else b"", ReadOptions(encoding="auto"))


def _attached(part: MIMEPart, convert: Convert) -> Content:
    """The content of an attached file, or the name of one that cannot be read."""
    payload, name = part.get_payload(decode=True), part.get_filename() or ""
    try:
        content = convert(payload if isinstance(payload, bytes) else b"", name)
        if content is None and part.get_content_type().startswith(WITHOUT_TEXT):
            return Content([], notes={PICTURES: 1})
        if content is None:
            raise Fault("an attached file of no known format", "save it beside the e-mail in a known one")
    except Fault as fault:
        return Content([], unread=[(f"attached file {name}".strip(), fault.reason, fault.remedy)])
    content.notes[READ] = content.notes.get(READ, 0) + 1
    return content
