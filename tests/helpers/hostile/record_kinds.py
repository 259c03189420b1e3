"""JSON, FHIR, HL7, e-mails, pages and tables that are too deep, too long or wrong."""

import base64
import gzip
import json
from pathlib import Path

from hostile.archives import archive, repeated, write_parts
from hostile.given import Given, Hostile, Kind

MEGABYTE = 1_000_000
MSH = "MSH|^~\\&|LABO|HOPITAL|DPI|HOPITAL|20240301090000||ORU^R01|{mark}|P|2.5|||||FRA|UNICODE UTF-8\r"
OBX = "PID|1||{mark}^^^HOPITAL\rOBR|1||||||20240301\rOBX|1|TX|CR^Compte rendu||{text}||||||F\r"


def deep_json(given: Given) -> Hostile:
    """A million objects or lists, each in the one before, closed or not."""
    opened, closed = (('{"a":', "}"), ("[", "]"))[given.number % 2]
    content = opened * MEGABYTE + "1" + (closed * MEGABYTE if given.number > 1 else "")
    return Hostile("refused", "json", content.encode())


def odd_json(given: Given) -> Hostile:
    """NaN, numbers of a million digits, names twice, halves of characters, no end."""
    record = json.dumps({"id": given.mark, "text": given.text})
    changes = (
        '"n": NaN',
        '"n": -Infinity',
        f'"n": {"9" * MEGABYTE}',
        '"text": "b", "text": 5',
        '"s": "\\ud800"',
        '"s": "\\u0000"',
    )
    change = changes[given.number % len(changes)]
    return Hostile("either", "jsonl" if given.number % 2 else "json", f"{record[:-1]}, {change}}}".encode())


def fhir(attachment: dict, mark: str) -> bytes:
    """A bundle with a document of one attachment."""
    document = {"resourceType": "DocumentReference", "id": mark, "status": "current"}
    entry = {"resource": document | {"content": [{"attachment": attachment}]}}
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": [entry]}).encode()


def wrong_base64(given: Given) -> Hostile:
    """An attachment that is no base64, no text, or of another length."""
    whole = base64.b64encode(given.text.encode()).decode()
    wrong = ("%%%", whole[:-3], "é" * 40, base64.b64encode(bytes(range(256))).decode(), "=" * 99)
    attachment = {"contentType": "text/plain", "data": wrong[given.number % len(wrong)]}
    return Hostile("either", "json", fhir(attachment, given.mark))


def long_base64(given: Given) -> Hostile:
    """300 MB of base64, compressed; or 10 MB that are not."""
    data = "YWJj" * (75_000_000 if given.number == 0 else 2_500_000)
    content = fhir({"contentType": "text/plain", "data": data}, given.mark)
    if given.number:
        return Hostile("either", "json", content)
    return Hostile("either", "json.gz", lambda path: path.write_bytes(gzip.compress(content, 1, mtime=0)))


def attachment_by_address(given: Given) -> Hostile:
    """An attachment that is at an address, or a file of this machine."""
    url = (given.url, f"file://{given.secret}", str(given.secret))[given.number % 3]
    return Hostile("either", "json", fhir({"contentType": "text/plain", "url": url}, given.mark))


def no_header(given: Given) -> Hostile:
    """HL7 without its first segment, or with nothing else."""
    body = OBX.format(mark=given.mark, text=given.text)
    return Hostile("refused", "hl7", (body, "", "MSH", body[::-1])[given.number % 4].encode() or b"\r\r")


def odd_separators(given: Given) -> Hostile:
    """HL7 with separators that are letters, the same, or missing."""
    whole = MSH.format(mark=given.mark) + OBX.format(mark=given.mark, text=given.text)
    head = "MSH|^~\\&|"
    heads = "MSH||||||", "MSHAAAAAA", "MSH|^", "MSH\0^~\\&\0", "MSH\n^~\\&\n", "MSH^|~\\&^", "msh|^~\\&|"
    return Hostile("either", "hl7", whole.replace(head, heads[given.number % len(heads)]).encode())


def long_result(given: Given) -> Hostile:
    """A result of 200 MB; or 100,000 results."""
    start = MSH.format(mark=given.mark).encode()

    def write(path: Path) -> None:
        with open(path, "wb") as file:
            file.write(start + OBX.format(mark=given.mark, text=given.text).encode())
            if given.number == 0:
                file.write(b"OBX|2|TX|A||" + b"long " * (40 * MEGABYTE) + b"\r")
            else:
                file.writelines(b"OBX|%d|TX|A||%s||||||F\r" % (number, b"~" * 30) for number in range(2, 100_000))

    return Hostile("either", "hl7", write)


