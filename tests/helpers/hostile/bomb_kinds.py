"""DOCX and ODT files with a password, of too many bytes, parts or levels."""

from pathlib import Path

from hostile.archives import archive, compound, packed, repeated, write_parts
from hostile.given import Given, Hostile, Kind
from hostile.packages import content_xml, document_xml, docx_parts, odt_parts

GIGABYTE = 1_000_000_000
BLOCK = 1_000_000  # bytes of a bomb's block, about


def encrypted_word(given: Given) -> Hostile:
    """A DOCX file with a password: an OLE container."""
    info = b'<encryption xmlns="http://schemas.microsoft.com/office/2006/encryption"/>'.ljust(4096)
    streams = {"EncryptionInfo": b"\4\0\4\0\x40\0\0\0" + info, "EncryptedPackage": given.draw.randbytes(9000)}
    return Hostile("refused", "docx", compound(streams))


def encrypted_odt(given: Given) -> Hostile:
    """An ODT file with a password: its manifest says so, and its content is noise."""
    algorithm = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
    way = f'<manifest:algorithm manifest:algorithm-name="{algorithm}" manifest:initialisation-vector="AAAA"/>'
    entry = (
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml" manifest:size="900">'
        f'<manifest:encryption-data manifest:checksum="AAAA">{way}</manifest:encryption-data></manifest:file-entry>'
    )
    return Hostile("refused", "odt", archive(odt_parts(given.draw.randbytes(900), entry)))


def zip_bomb(given: Given) -> Hostile:
    """10 GB or 1 GB of paragraphs in the main part."""
    size = 10 * GIGABYTE if given.number < 2 else GIGABYTE
    word = given.number % 2 == 0
    long = b"a" * 9_900  # which deflate makes a thousand times shorter
    line = b"<w:p><w:r><w:t>%s</w:t></w:r></w:p>" % long if word else b"<text:p>%s</text:p>" % long
    block = line * (BLOCK // len(line))
    whole = document_xml(given.text, "\0") if word else content_xml(given.text, "\0")
    before, after = whole.encode().split(b"\0")
    name = "word/document.xml" if word else "content.xml"
    parts = {**(docx_parts("") if word else odt_parts(""))}
    others = [packed(other, str(content).encode()) for other, content in parts.items() if other != name]

    def write(path: Path) -> None:
        write_parts(path, [*others, repeated(name, before, block, size // len(block), after)])

    return Hostile("refused", "docx" if word else "odt", write)


def attribute_bomb(given: Given) -> Hostile:
    """One element with a text of 2 GB."""
    before, after = document_xml("\0").encode().split(b"\0")
    others = [packed(name, str(part).encode()) for name, part in docx_parts("").items() if name != "word/document.xml"]
    bomb = repeated("word/document.xml", before, b"a" * BLOCK, 2000, after)
    return Hostile("refused", "docx", lambda path: write_parts(path, [*others, bomb]))


def nested_zip(given: Given) -> Hostile:
    """Archives in archives in place of the main part."""
    content = bytes(10_000_000)
    for level in range(given.number + 3):
        content = archive({f"{level}-{copy}.zip": content for copy in range(6)})
    return Hostile("refused", "docx", archive(docx_parts(content)))


def shared_parts(given: Given) -> Hostile:
    """30,000 names for the same part of 100 MB, beside a small document."""
    parts = [packed(name, str(part).encode()) for name, part in docx_parts(document_xml(given.text)).items()]
    bomb = repeated("word/media/bomb.bin", b"", bytes(BLOCK), 100, b"")
    return Hostile("either", "docx", lambda path: write_parts(path, [*parts, bomb], shared=30_000))


def many_parts(given: Given) -> Hostile:
    """100,000 parts."""
    parts = docx_parts(document_xml(given.text)) | {f"word/media/{number}.xml": b"" for number in range(100_000)}
    return Hostile("either", "docx", archive(parts))


def deep_xml(given: Given) -> Hostile:
    """100,000 elements, each in the one before."""
    levels = 100_000
    if given.number % 2:
        return Hostile("either", "odt", archive(odt_parts(content_xml(given.text, _deep("text:section", levels)))))
    return Hostile("either", "docx", archive(docx_parts(document_xml(given.text, _deep("w:sdt", levels)))))


def _deep(element: str, levels: int) -> str:
    return f"<{element}>" * levels + f"</{element}>" * levels


KINDS = {
    "encryptedword": Kind(encrypted_word, 6),
    "encryptedodt": Kind(encrypted_odt, 6),
    "zipbomb": Kind(zip_bomb, 4),
    "textbomb": Kind(attribute_bomb, 1),
    "nestedzip": Kind(nested_zip, 4),
    "sharedparts": Kind(shared_parts, 2),
    "manyparts": Kind(many_parts, 1),
    "deepxml": Kind(deep_xml, 4),
}
