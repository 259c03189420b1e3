"""DOCX, ODT, RTF and e-mail: the text that a reader of the page sees, in its order, and nothing else."""

import base64
from email.message import EmailMessage

import pytest
from office_files import docx, odt, paragraph, written, zipped
from reader_helpers import read

from alibert_common.errors import InputError
from preprocess.readers.conversion import container
from preprocess.readers.conversion.rtf import read_rtf

ROW = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("CRP", "5", "mg/L"))
IN_BOX = f"<w:txbxContent>{paragraph('Boîte')}</w:txbxContent>"
BOX = (
    f"<w:r><mc:AlternateContent><mc:Choice><wp:posOffset>-635</wp:posOffset>{IN_BOX}</mc:Choice>"
    f"<mc:Fallback>{IN_BOX}</mc:Fallback></mc:AlternateContent></w:r>"
)
NOTE = f'<w:footnote w:id="2">{paragraph("La note.")}</w:footnote>'
CALL = '<w:r><w:footnoteReference w:id="2"/></w:r>'
RAISED = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
DOCX = {
    "runs inside a word": (paragraph("fiè", "vre"), ["fièvre"]),
    "tabs and breaks": ("<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>", ["a b", "c"]),
    "a table": (f"<w:tbl><w:tr>{ROW}</w:tr></w:tbl>", ["CRP | 5 | mg/L"]),
    "a table for the layout": (
        f"<w:tbl><w:tr><w:tc>{paragraph('CHU')}{paragraph('Service')}</w:tc><w:tc>{paragraph('Nantes')}</w:tc></w:tr>"
        "</w:tbl>", ["CHU", "Service", "Nantes"],
    ),
    "a table in a table": (
        f"<w:tbl><w:tr><w:tc><w:tbl><w:tr>{ROW}</w:tr></w:tbl></w:tc></w:tr></w:tbl>", ["CRP | 5 | mg/L"],
    ),
    "tracked changes": (
        "<w:p><w:ins><w:r><w:t>neuf</w:t></w:r></w:ins><w:del><w:r><w:delText>vieux</w:delText></w:r></w:del></w:p>",
        ["neuf"],
    ),
    "a content control": (f"<w:sdt><w:sdtContent>{paragraph('Choix')}</w:sdtContent></w:sdt>", ["Choix"]),
    "a hyperlink": ("<w:p><w:hyperlink><w:r><w:t>lien</w:t></w:r></w:hyperlink></w:p>", ["lien"]),
    "a field": ("<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>3</w:t></w:r></w:p>", ["3"]),
    "hidden text": (paragraph("caché", settings="<w:rPr><w:vanish/></w:rPr>") + paragraph("vu"), ["vu"]),
    "text shown again": (paragraph("vu", settings='<w:rPr><w:vanish w:val="0"/></w:rPr>'), ["vu"]),
    "raised digits": (f"<w:p><w:r><w:t>10</w:t></w:r><w:r>{RAISED}<w:t>9</w:t></w:r></w:p>", ["10⁹"]),
    "raised words": (f"<w:p><w:r><w:t>1</w:t></w:r><w:r>{RAISED}<w:t>er</w:t></w:r></w:p>", ["1er"]),
    "symbols": ('<w:p><w:r><w:sym w:font="Symbol" w:char="F0B3"/><w:t> 5 \uf06dmol</w:t></w:r></w:p>', ["≥ 5 µmol"]),
    "a text box": (
        f"<w:p><w:r><w:t>Avant </w:t></w:r>{BOX}<w:r><w:t>après</w:t></w:r></w:p>", ["Boîte", "Avant après"],
    ),
    "no-break hyphens": ("<w:p><w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t></w:r></w:p>", ["a‑b"]),
    "spaces between elements": (
        "<w:p>\n  <w:r>\n <w:t>fiè</w:t>\n</w:r>\n <w:r><w:t>vre</w:t></w:r>\n</w:p>", ["fièvre"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DOCX)
def test_docx(tmp_path, kind):
    body, lines = DOCX[kind]
    got = read(written(tmp_path / "a.docx", docx(body)))
    assert got.lines == [lines] and got.ids == ["a"]


def test_notes_stand_at_the_end_and_headers_are_left_out(tmp_path):
    body = f"<w:p><w:r><w:t>Texte</w:t></w:r>{CALL}<w:r><w:t> suite.</w:t></w:r></w:p>{paragraph('Fin.')}"
    data = docx(body, footnotes=NOTE, header1=paragraph("CHU"), comments=paragraph("à revoir"))
    assert read(written(tmp_path / "a.docx", data)).lines == [["Texte suite.", "Fin.", "La note."]]


def test_the_main_part_may_have_another_name(tmp_path):
    data = docx(paragraph("Texte."), main="word/document2.xml")
    assert read(written(tmp_path / "a.docx", data)).lines == [["Texte."]]


def test_parts_of_another_format_are_noted(tmp_path):
    data = docx(paragraph("Texte.") + "<w:altChunk/>")
    assert read(written(tmp_path / "a.docx", data)).notes == {"parts of another format in DOCX files, not read": 1}


CELLS = "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in ("CRP", "5", "mg/L"))
STYLES = (
    '<style:style style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>'
    '<style:style style:name="T2"><style:text-properties text:display="none"/></style:style>'
    '<style:style style:name="T3"><style:text-properties style:text-position="0% 100%"/></style:style>'
)
FRAME = "<draw:frame><draw:text-box><text:p>Boîte</text:p></draw:text-box><svg:desc>logo</svg:desc></draw:frame>"
ODT = {
    "spans inside a word": ("<text:p>fiè<text:span>vre</text:span></text:p>", ["fièvre"]),
    "headings and lists": (
        "<text:h>Motif</text:h><text:list><text:list-item><text:p>Toux</text:p></text:list-item></text:list>",
        ["Motif", "Toux"],
    ),
    "spaces, tabs and breaks": (
        '<text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d</text:p>', ["a b c", "d"],
    ),
    "a table": (f"<table:table><table:table-row>{CELLS}</table:table-row></table:table>", ["CRP | 5 | mg/L"]),
    "deleted text": (
        "<text:tracked-changes><text:deletion><text:p>vieux</text:p></text:deletion></text:tracked-changes>"
        "<text:p>neuf</text:p>", ["neuf"],
    ),
    "a note": (
        "<text:p>Texte<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>La note.</text:p>"
        "</text:note-body></text:note> suite.</text:p>", ["Texte suite.", "La note."],
    ),
    "a text box": (f"<text:p>Avant {FRAME}après</text:p>", ["Boîte", "Avant après"]),
    "a comment": ("<text:p>a<office:annotation><text:p>à revoir</text:p></office:annotation>b</text:p>", ["ab"]),
    "raised digits": ('<text:p>10<text:span text:style-name="T1">9</text:span></text:p>', ["10⁹"]),
    "digits on the line": ('<text:p>10<text:span text:style-name="T3">9</text:span></text:p>', ["109"]),
    "hidden text": ('<text:p>vu<text:span text:style-name="T2">caché</text:span></text:p>', ["vu"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODT)
def test_odt(tmp_path, kind):
    body, lines = ODT[kind]
    assert read(written(tmp_path / "a.odt", odt(body, STYLES))).lines == [lines]


FONTS = r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset2 Symbol;}{\f2\fcharset204 Arial CYR;}}"
RTF = {
    "accents": (r"Fi\'e8vre \'e0 38 \'b0C, \u339?dème.\par", ["Fièvre à 38 °C, œdème."]),
    "replacements of Unicode": (r"{\uc2 a\u8217\'92xb}{\uc0 \u8217 c}\par", ["a’b’c"]),
    "characters in two halves": (r"\u-10179?\u-8704?\par", ["😀"]),
    "fonts": (r"{\f1\'b3} 5 {\f1 m}mol {\f2\'e0}\par", ["≥ 5 µmol а"]),
    "escaped signs": (r"\{a\}\\b\~c\_d\-e\par", ["{a}\\b\N{NO-BREAK SPACE}c‑de"]),
    "signs by name": (r"\lquote a\rquote  \endash  b\tab c\bullet\par", ["‘a’ – b c•"]),
    "breaks": ("a\\line b\\par c\r\nd\\page e\\\nf", ["a", "b", "cd", "e", "f"]),
    "a table": (r"\trowd\intbl CRP\cell\pard\intbl 5\cell\row\pard Fin.\par", ["CRP | 5", "Fin."]),
    "a table for the layout": (
        r"\trowd\intbl CHU\par Service\cell\pard\intbl Nantes\cell\row", ["CHU", "Service", "Nantes"],
    ),
    "headers, pictures and fields": (
        r"{\header CHU\par}{\footer Page}{\pict\wmetafile8 0100}{\*\generator Word;}{\info{\title x}}"
        r'{\field{\*\fldinst HYPERLINK "x"}{\fldrslt lien}}\par', ["lien"],
    ),
    "binary data": ("a{\\pict\\bin5 }}}}}}b\\par", ["ab"]),
    "deleted and hidden text": (r"neuf{\deleted vieux}{\v caché\v0  vu}\par", ["neuf vu"]),
    "a text box": (
        r"Avant {\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt Boîte\par}}{\shprslt Boîte}}après\par",
        ["Boîte", "Avant après"],
    ),
    "a note": (r"Texte{\footnote\pard La note.} suite.\par Fin.\par", ["Texte suite.", "Fin.", "La note."]),
    "a list": (r"{\listtext\'b7\tab}Toux\par{\pntext 1.\tab}Repos\par", ["Toux", "Repos"]),
    "raised digits": (r"10{\super 9}/L 1{\super er}\par", ["10⁹/L 1er"]),
    "a group with two forms": (r"{\upr{ascii}{\*\ud{\'e9t\'e9}}}\par", ["été"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", RTF)
def test_rtf(kind):
    text, lines = RTF[kind]
    assert read_rtf((rf"{{\rtf1\ansi\ansicpg1252\deff0{FONTS}" + text + "}").encode("cp1252")).lines == lines


def test_many_groups_inside_one_another_take_no_recursion():
    assert read_rtf(b"{\\rtf1 a" + b"{" * 200_000 + b"b" + b"}" * 200_000 + b"}").lines == ["ab"]


def test_an_rtf_file_that_is_cut_short_is_refused(tmp_path):
    with pytest.raises(InputError, match="a.rtf: an RTF file that is cut short; get it again."):
        read(written(tmp_path / "a.rtf", r"{\rtf1 Le patient tousse.\par"))


LETTER = zipped({"x": "y"})
MAIL = """From: a@chu.example
To: b@chu.example
Date: Tue, 14 Feb 2023 10:00:00 +0100
Subject: =?utf-8?q?Compte_rendu_=C3=A9crit?=
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: multipart/alternative; boundary="y"

--y
Content-Type: text/plain; charset=windows-1252
Content-Transfer-Encoding: quoted-printable

Cher confr=E8re,
Ci-joint la lettre.
--y
Content-Type: text/html

<p>Cher confrere</p>
--y--
--x
Content-Type: application/rtf; name="lettre.rtf"
Content-Disposition: attachment; filename="lettre.rtf"
Content-Transfer-Encoding: base64

{rtf}
--x
Content-Type: image/png; name="logo.png"
Content-Transfer-Encoding: base64

iVBORw==
--x--
"""


def test_an_email_with_its_attachments(tmp_path):
    rtf = base64.b64encode(rb"{\rtf1 Le patient tousse.\par}").decode()
    got = read(written(tmp_path / "a.eml", MAIL.replace("{rtf}", rtf)))
    assert got.lines == [["Compte rendu écrit", "Cher confrère,", "Ci-joint la lettre.", "Le patient tousse."]]
    assert got.documents[0].date == "2023-02-14" and "chu.example" not in got.documents[0].text
    assert got.notes == {"attached files that were read": 1, "attached pictures, calendars and signatures, not read": 1}


def test_an_attachment_that_cannot_be_read_is_named(tmp_path):
    path = written(tmp_path / "a.eml", MAIL.replace("{rtf}", base64.b64encode(rb"{\rtf1 x").decode()))
    with pytest.raises(
        InputError, match="a.eml, attached file lettre.rtf: an RTF file that is cut short; get it again"
    ):
        read(path)
    got = read(path, on_error="skip")
    assert got.lines[0][-1] == "Ci-joint la lettre." and [one.place for one in got.skipped] == [
        "attached file lettre.rtf"
    ]


FORWARDED = """From: a@b.example
Subject: Avis
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: text/plain

Premier.
--x
Content-Type: image/png

iVBORw==
--x
Content-Type: text/plain

Second.
--x
Content-Type: message/rfc822

From: c@d.example
Subject: Ancien
Content-Type: text/plain

Texte transmis.
--x--
"""


def test_all_texts_of_an_email_and_of_those_it_forwards(tmp_path):
    got = read(written(tmp_path / "a.eml", FORWARDED))
    assert got.lines == [["Avis", "Premier.", "Second.", "Ancien", "Texte transmis."]]
    assert got.notes == {"attached pictures, calendars and signatures, not read": 1}


@pytest.mark.parametrize(
    "forms, lines",
    [
        ([("plain", " "), ("html", "<p>Toux.</p>")], ["Toux."]),
        ([("plain", "Toux."), ("html", "<p>Autre.</p>")], ["Toux."]),
        ([("html", "<p>Toux.</p>"), ("calendar", "BEGIN:VCALENDAR")], ["Toux."]),
        ([("rtf", r"{\rtf1 Toux.\par}")], ["Toux."]),
        ([("plain", "Toux."), ("mixed", "")], ["Toux.", "Jointe."]),
    ],
)
def test_of_several_forms_of_an_email_one_is_read_and_no_file_is_lost(tmp_path, forms, lines):
    mail = EmailMessage()
    mail["Subject"] = "CR"
    mail.set_type("multipart/alternative")
    for kind, text in forms:
        part = EmailMessage()
        part.set_content(text or "<p>Autre.</p>", subtype="html" if kind == "mixed" else kind)
        if kind == "mixed":
            part.add_attachment(rb"{\rtf1 Jointe.\par}", maintype="application", subtype="rtf", filename="a.rtf")
        mail.attach(part)
    assert read(written(tmp_path / "a.eml", mail.as_bytes())).lines == [["CR", *lines]]


def test_boxes_and_lists_of_a_form(tmp_path):
    def box(*states):
        return f"<w:r><w:fldChar><w:ffData><w:checkBox>{''.join(states)}</w:checkBox></w:ffData></w:fldChar></w:r>"

    entries = "".join(f'<w:listEntry w:val="{entry}"/>' for entry in ("aucun", "IDM", "AVC"))
    chosen = (
        f'<w:r><w:fldChar><w:ffData><w:ddList><w:result w:val="1"/>{entries}</w:ddList></w:ffData></w:fldChar></w:r>'
    )
    signs = "".join(f'<w:r><w:sym w:font="Wingdings" w:char="{code}"/></w:r>' for code in ("F0FE", "F0A8"))
    boxes = (
        box("<w:checked/>") + box('<w:default w:val="1"/>', '<w:checked w:val="0"/>') + box('<w:default w:val="0"/>')
    )
    signs += '<w:r><w:rPr><w:rFonts w:ascii="Wingdings"/></w:rPr><w:t>\uf0fd</w:t></w:r>'
    body = f"<w:p>{signs}</w:p><w:p>{boxes}</w:p><w:p>{chosen}</w:p>"
    assert read(written(tmp_path / "a.docx", docx(body))).lines == [["☑☐☒", "☒☐☐", "IDM"]]


def test_an_email_in_html_alone(tmp_path):
    text = "Subject: Avis\nFrom: a@b.example\nContent-Type: text/html; charset=utf-8\n\n<p>Toux</p><p>Fièvre</p>"
    assert read(written(tmp_path / "a.eml", text.encode())).lines == [["Avis", "Toux", "Fièvre"]]


def test_the_content_tells_the_format_whatever_the_name_says(tmp_path):
    files = {
        "a.txt": docx(paragraph("Un.")), "b.pdf": odt("<text:p>Deux.</text:p>"), "c": rb"{\rtf1 Trois.\par}",
        "d.docx": rb"{\rtf1 Quatre.\par}", "e.dat": b"<!DOCTYPE html><p>Cinq.", "f": b"From: a\nSubject: Six.\n\n",
    }  # fmt: skip
    for name, data in files.items():
        written(tmp_path / name, data)
    got = read(tmp_path)
    assert got.lines == [["Un."], ["Deux."], ["Trois."], ["Quatre."], ["Cinq."], ["Six."]]
    assert got.notes["files that hold docx, whatever their names say"] == 1


@pytest.mark.parametrize(
    "name, data, reason",
    [
        ("a.docx", docx(paragraph("x"))[:-200], "a damaged zip container"),
        ("a.docx", zipped({"word/x.xml": "x"}), "a zip container without its main part"),
        ("a.docx", zipped({"word/document.xml": "<w:document"}), "broken XML in a zip container"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an encrypted or an old Microsoft Office file"),
        ("a.odt", odt("", manifest="<m><encryption-data/></m>"), "an encrypted file"),
        ("a.odt", zipped({"content.xml": "<a><body><spreadsheet/></body></a>"}), "an OpenDocument file without text"),
        ("a.eml", b"\n\nToux.", "no e-mail"),
        ("a.rtf", b"{\\rtf1 x", "an RTF file that is cut short"),
        ("a.rtf", b"MZ" + bytes(range(256)) * 9, "no RTF file"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path, name, data, reason):
    with pytest.raises(InputError, match=rf"{name}: {reason}.*; .*\.$"):
        read(written(tmp_path / name, data))


def test_a_part_that_grows_beyond_bounds_is_refused(monkeypatch):
    monkeypatch.setattr(container, "LARGEST", 1000)
    monkeypatch.setattr(container, "MOST_ENTRIES", 3)
    with pytest.raises(container.Fault, match="a part of more than"):
        container.Container(zipped({"a": "x" * 1001})).read("a")
    with pytest.raises(container.Fault, match="too many files"):
        container.Container(zipped({name: "" for name in "abcd"}))


def test_nothing_outside_the_file_is_opened(tmp_path):
    (tmp_path / "secret").write_text("SECRET")
    entity = f'<!DOCTYPE w [<!ENTITY x SYSTEM "{tmp_path}/secret"><!ENTITY y "yyyyyyyy">]>'
    data = zipped({
        "word/document.xml": f'{entity}<w:document xmlns:w="w"><w:p><w:r><w:t>a&x;b&y;</w:t></w:r></w:p></w:document>'
    })  # fmt: skip
    lines = read(written(tmp_path / "a.docx", data)).lines
    assert "SECRET" not in str(lines)
