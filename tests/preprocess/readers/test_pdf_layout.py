"""The reading order of boxes, their paragraphs, and words divided at the ends of lines; no PDF is needed."""

import pytest

from preprocess.readers.pdf.boxes import Line, OpenRun, Run, Word, drawn_once
from preprocess.readers.pdf.french_compounds import COMPOUNDS
from preprocess.readers.pdf.hyphenation import LineJoiner
from preprocess.readers.pdf.layout import columns_of
from preprocess.readers.pdf.paragraphs import paragraphs
from preprocess.readers.pdf.repeats import without_repeats

LONG = "le patient est revu en consultation de"


def runs_at(*places, size=10.0, letter=5.0):
    """Runs of (text, left, baseline), in the order in which they are drawn."""
    return [
        Run(text, left, base - 0.8 * size, left + letter * len(text), base + 0.2 * size, order)
        for order, (text, left, base) in enumerate(places)
    ]


def texts(columns):
    return [[line.text for line in column] for column in columns]


def read_as(*places, **settings):
    """The lines of these runs in reading order."""
    return [line.text for column in columns_of(runs_at(*places, **settings)) for line in column]


def down(*texts, left=50, base=100, leading=12):
    """Places of lines one below the other."""
    return [(text, left, base + leading * n) for n, text in enumerate(texts)]


def words_of(places):
    return [text for text, *_ in places]


def lines_at(*texts, left=50.0, top=100.0, leading=12.0, letter=5.0):
    return [
        Line(text, left, top + n * leading, left + letter * len(text), top + n * leading + 10)
        for n, text in enumerate(texts)
    ]


def test_two_columns_of_prose_are_read_one_after_the_other_in_whatever_order_they_were_drawn():
    left = [(f"{LONG} gauche {n}", 50, 100 + 12 * n) for n in range(8)]
    right = [(f"{LONG} droite {n}", 320, 100 + 12 * n) for n in range(8)]
    by_column = runs_at(*left, *right)
    by_line = runs_at(*(place for pair in zip(left, right, strict=True) for place in pair))
    for runs in (by_column, by_line):
        assert texts(columns_of(runs)) == [[text for text, *_ in side] for side in (left, right)]


def test_columns_whose_lines_are_at_other_heights():
    left = [(f"note {n}", 50, 100 + 9 * n) for n in range(10)]
    right = [(f"{LONG} texte {n}", 150, 104 + 14 * n) for n in range(7)]
    assert texts(columns_of(runs_at(*right, *left))) == [[text for text, *_ in side] for side in (left, right)]


def test_names_beside_numbers_are_a_table_even_if_it_was_drawn_by_columns():
    names = [(name, 50, 100 + 14 * n) for n, name in enumerate(["Sodium", "Potassium", "CRP", "Urée"])]
    values = [(value, 200, 100 + 14 * n) for n, value in enumerate(["139", "4,2", "< 5", "7"])]
    ((*rows,),) = texts(columns_of(runs_at(*names, *values)))
    assert rows == ["Sodium | 139", "Potassium | 4,2", "CRP | < 5", "Urée | 7"]


def test_the_lines_of_a_cell_belong_to_its_row():
    places = []
    for n in range(3):
        top = 100 + 50 * n
        places += [(f"Nom {n}", 50, top), ("une première", 150, top), ("et une autre ligne", 150, top + 12)]
    (rows,) = columns_of(runs_at(*places))
    assert [row.text for row in rows] == [f"Nom {n} | une première\net une autre ligne" for n in range(3)]
    assert all(row.is_row for row in rows)


def test_a_cell_in_the_middle_of_its_row():
    places = []
    for n in range(3):
        top = 100 + 60 * n
        places += [(f"Nom {n}", 50, top + 6), ("une première", 150, top), ("et une autre ligne", 150, top + 12)]
    (rows,) = columns_of(runs_at(*places))
    assert [row.text for row in rows] == [f"Nom {n} | une première\net une autre ligne" for n in range(3)]


def test_wide_gaps_in_one_line_are_no_columns():
    places = [(LONG, 50, 100), ("Fait à Lyon", 50, 112), ("le 3 mars", 300, 112), (LONG, 50, 124)]
    assert texts(columns_of(runs_at(*places))) == [[LONG, "Fait à Lyon le 3 mars", LONG]]


