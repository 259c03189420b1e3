"""The smallest DOCX and ODT files that hold a text."""

from xml.sax.saxutils import escape

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
ODF = " ".join(f'xmlns:{name}="{OFFICE}:{name}:1.0"' for name in ("office", "text", "table", "style"))
ODT = "application/vnd.oasis.opendocument.text"


def document_xml(text: str, more: str = "", doctype: str = "") -> str:
    """The main part of a DOCX file; `more` goes behind the paragraph, as it is."""
    paragraph = f"<w:p><w:r><w:t>{escape(text)}</w:t></w:r></w:p>"
    return f"{XML}{doctype}<w:document {W} {R}><w:body>{paragraph}{more}</w:body></w:document>"


def docx_parts(document: str | bytes, relations: str = "", types: str = "") -> dict[str, str | bytes]:
    """The parts of a DOCX file."""
    main = f'<Override PartName="/word/document.xml" ContentType="{WORD_TYPE}.document.main+xml"/>'
    defaults = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    defaults += '<Default Extension="xml" ContentType="application/xml"/>'
    space = "http://schemas.openxmlformats.org/package/2006"
    around = f'{XML}<Relationships xmlns="{space}/relationships">{{}}</Relationships>'
    first = f'<Relationship Id="rId1" Type="{RELATION}/officeDocument" Target="word/document.xml"/>'
    return {
        "[Content_Types].xml": f'{XML}<Types xmlns="{space}/content-types">{defaults}{main}{types}</Types>',
        "_rels/.rels": around.format(first),
        "word/_rels/document.xml.rels": around.format(relations),
        "word/document.xml": document,
    }


def content_xml(text: str, more: str = "", doctype: str = "") -> str:
    """The main part of an ODT file."""
    body = f"<office:body><office:text><text:p>{escape(text)}</text:p>{more}</office:text></office:body>"
    return f'{XML}{doctype}<office:document-content {ODF} office:version="1.3">{body}</office:document-content>'


def odt_parts(content: str | bytes, entries: str = "") -> dict[str, str | bytes]:
    """The parts of an ODT file; `entries` of its manifest replace that of the content."""
    entries = entries or '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    root = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{ODT}"/>'
    space = f'xmlns:manifest="{OFFICE}:manifest:1.0" manifest:version="1.3"'
    manifest = f"{XML}<manifest:manifest {space}>{root}{entries}</manifest:manifest>"
    return {"mimetype": ODT, "content.xml": content, "META-INF/manifest.xml": manifest}
