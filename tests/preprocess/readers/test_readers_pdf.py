"""PDF files: their text in reading order, what is left out, and what is refused."""

import io
import random
import re
import shlex
import subprocess
import sys
import time
from collections import Counter

import pytest

pytest.importorskip("pypdfium2")
pytest.importorskip("reportlab")

from reader_helpers import read
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, SimpleDocTemplate, Table

from alibert_common.errors import InputError
from preprocess.readers.pdf import read as pdf
from preprocess.readers.pdf.read import read_pdf
from preprocess.readers.pdf.runs import PageText
from preprocess.readers.read_log import CommandError, Fault

BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=11, leading=14, spaceAfter=6)
SENTENCES = (
    "Madame T., âgée de 72 ans, est hospitalisée pour une dyspnée d'aggravation progressive depuis trois semaines.",
    "L'auscultation trouve des crépitants aux deux bases, et la radiographie un syndrome interstitiel bilatéral.",
    "Un traitement par amoxicilline 1 g trois fois par jour est commencé le jour même, relayé par voie orale.",
    "L'échographie cardiaque est normale ; la fonction ventriculaire gauche est conservée, à 60 %.",
)


def drawn(draw, pages=1, **settings):
    """A PDF whose pages `draw` makes, called with the canvas and the number of the page."""
    file = io.BytesIO()
    sheet = canvas.Canvas(file, pagesize=A4, **settings)
    for number in range(1, pages + 1):
        draw(sheet, number)
        sheet.showPage()
    sheet.save()
    return file.getvalue()


def written(*lines, x=60, y=780, leading=13, size=10, font="Helvetica"):
    """What draws lines one below the other."""

    def draw(sheet, number):
        sheet.setFont(font, size)
        for at, line in enumerate(lines):
            sheet.drawString(x, y - at * leading, line.format(number=number))

    return draw


def flowed(*parts):
    """A PDF of paragraphs and tables that reportlab lays out."""
    file = io.BytesIO()
    SimpleDocTemplate(file, pagesize=A4).build(list(parts))
    return file.getvalue()


def paragraphs_of(number, seed=1):
    draw = random.Random(seed)
    words = sorted(set(" ".join(SENTENCES).replace(".", "").replace(",", "").lower().split()) - set(";%"))
    sentences = [" ".join(draw.choices(words, k=draw.randint(8, 20))).capitalize() + "." for _ in range(4 * number)]
    return [" ".join(sentences[4 * n : 4 * n + draw.randint(2, 4)]) for n in range(number)]


@pytest.mark.parametrize("alignment", [0, 4], ids=["ragged", "justified"])
def test_lines_are_joined_to_paragraphs_over_pages(alignment):
    texts = paragraphs_of(30)
    style = ParagraphStyle("own", BODY, alignment=alignment)
    content = read_pdf(flowed(*(Paragraph(text, style) for text in texts)))
    assert content.lines == texts and content.notes == {}


def test_columns_are_read_one_after_the_other_below_a_title_over_both():
    texts = paragraphs_of(22, seed=2)
    file = io.BytesIO()
    document = BaseDocTemplate(file, pagesize=A4)
    frames = [Frame(60, 700, 475, 80, 0, 0, 0, 0), *(Frame(x, 60, 228, 620, 0, 0, 0, 0) for x in (60, 307))]
    document.addPageTemplates([PageTemplate("columns", frames)])
    title = "Pneumopathies interstitielles aiguës du sujet âgé"
    head = ParagraphStyle("head", BODY, fontSize=18, leading=80)
    document.build([Paragraph(title, head), *(Paragraph(text, BODY) for text in texts)])
    found = "".join(read_pdf(file.getvalue()).lines)
    assert found.replace(" ", "").startswith((title + texts[0] + texts[1]).replace(" ", ""))
    assert len(found.replace(" ", "")) == len("".join([title, *texts]).replace(" ", ""))


ROWS = [
    ["Analyse", "Résultat", "Unité"],
    ["Sodium", "139", "mmol/L"],
    ["Hémoglobine glyquée", "6,1", "%"],
    ["CRP", "125", "mg/L"],
]