def test_no_run_is_lost_or_doubled_whatever_the_page():
    import random

    draw = random.Random(5)
    for _ in range(200):
        places = [
            (f"mot{n}" * draw.randint(1, 8), draw.uniform(0, 500), draw.choice([draw.uniform(0, 800), 12.0 * n]))
            for n in range(draw.randint(1, 60))
        ]
        found = "".join(line.text for column in columns_of(runs_at(*places)) for line in column)
        assert sorted(found.replace(" ", "").replace("|", "").replace("\n", "")) == sorted(
            "".join(text for text, *_ in places)
        )


def test_digits_of_another_height_become_indices():
    run = OpenRun(Word("10", 50, 92, 60, 102, 0))
    for word in (Word("9", 60, 89, 64, 95, 1, False), Word("/L", 64, 92, 70, 102, 2, False)):
        assert run.takes(word, 5)
        run.add(word)
    assert run.closed().text == "10⁹/L"


def test_runs_drawn_twice_are_kept_once():
    once, again, below = runs_at(("gras", 50, 100), ("gras", 50.4, 100.2), ("gras", 50, 112))
    assert drawn_once([once, again, below]) == [once, below]


def joined(*pages):
    joiner = LineJoiner([])
    return [paragraph.text(joiner) for paragraph in paragraphs(pages)]


def test_a_line_is_joined_where_the_next_word_did_not_fit():
    full = f"{LONG} cardiologie avec un bilan"
    lines = lines_at("Conclusion", full, f"{full[:-6]} autre", "court.", full, "fin")
    assert joined([lines]) == ["Conclusion", f"{full} {full[:-6]} autre court.", f"{full} fin"]


@pytest.mark.parametrize(
    "first, second, whole",
    [
        (f"{LONG} cardiologie avec", "un scanner normal.", True),
        (f"{LONG} cardiologie.", "un scanner normal.", False),
        (f"{LONG} cardiologie avec", "Conclusion", False),
        (f"{LONG} cardiologie avec", "- un scanner normal.", False),
        (f"{LONG} cardiologie avec", "2. un scanner normal.", False),
        (f"{LONG} cardiologie (CRP à", "125 mg/L).", True),
    ],
)
def test_a_paragraph_goes_on_in_the_next_column_and_on_the_next_page(first, second, whole):
    above, below = lines_at(f"{LONG} pneumologie et", first), lines_at(second)
    for pages in ([[above], [below]], [[above, below]]):
        assert joined(*pages)[-1] == (f"{LONG} pneumologie et {first} {second}" if whole else second)


def test_repeated_lines_only_at_the_ends_of_pages():
    def page(number):
        lines = lines_at(
            f"Dossier, page {number}", *(f"ligne {letter * number}" for letter in "abcdefghijklm"), "même ligne"
        )
        return [[*lines, *lines_at(*(f"{letter * number} bas" for letter in "nopqrstuvwxyz"), top=500)]]

    pages, count = without_repeats([page(number) for number in (1, 2, 3)])
    assert count == 3 and all("Dossier" not in line.text for (column,) in pages for line in column)
    assert sum(line.text == "même ligne" for (column,) in pages for line in column) == 3
    assert without_repeats([page(1)])[1] == 0


def test_a_quotient_is_the_number_of_a_page_up_to_the_number_of_pages():
    def page(number, text):
        return [[*lines_at(text, *(f"{letter * number} ligne" for letter in "abcdef"))]]

    for text, count in (("Feuille {} / 9", 2), ("TA 1{} / 9", 0)):
        assert without_repeats([page(number, text.format(number)) for number in (1, 2)])[1] == count


@pytest.mark.parametrize("places", [[100, 112, 124, 136], [100, 300]], ids=["behind other lines", "far from the end"])
def test_lines_that_repeat_inside_pages_stay(places):
    def page(number):
        *others, same = places
        lines = [line for n, top in enumerate(others) for line in lines_at(f"{'abc'[n] * number} ligne", top=top)]
        return [[*lines, *lines_at("Conclusion", top=same), *lines_at(*("defghijklmnop"[number] * 9), top=same + 12)]]

    assert without_repeats([page(number) for number in (1, 2)])[1] == 0


def test_left_and_right_pages_may_have_headers_of_their_own():
    def page(number):
        lines = lines_at("Rapport" if number % 2 else "Service", *(f"{'abcdefgh'[number] * n} fin" for n in (5, 6)))
        return [lines]

    assert without_repeats([page(number) for number in range(6)])[1] == 6
    assert without_repeats([page(number) for number in range(4)])[1] == 0


def test_a_signature_at_the_right_is_not_joined():
    full = f"{LONG} cardiologie avec un bilan"
    body = lines_at(full, f"{full[:-6]} autre", f"{full[:-6]} même", "court.")
    signature = lines_at("Docteur Luc MOREAU", "Praticien hospitalier", left=190, top=160)
    assert joined([[*body, *signature]])[1:] == ["Docteur Luc MOREAU", "Praticien hospitalier"]


