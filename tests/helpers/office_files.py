"""Small files of word processors, written by hand: what a test wants in them, and nothing else."""

import io
import zipfile
from pathlib import Path

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
OPEN = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("style", "style"),
        ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible"),
    )
)  # fmt: skip
ODT = "application/vnd.oasis.opendocument.text"


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """A zip container of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as container:
        for name, part in parts.items():
            container.writestr(name, part)
    return content.getvalue()


def docx(body: str, main: str = "word/document.xml", **parts: str) -> bytes:
    """A DOCX file with this body, and other parts in its folder."""
    document = f'<w:document {WORD} xmlns:mc="m" xmlns:wp="p"><w:body>{body}</w:body></w:document>'
    relation = f'<Relationships xmlns="r"><Relationship Type="x/officeDocument" Target="{main}"/></Relationships>'
    others = {f"word/{name}.xml": f"<w:{name} {WORD}>{part}</w:{name}>" for name, part in parts.items()}
    return zipped({"[Content_Types].xml": "<Types/>", "_rels/.rels": relation, main: document} | others)


def paragraph(*texts: str, settings: str = "") -> str:
    """A paragraph of Word with a run for each text."""
    runs = (f"<w:r>{settings}<w:t>{text}</w:t></w:r>" for text in texts)
    return f"<w:p>{''.join(runs)}</w:p>"


def odt(body: str, styles: str = "", manifest: str = "<m/>", mimetype: str = ODT) -> bytes:
    """An ODT file with this text."""
    content = (
        f"<office:document-content {OPEN}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    return zipped({"mimetype": mimetype, "content.xml": content, "META-INF/manifest.xml": manifest})


def written(path: Path, data: bytes | str) -> Path:
    """The path of a new file."""
    path.write_bytes(data.encode("cp1252") if isinstance(data, str) else data)
    return path