@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize("side", ["LEFT", "RIGHT", "CENTER"])
def test_a_row_of_a_table_is_a_line(padding, side):
    style = [("TOPPADDING", (0, 0), (-1, -1), padding), ("BOTTOMPADDING", (0, 0), (-1, -1), padding)]
    table = Table(ROWS, colWidths=[140, 80, 80], style=[*style, ("ALIGN", (1, 0), (-1, -1), side)])
    before, after = paragraphs_of(2)
    lines = read_pdf(flowed(Paragraph(before, BODY), table, Paragraph(after, BODY))).lines
    assert lines == [before, *map(" | ".join, ROWS), after]


def test_the_lines_of_a_cell_are_joined():
    rows = [["Antécédents", SENTENCES[0]], ["Examen clinique", SENTENCES[1]], ["Au total", SENTENCES[2]]]
    cells = [[Paragraph(cell, BODY) for cell in row] for row in rows]
    assert read_pdf(flowed(Table(cells, colWidths=[100, 200]))).lines == list(map(" | ".join, rows))


def test_items_of_a_list_are_lines_with_their_marks():
    style = ParagraphStyle("item", BODY, leftIndent=20, bulletIndent=5)
    items = ["Bisoprolol 2,5 mg le matin", SENTENCES[0], "Furosémide 40 mg"]
    lines = read_pdf(flowed(*(Paragraph(item, style, bulletText="•") for item in items))).lines
    assert lines == [f"• {item}" for item in items]


@pytest.mark.parametrize("order", [1, -1], ids=["column first", "column last"])
def test_a_side_column_is_read_as_one(order):
    names = ["Pr Jean MARTIN", "Chef de service", "Dr Anne PETIT", "Praticien hospitalier", "Dr Luc MOREAU", "Interne"]
    body = ["Cher confrère,", "Je vous remercie de m'avoir adressé Madame T. pour avis.", "Elle va bien ce jour."]
    body += ["Le traitement est poursuivi sans changement à ce jour.", "Bien confraternellement."]
    parts = [written(*names, size=8, leading=10), written(*body, x=200, leading=16)]

    def draw(sheet, number):
        for part in parts[::order]:
            part(sheet, number)

    assert read_pdf(drawn(draw)).lines == [*names, *body]


def test_headers_and_footers_that_repeat_are_left_out_and_counted():
    def draw(sheet, number):
        written("CHU de Lyon", "Patient : DURAND - IPP 123", y=815, size=8)(sheet, number)
        written(f"Compte rendu numéro {'abc'[number - 1]}", SENTENCES[number], y=700)(sheet, number)
        written("Page {number}/3", x=280, y=25, size=8)(sheet, number)

    content = read_pdf(drawn(draw, pages=3))
    assert content.lines[::2] == [f"Compte rendu numéro {letter}" for letter in "abc"]
    assert content.lines[1::2] == list(SENTENCES[1:4])
    assert content.notes == {pdf.REPEATED: 9}
    (header, *_) = read_pdf(drawn(draw, pages=1)).lines
    assert header == "CHU de Lyon"


def test_a_note_at_the_foot_of_a_page_does_not_part_a_sentence():
    long = "Le patient est revu en consultation trois mois plus tard avec un scanner thoracique de"

    def draw(sheet, number):
        if number == 1:
            written(SENTENCES[0], long, y=200)(sheet, number)
            written("1. Selon les recommandations de la société savante.", y=60, size=7)(sheet, number)
        else:
            written("contrôle, qui est normal.")(sheet, number)

    lines = read_pdf(drawn(draw, pages=2)).lines
    assert lines[1] == f"{long} contrôle, qui est normal." and lines[2].startswith("1. Selon")


def test_hyphens_at_the_ends_of_lines():
    lines = [
        "Le patient a été revu en consultation de cardiologie avant son hospita-",
        "lisation ; il n'y avait pas de signe de gravité, et la douleur était peut-",
        "être liée à une cause digestive, sans argument pour un syndrome coro-",
        "narien.",
    ]
    (line,) = read_pdf(drawn(written(*lines))).lines
    assert "hospitalisation ;" in line and "peut-être liée" in line and line.endswith("coronarien.")