def test_a_date_above_short_lines_is_read_before_them():
    lines = [(f"{LONG} ville {n}", 50, 112 + 12 * n) for n in range(6)]
    lines.append((f"{LONG} cardiologie et de pneumologie avec un scanner thoracique et un bilan", 50, 196))
    assert texts(columns_of(runs_at(("Lyon, le 3 mars", 400, 100), *lines)))[0][0] == "Lyon, le 3 mars"


def test_the_end_of_a_longer_column_stays_in_it():
    left = [(f"{LONG} gauche {n}", 50, 100 + 12 * n + 30 * (n > 7)) for n in range(10)]
    right = [(f"{LONG} droite {n}", 320, 100 + 12 * n) for n in range(8)]
    assert texts(columns_of(runs_at(*left, *right))) == [[text for text, *_ in side] for side in (left, right)]


def test_smaller_names_beside_a_letter_are_one_column():
    names = [(f"nom {n}", 50, 100 + 10 * n + 20 * (n > 3)) for n in range(8)]
    letter = [(f"texte {n}", 200, 100 + 13 * n + 17 * (n > 2)) for n in range(8)]
    runs = sorted(runs_at(*names, size=8) + runs_at(*letter, size=12), key=lambda run: run.bottom)
    runs = [run._replace(order=n) for n, run in enumerate(runs)]
    assert texts(columns_of(runs)) == [[text for text, *_ in side] for side in (names, letter)]


LEFT = down(*(f"{LONG} gauche {n}" for n in range(5)), base=172)
RIGHT = down(*(f"{LONG} droite {n}" for n in range(6)), left=320, base=172)


def test_what_was_drawn_above_two_columns_is_read_before_them():
    address, subject = down("Docteur Luc MOREAU", "12, rue de la Forêt", "Lyon", left=440), [("Objet : avis", 50, 148)]
    everything = [*address, *subject, *LEFT, *RIGHT]
    assert read_as(*everything) == words_of(everything)


def test_what_was_drawn_behind_two_columns_is_read_after_them():
    everything = [*LEFT, *RIGHT, ("Bien confraternellement,", 50, 240), ("Docteur MOREAU", 440, 256)]
    assert read_as(*everything) == words_of(everything)


NAMES = down(*(f"Docteur {letter}" for letter in "ABCDEFGH"), base=140)
LETTER = [*down("Cher confrère,", LONG, left=200, base=112, leading=16), *down(*[LONG] * 6, left=200, base=146)]


@pytest.mark.parametrize("names_first", [True, False])
def test_a_letter_may_begin_above_its_side_column(names_first):
    title = [("Page 1 de 2, service de cardiologie", 200, 60), ("CHU de Lyon", 330, 80)]
    parts = [NAMES, title, LETTER] if names_first else [title, LETTER, NAMES]
    assert read_as(*(place for part in parts for place in part)) == words_of([*title, *NAMES, *LETTER])


@pytest.mark.parametrize("names_first", [True, False])
def test_a_side_column_may_end_below_its_letter(names_first):
    names, letter = down(*NAME_TEXTS), down(*[LONG] * 5, left=200)
    assert read_as(*(names + letter if names_first else letter + names)) == words_of([*names, *letter])


NAME_TEXTS = [f"Docteur {letter}" for letter in "ABCDEFGHIJ"]


def test_a_table_beside_a_side_column():
    table = [
        (f"{text} {n}", left, 114 + 14 * n) for n in range(6) for text, left in (("a", 200), ("b", 260), ("c", 320))
    ]
    assert read_as(*table, *down(*NAME_TEXTS)) == NAME_TEXTS + [f"a {n} | b {n} | c {n}" for n in range(6)]


def test_a_title_beside_the_first_of_smaller_names_is_read_before_them():
    names = runs_at(*down(*NAME_TEXTS), size=8)
    title, letter = (
        runs_at(("CHU de Lyon", 280, 102), size=12),
        runs_at(*down(*[LONG] * 6, left=200, base=120), size=10),
    )
    runs = [run._replace(order=n) for n, run in enumerate([*names, *title, *letter])]
    found = [line.text for column in columns_of(runs) for line in column]
    assert found == ["CHU de Lyon", *NAME_TEXTS, *[LONG] * 6]