def nested_mail(given: Given) -> Hostile:
    """An e-mail of 100,000 parts, each in the one before, or side by side."""
    head = f"From: a@hopital.example\nSubject: {given.mark}\nMIME-Version: 1.0\n"
    if given.number % 2:
        part = "--b\nContent-Type: text/plain\n\nx\n" * 100_000
        return Hostile(
            "either", "eml", f'{head}Content-Type: multipart/mixed; boundary="b"\n\n{given.text}\n{part}--b--'.encode()
        )
    parts = "".join(f'Content-Type: multipart/mixed; boundary="b{level}"\n\n--b{level}\n' for level in range(100_000))
    return Hostile("either", "eml", f"{head}{parts}Content-Type: text/plain\n\n{given.text}\n".encode())


def mail(given: Given, name: str, kind: str, content: bytes) -> bytes:
    """An e-mail with the text and an attachment."""
    head = f"From: a@hopital.example\r\nSubject: {given.mark}\r\nMIME-Version: 1.0\r\n"
    head += 'Content-Type: multipart/mixed; boundary="b"\r\n\r\n'
    text = f"--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{given.text}\r\n"
    file = f'--b\r\nContent-Type: {kind}; name="{name}"\r\nContent-Disposition: attachment; filename="{name}"\r\n'
    data = base64.encodebytes(content).decode()
    return f"{head}{text}{file}Content-Transfer-Encoding: base64\r\n\r\n{data}\r\n--b--\r\n".encode()


def mail_bomb(given: Given) -> Hostile:
    """An e-mail with a bomb as an attachment."""

    def write(path: Path) -> None:
        write_parts(path, [repeated("word/document.xml", b"", b"<w:p/>" * 100_000, 1700, b"")])
        bomb = path.read_bytes()
        path.write_bytes(mail(given, "lettre.docx", "application/octet-stream", bomb))

    return Hostile("either", "eml", write)


def mail_path(given: Given) -> Hostile:
    """An e-mail whose attachment has a name that leads elsewhere."""
    names = f"../../{given.mark}.txt", f"/tmp/{given.mark}.txt", f"..\\..\\{given.mark}.exe", f"{given.secret}"
    return Hostile("either", "eml", mail(given, names[given.number % 4], "text/plain", b"out"))


def odd_mail(given: Given) -> Hostile:
    """An e-mail of no charset that exists, with no head, or with a part at an address."""
    whole = mail(given, "a.zip", "application/zip", archive({"a": b"a"})).decode()
    address = f'message/external-body; access-type=URL; URL="{given.url}"'
    changed = (
        whole.replace("utf-8", "klingon-8"),
        whole.replace("utf-8", "zlib_codec"),
        whole.replace("8bit", "uuencode"),
        whole.partition("\r\n\r\n")[2],
        whole.replace("application/zip", address),
        whole.replace('boundary="b"', 'boundary=""'),
    )
    return Hostile("either", "eml", changed[given.number % len(changed)].encode())


def page(given: Given) -> Hostile:
    """A page with scripts, frames and addresses, or with a million elements, each in the one before."""
    deep = "<div>" * MEGABYTE if given.number % 3 == 2 else ""
    fetch = f'<script src="{given.url}"></script><img src="{given.url}"><iframe src="file://{given.secret}"></iframe>'
    fetch += f'<meta http-equiv="refresh" content="0;{given.url}"><link rel="stylesheet" href="{given.url}">'
    doctype = f'<!DOCTYPE html SYSTEM "{given.url}" [<!ENTITY e SYSTEM "file://{given.secret}">]>'
    text = f"{doctype}<html><head>{fetch}</head><body>{deep}<p>{given.text} &e;</p></body></html>"
    return Hostile("either", "html", text.encode())


def table(given: Given) -> Hostile:
    """A table with a quotation mark that nothing closes, formulas, or a million columns."""
    rows = (
        f'id,text\n{given.mark},"{given.text}\n' + "x,y\n" * 100_000,
        f"id,text\n{given.mark},=cmd|' /C {given.trace}'!A0 {given.text}\n",
        "id,text" + ",a" * MEGABYTE + f"\n{given.mark},{given.text}\n",
        f"id,text\n{given.mark},{given.text}\0\n",
    )
    return Hostile("either", "csv", rows[given.number % len(rows)].encode())


KINDS = {
    "jsondeep": Kind(deep_json, 4),
    "jsonodd": Kind(odd_json, 12),
    "fhirwrong": Kind(wrong_base64, 10),
    "fhirlong": Kind(long_base64, 2),
    "fhiraddress": Kind(attachment_by_address, 6),
    "hlheader": Kind(no_header, 8),
    "hlseparators": Kind(odd_separators, 7),
    "hllong": Kind(long_result, 2),
    "mailnested": Kind(nested_mail, 2),
    "mailbomb": Kind(mail_bomb, 2),
    "mailpath": Kind(mail_path, 4),
    "mailodd": Kind(odd_mail, 6),
    "pageodd": Kind(page, 6),
    "tableodd": Kind(table, 4),
}