def test_digits_above_and_below_the_line():
    body = (
        "Leucocytes 7,2 10<super>9</super>/L, surface 1,8 m<super>2</super>, CO<sub>2</sub> normal, 1<super>er</super>"
    )
    assert read_pdf(flowed(Paragraph(body, BODY))).lines == ["Leucocytes 7,2 10⁹/L, surface 1,8 m², CO₂ normal, 1er"]


class PageOfPlaces(PageText):
    """A page whose characters stand where a list says, each 5 points wide."""

    def __init__(self, text, lefts):
        self.text, self.lefts, self.bounds, self.notes = text, lefts, (0, 0, *A4), Counter()
        self.turn, self.size = lambda number: 0, lambda number: 10.0

    def origins(self, numbers):
        return [(self.lefts[n], 700.0) for n in numbers]

    def boxes(self, numbers):
        return [[self.lefts[n], 708.0, self.lefts[n] + 5, 698.0] for n in numbers]


def test_a_sign_of_another_font_that_was_drawn_into_its_line_later():
    page = PageOfPlaces("58 10 /L⁹", [50, 55, 60, 65, 70, 75, 80, 85, 75])
    ((turn, words),) = page._lines()
    assert turn == 0 and [word.text for word in words] == ["58", "10⁹/L"]


def many_boxes(sheet, number):
    for row in range(200):
        for column in range(40):
            sheet.drawString(20 + 14 * column, 830 - 4 * row, str(row * column))


def many_words(sheet, number):
    for row in range(250):
        sheet.drawString(20, 830 - 3.2 * row, " ".join(f"mot{row * number % 997}" for number in range(40)))


@pytest.mark.parametrize(
    "draw", [many_boxes, many_words, lambda sheet, number: sheet.drawString(0, 400, "mot " * 20000)]
)
def test_full_pages_take_seconds(draw):
    def small(sheet, number):
        sheet.setFont("Helvetica", 3)
        draw(sheet, number)

    data, started = drawn(small), time.process_time()
    assert read_pdf(data).lines
    assert time.process_time() - started < 4


def test_two_copies_of_a_letter_have_no_headers():
    letter = ["CHU de Nantes", "Cher confrère,", "Madame T. va mieux.", "Bien à vous,"]

    def draw(sheet, number):
        written(*(letter if number < 3 else [letter[0], "Compte rendu de consultation"]))(sheet, number)
        written(f"Page {number} sur 3", y=40)(sheet, number)

    copies = read_pdf(drawn(draw, pages=2))
    assert copies.notes == {} and [copies.lines.count(line) for line in letter] == [2, 2, 2, 2]
    assert read_pdf(drawn(draw, pages=3)).lines == [*letter[1:], *letter[1:], "Compte rendu de consultation"]


def test_copies_and_forms_lose_no_line():
    body = ["CHU de Nantes", *SENTENCES, "CONCLUSION : stable.", "Traitement de sortie : repos.", "Dr Petit"]
    copies = [[body[0], f"Cher Docteur {name},", *body[1:]] for name in ("Martin", "Durand")]
    form = ["Motif : suivi", "Poids stable", "Traitement inchangé", "Pas de plainte", "Conclusion : stable"]
    visits = [[f"Consultation du {day} mars", *form, f"HbA1c {day},1 %"] for day in (3, 8, 11)]
    days = [[f"Jour {day} : TA 12/8, apyrétique", f"Vu par {name}"] for day, name in ((1, "Ada"), (2, "Bo"))]
    for pages in (copies, visits, days):
        content = read_pdf(drawn(lambda sheet, number: written(*pages[number - 1])(sheet, number), pages=len(pages)))  # noqa: B023
        assert content.notes == {} and "".join(content.lines) == "".join(line for page in pages for line in page)


def test_a_page_may_have_the_size_that_all_pages_share():
    data = drawn(written("CHU de Nantes", y=830))
    (box,) = re.findall(rb"/MediaBox \[[^]]*\]", data)
    shared = data.replace(box, b"").replace(b"/Type /Pages", b"/Type /Pages " + box)
    assert shared.count(box) == 1 and read_pdf(shared).lines == ["CHU de Nantes"]