def test_a_heading_between_two_tables_is_a_line():
    def table(base):
        return runs_at(*((f"{text} {n}", left, base + 13 * n) for n in range(3) for text, left in cells))

    cells = (("a", 50), ("b", 150))
    parts = [*table(100), *runs_at(("Biologie", 50, 160), size=13), *table(173)]
    runs = [run._replace(order=n) for n, run in enumerate(parts)]
    rows = [f"a {n} | b {n}" for n in range(3)]
    assert [line.text for column in columns_of(runs) for line in column] == [*rows, "Biologie", *rows]


def test_wide_gaps_in_two_lines_of_a_justified_column_are_no_table():
    whole = "le patient est revu en consultation de suivi"
    places = [(whole, 50, 100), ("présent.", 50, 112), ("(adresse@hopital.example)", 97, 112), ("Ancien", 50, 124)]
    places += [("ouvrier d'une verrerie, exposé à l'amiante", 97, 124), (whole, 50, 136)]
    assert read_as(*places)[1:3] == ["présent. (adresse@hopital.example)", f"Ancien {places[4][0]}"]


def test_lines_that_end_at_one_place_but_begin_at_others_are_no_paragraph():
    address = ["Docteur Luc MOREAU", "Résidence « Les Chênes », bâtiment numéro 6", "Lyon"]
    places = [(text, 500 - 5 * len(text), 100 + 12 * n) for n, text in enumerate(address)]
    lines = [line for text, left, top in places for line in lines_at(text, left=left, top=top)]
    assert joined([lines]) == [line.text for line in lines]


def test_columns_without_lines_at_one_height_that_were_drawn_from_above_to_below():
    names, letter = down(*NAME_TEXTS, base=106), down(*[f"{LONG} {n}" for n in range(11)], left=200)
    drawn = sorted([*names, *letter], key=lambda place: place[2])
    assert read_as(*drawn) == words_of([*names, *letter])


@pytest.mark.parametrize("rule", COMPOUNDS, ids=lambda rule: rule.example)
def test_compounds_keep_their_hyphen_and_similar_words_lose_it(rule):
    places = [place for place, sign in enumerate(rule.example) if sign == "-"]
    for place in places:
        parts = rule.example[: place + 1], rule.example[place + 1 :]
        assert LineJoiner([]).join(parts) == rule.example
    before, after = rule.example.rsplit("'")[-1].rsplit("-", 1) if len(places) == 1 else ("", "")
    assert len(places) > 1 or rule.before.fullmatch(before) and rule.after.fullmatch(after)
    assert LineJoiner([]).join([rule.unlike.replace("-", "-\n").split("\n")[0], rule.unlike.split("-")[1]]) == (
        rule.unlike.replace("-", "")
    )


@pytest.mark.parametrize(
    "lines, whole",
    [
        (["hospita-", "lisation"], "hospitalisation"),
        (["hospi\u00ad", "talier"], "hospitalier"),
        (["peut\u00ad", "être"], "peutêtre"),
        (["de 12-", "14 jours"], "de 12-14 jours"),
        (["à l'IRM-", "TEP"], "à l'IRM-TEP"),
        (["Saint-", "Étienne"], "Saint-Étienne"),
        (["anti-", "TNF"], "anti-TNF"),
        (["CO-", "vid"], "CO-vid"),
        (["en base -", "3 mmol/L"], "en base - 3 mmol/L"),
        (["de base", "-3 mmol/L"], "de base -3 mmol/L"),
        (["y a-t-", "il"], "y a-t-il"),
        (["y a-", "t-il"], "y a-t-il"),
        (["l'hospita-", "lisation,"], "l'hospitalisation,"),
        (["la e-", "santé"], "la e-santé"),
        (["fraction d'é-", "jection"], "fraction d'éjection"),
        (["un  mot", "", " deux "], "un  mot deux"),
        (["oto-rhino-", "laryngologie"], "oto-rhino-laryngologie"),
    ],
)
def test_lines_are_joined_by_the_rules_of_french(lines, whole):
    assert LineJoiner([]).join(lines) == whole


def test_what_the_document_writes_elsewhere_decides():
    divided = ["La radio-", "thérapie et l'anti-", "inflammatoire, puis le cardio-", "myopathe"]
    assert LineJoiner(divided).join(divided) == "La radiothérapie et l'anti-inflammatoire, puis le cardiomyopathe"
    words = ["Radio-thérapie", "Cet antiinflammatoire", "le cardio-myopathe"]
    known = LineJoiner([*divided, *words])
    assert known.join(divided) == "La radio-thérapie et l'antiinflammatoire, puis le cardio-myopathe"