def test_text_drawn_twice_or_outside_or_invisible_or_slanted():
    def draw(sheet, number):
        written("Un titre en gras")(sheet, number)
        written("Un titre en gras", x=60.3)(sheet, number)
        written("hors de la page", y=-30)(sheet, number)
        sheet.drawString(60, 500, "Le texte.")
        sheet.saveState()
        sheet.rotate(45)
        sheet.drawString(400, 100, "COPIE")
        sheet.restoreState()
        text = sheet.beginText(60, 300)
        text.setTextRenderMode(3)
        text.textOut("caché")
        sheet.drawText(text)

    content = read_pdf(drawn(draw))
    assert content.lines == ["Un titre en gras", "Le texte."]
    outside, invisible, slanted = (
        "words outside of the page left out",
        "pieces of invisible text left out",
        "pieces of slanted text (watermarks) left out",
    )
    assert content.notes == {outside: 4, invisible: 1, slanted: 1}


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_turned_pages_and_text(turn):
    lines = ["Madame T. va mieux.", "Son traitement est poursuivi.", "Au total"]

    def draw(sheet, number):
        sheet.translate(300, 300)
        sheet.rotate(turn)
        written(*lines, y=0)(sheet, number)
        sheet.setPageRotation(turn)

    assert read_pdf(drawn(draw)).lines == lines


def picture():
    image = pytest.importorskip("PIL.Image").new("L", (60, 80), 200)
    return ImageReader(image)


def test_scanned_pages_are_counted_and_drawn_when_asked():
    def draw(sheet, number):
        if number == 2:
            sheet.drawImage(picture(), 0, 0, *A4)
            written("Fax 12:00", y=830, size=6)(sheet, number)
        else:
            written(f"La page {'abc'[number - 1]} a du texte.")(sheet, number)

    data = drawn(draw, pages=3)
    content = read_pdf(data)
    assert content.lines == ["La page a a du texte.", "Fax 12:00", "La page c a du texte."]
    assert content.unread == [("page 2", *pdf.SCAN)] and content.scans == []
    content = read_pdf(data, with_scans=True)
    assert content.lines == ["La page a a du texte.", "La page c a du texte."]
    (scan,) = content.scans
    assert (scan.place, scan.page, content.unread) == (1, 1, [])
    assert pdf.picture_of(scan).startswith(b"\x89PNG")


@pytest.fixture
def with_a_scan(tmp_path):
    def draw(sheet, number):
        if number == 2:
            sheet.drawImage(picture(), 0, 0, *A4)
        else:
            written(f"La page {'abc'[number - 1]} a du texte.")(sheet, number)

    (tmp_path / "a.pdf").write_bytes(drawn(draw, pages=3))
    return tmp_path / "a.pdf"


def test_a_scanned_page_is_named(with_a_scan):
    with pytest.raises(InputError, match=r"a.pdf, page 2: a page without text \(scanned\); .*--ocr"):
        read(with_a_scan)
    got = read(with_a_scan, on_error="skip")
    assert got.lines == [["La page a a du texte.", "La page c a du texte."]] and [one.place for one in got.skipped] == [
        "page 2"
    ]


OCR = "import sys; sys.stdin.buffer.read(8) == b'\\x89PNG\\r\\n\\x1a\\n' and print('Texte\\n\\nreconnu.')"


def test_the_users_command_reads_a_scanned_page(with_a_scan):
    got = read(with_a_scan, ocr=shlex.join([sys.executable, "-c", OCR]))
    assert got.lines == [["La page a a du texte.", "Texte", "reconnu.", "La page c a du texte."]]


@pytest.mark.parametrize(
    "command, words",
    [
        ("absent-program", "--ocr 'absent-program': .*give a command that reads a PNG"),
        (
            shlex.join([sys.executable, "-c", "import sys; sys.exit('no French')"]),
            "a page that --ocr cannot read .no French",
        ),
        ("sh -c 'sleep 31.7; true'", "a page that --ocr does not finish in time"),
        ("yes bonjour", "a page that --ocr cannot read"),
        (shlex.join([sys.executable, "-c", "print(chr(233))"]), "a page of which --ocr writes no UTF-8"),
    ],
)
def test_a_command_that_does_not_read_is_named(with_a_scan, monkeypatch, command, words):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    with pytest.raises(InputError, match=words):
        read(with_a_scan, ocr=command, time_limit=2)
    assert "sleep 31.7" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


def test_the_users_command_knows_no_password(with_a_scan, monkeypatch):
    monkeypatch.setenv("ALIBERT_DATABASE_PASSWORD", "Hunter2")
    assert "Hunter2" not in str(read(with_a_scan, ocr="env").lines)


def test_what_a_program_read_on_a_scan_is_text():
    lines = ["Compte rendu de consultation", "Madame T. va mieux.", "Son traitement est poursuivi."]

    def draw(sheet, number):
        sheet.drawImage(picture(), 0, 0, *A4)
        text = sheet.beginText(60, 700)
        text.setTextRenderMode(3)
        text.textLines(lines)
        sheet.drawText(text)

    content = read_pdf(drawn(draw))
    assert content.lines == lines and content.notes == {}


def test_a_scan_without_text_is_refused_unless_it_is_drawn():
    data = drawn(lambda sheet, number: sheet.drawImage(picture(), 0, 0, *A4), pages=2)
    with pytest.raises(Fault, match=r"a PDF without text \(scanned\)") as caught:
        read_pdf(data)
    assert "--ocr" in caught.value.remedy
    assert [(scan.place, scan.page) for scan in read_pdf(data, with_scans=True).scans] == [(0, 0), (0, 1)]


def test_values_of_form_fields_are_text():
    def draw(sheet, number):
        written("Motif :", y=700)(sheet, number)
        sheet.acroForm.textfield(name="motif", value="douleur thoracique", x=110, y=692, width=200, height=20)

    assert read_pdf(drawn(draw)).lines == ["Motif : douleur thoracique"]


def test_files_that_cannot_be_read():
    whole = drawn(written(*SENTENCES))
    with pytest.raises(Fault, match="^a PDF with a password$"):
        read_pdf(drawn(written("secret"), encrypt="motdepasse"))
    for broken in (b"", b"%PDF-1.4\n", b"PK\x03\x04" + bytes(100), whole[:200]):
        with pytest.raises(Fault, match="^a damaged PDF$"):
            read_pdf(broken)
    with pytest.raises(Fault, match="^a PDF without text"):
        read_pdf(drawn(lambda sheet, number: None))


def test_a_file_whose_pages_cannot_be_opened_is_damaged(monkeypatch):
    import pypdfium2

    def fail(self, index):
        raise pypdfium2.PdfiumError("Failed to load page.")

    monkeypatch.setattr(pypdfium2.PdfDocument, "get_page", fail)
    with pytest.raises(Fault, match="^a damaged PDF$"):
        read_pdf(drawn(written(*SENTENCES)))


def test_runs_of_one_line_have_their_own_sizes():
    import pypdfium2

    def draw(sheet, number):
        written("nom", size=7)(sheet, number)
        written("ligne de la lettre", x=200, size=10)(sheet, number)

    with pypdfium2.PdfDocument(drawn(draw)) as document:
        text = document[0].get_textpage()
        (runs,) = PageText(text.raw, (0, 0, *A4), Counter()).runs(lambda: False)
    assert [(run.text, round(run.height)) for run in runs] == [("nom", 7), ("ligne de la lettre", 10)]


def test_damaged_files_give_text_or_a_fault():
    """300 files with bytes changed or cut off: nothing else is raised."""
    whole, draw = bytearray(drawn(written(*SENTENCES), pages=2)), random.Random(3)
    faults = 0
    for _ in range(300):
        broken = whole[: draw.randint(1, len(whole))] if draw.random() < 0.3 else bytearray(whole)
        for _ in range(draw.randint(1, 20)):
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        try:
            read_pdf(bytes(broken))
        except Fault:
            faults += 1
    assert 0 < faults < 300


def test_without_the_library_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pypdfium2", None)
    with pytest.raises(CommandError, match=r"pip install 'alibert_fairseq\[pdf\]'"):
        read_pdf(b"%PDF-1.4")
