"""Every rule does what its example says, leaves its look-alike alone, and is counted; cleaning is done once."""

import json
from itertools import islice

import pytest
from corpus_helpers import one_sentence, run, write_shards
from hypothesis import given, settings
from hypothesis import strategies as st

from alibert_common.executors.base import Engine
from preprocess.clean import EMPTY, Cleaner, Cleaning, clean
from preprocess.cleaning.document_rules import (
    FOREIGN_LINES,
    PAGE_NUMBER,
    REFERENCE_SECTION,
    _without_page_number,
    repeated_lines,
)
from preprocess.cleaning.optional_rules import OPTIONAL, short_lines
from preprocess.cleaning.rules import CHARACTER_RULES, LINE_RULES, Rule
from preprocess.documents.document import Document, document_files, read_documents
from preprocess.documents.samples import Samples
from preprocess.documents.stage_report import total

AFTER = {
    "HTML entities decoded": "<\u00a05 mg/L, prélèvement d'urine",
    "lines of UTF-8 read as Latin-1 repaired": "Évolution d'un œdème, âge : 54 ans, 38 °C, α-bloquant",
    "page and column breaks turned into spaces": "fin de page début de page",
    "control characters removed": "paracétamol",
    "Windows-1252 signs read as Latin-1 restored": "l’œdème",
    "soft hyphens removed": "hospitalisation",
    "rows of dots and dashes shortened to three": "Paracétamol ... 500 mg",
    "feet of web pages cut off": "Conserver au frais. ",
}
ALL = Cleaning(also=tuple(OPTIONAL), min_words=0)
BIOALBERT = short_lines(20)
OF_LINES = [(Cleaning(min_words=0, french_only=False), rule) for rule in (*CHARACTER_RULES, *LINE_RULES)]
OF_LINES += [
    (Cleaning(also=(name,), min_words=0, french_only=False), rule) for name, rules in OPTIONAL.items() for rule in rules
]
OF_LINES += [(Cleaning(min_line_characters=20, min_words=0, french_only=False), BIOALBERT)]
OF_DOCUMENTS = [
    (Cleaning(min_words=0), FOREIGN_LINES),
    (Cleaning(min_words=0), repeated_lines(3)),
    (Cleaning(min_words=0, also=("articles",)), REFERENCE_SECTION),
]


def struck(cleaner):
    return {rule: count for rule, count in cleaner.counts.items() if count}


def cleaned(text, options):
    cleaner = Cleaner(options)
    document = cleaner.clean(Document("d", "s", text.split("\n")))
    return document and document.text, struck(cleaner)


@pytest.mark.parametrize("options, rule", OF_LINES, ids=lambda value: getattr(value, "name", ""))
def test_a_rule_does_what_its_example_says(options, rule):
    text, counts = cleaned(rule.example, options)
    assert text == AFTER.get(rule.name)
    assert counts.pop(rule.name) > 0 and counts == ({} if text else {EMPTY: 1})


@pytest.mark.parametrize("options, rule", OF_LINES, ids=lambda value: getattr(value, "name", ""))
def test_a_rule_leaves_its_look_alike_alone(options, rule):
    assert cleaned(rule.unchanged, options) == (rule.unchanged, {})


@pytest.mark.parametrize("options, rule", OF_DOCUMENTS, ids=lambda value: getattr(value, "name", ""))
def test_a_rule_of_documents_does_what_its_example_says(options, rule):
    if rule.name.startswith("lines seen"):
        lines = rule.example.split("\n")
        assert len(lines) == 8 and lines[6].endswith("page 4/4")
        assert cleaned(rule.example, options) == ("\n".join(lines[:6] + lines[7:]), {rule.name: 1})
        capitals = [line.replace("Hôpital Exemple, Mme T., page", "HÔPITAL EXEMPLE, MME T., PAGE") for line in lines]
        assert cleaned("\n".join(capitals), options) == ("\n".join(capitals[:6] + capitals[7:]), {rule.name: 1})
    else:
        assert cleaned(rule.example, options) == (None, {rule.name: len(rule.example.split("\n")), EMPTY: 1})


@pytest.mark.parametrize("options, rule", OF_DOCUMENTS, ids=lambda value: getattr(value, "name", ""))
def test_a_rule_of_documents_leaves_its_look_alike_alone(options, rule):
    assert cleaned(rule.unchanged, options) == (rule.unchanged, {})


def test_a_section_of_references_is_told_by_what_stands_below():
    """The last heading counts, half of what is below must be citations, and a heading alone is none."""
    citation, prose = "Rev Exemple. 2010;87(3):293-301.", "Le service a publié une série de 45 cas."
    find = REFERENCE_SECTION.finds
    assert find([prose, "3. Références :", prose, "Bibliographie", citation, prose]) == {3, 4, 5}
    assert find(["Références", citation, prose, prose]) == find([prose, "Références"]) == find([citation]) == set()


@pytest.mark.parametrize(
    "text", ["ÉVOLUTION", "À J1, le patient va bien", "cœur sain", "fièvre à 38 °C", "l’ictère", "α-bloquant ≥ 5 µg/L"]
)
@pytest.mark.parametrize("encoding", ["latin-1", "sloppy-windows-1252"])  # sloppy: ftfy's, where all bytes are defined
@pytest.mark.parametrize("times", [1, 2])
def test_utf8_read_as_latin1_or_windows1252_is_repaired(text, encoding, times):
    assert cleaned(text, ALL) == (text, {})
    broken = text
    for _ in range(times):
        broken = broken.encode().decode(encoding)
    assert cleaned(broken, ALL) == (text, {"lines of UTF-8 read as Latin-1 repaired": 1})


def test_what_cannot_be_repaired_is_dropped_and_counted():
    counts = {"lines of UTF-8 read as Latin-1": 1, EMPTY: 1}
    assert cleaned("L’œdème du cÅ“ur", ALL) == (None, counts)
    assert cleaned("Ã\ufffdvolution", ALL) == (None, {"lines with lost characters": 1, EMPTY: 1})


def test_an_entity_never_makes_a_line():
    assert cleaned("Le patient&#10;tousse&#13;&NewLine;", ALL)[0] == "Le patient tousse &NewLine;"
    assert cleaned("&amp;amp;eacute;", ALL)[0] == "é"


LETTER = """CHU Exemple, service de cardiologie, page 1/2
Objet : demande d'avis
Cher confrère,
Antécédents :
- HTA, FA, diabète
- BPCO
Traitement :
KARDEGIC 75 mg : 1-0-0
LASILIX 40 mg 1 cp x 2/j
Biologie du 12/03/2021 :
Hb 12,3 g/dL
Na 140 K 4,2 Cl 101
TP 85 % INR 1,1
CRP < 5
TA : 120/80
Poids : 72 kg\tTaille : 175 cm\tIMC 23,5
ECG : RSR, FC 80/min, PR 180 ms, QRS 90 ms, pas de trouble de la repolarisation
Conclusion :
RAS
Dr M. Exemple, martin@exemple.fr, Tél. 01 23 45 67 89
CHU Exemple, service de cardiologie, page 2/2
De : service des urgences, à : cardiologie"""


@pytest.mark.parametrize("also", [(), ("web", "articles")])
def test_a_hospital_letter_keeps_every_line(also):
    assert cleaned(LETTER, Cleaning(also=also)) == (LETTER, {})


FRAGMENTS = [
    "Le patient tousse.", "Antécédents", "Hb 12,3 g/dL", "- 3 -", "Page 3/12", "www.exemple.fr", "Références", "",
    "Ã‰volution", "Ã\x83Â©", "L’œdème du cÅ“ur", "prÃ©cis à l’hôpital", "&amp;eacute;", "&am&shy;p;lt;",
    "&#10;", "&#x85;&#xD800;", "a\u00adb", "....................", ". . . . . .", "Retour en haut de la page", "\ufffd",
    "\x0c", "\x92", "Accueil | Contact", "x" * 101, "¬", "LDH 300 > 280 > 250", FOREIGN_LINES.example,
    "Le patient est hospitalisé pour une douleur thoracique avec une élévation de la troponine et des anomalies.",
    "The patient was admitted with chest pain and an elevated troponin level on the day of admission to hospital.",
    "Service de cardiologie, page 4 sur 7", "Rev Exemple. 2010;87(3):293-301.", "12 | 13 | 14", "p r en n ent ég u d e",
]  # fmt: skip
DOCUMENTS = st.lists(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=8))
    .map(" ".join)
    .filter(str.strip)
    | st.sampled_from([fragment for fragment in FRAGMENTS if fragment]),
    min_size=1,
    max_size=12,
)


@settings(max_examples=300)
@given(lines=DOCUMENTS, options=st.sampled_from([Cleaning(), ALL, Cleaning(min_line_characters=20, max_repeats=1)]))
def test_cleaning_twice_is_cleaning_once_and_no_document_is_empty(lines, options):
    once = Cleaner(options).clean(Document("d", "s", lines))
    if once is not None:
        assert once.lines and all(line.strip() and "\n" not in line for line in once.lines)
        again = Cleaner(options)
        assert again.clean(once) == once and struck(again) == {}


EVERY_RULE = [*CHARACTER_RULES, *LINE_RULES, *(rule for rules in OPTIONAL.values() for rule in rules), BIOALBERT]
PIECES = [
    *FRAGMENTS, *(text for rule in EVERY_RULE for text in (rule.example, rule.unchanged)), " b e é", "é x i ", "-- --",
    " Plan du site | x", "x" * 60, "://", "www.", "Â", "Ã", "œ", "â€", "\x85", "\u00a0", "\u2028", "PAGE 3", "ſ", "ı",
]  # fmt: skip
HOSTILE = st.lists(
    st.lists(st.sampled_from(PIECES), max_size=6).flatmap(
        lambda parts: st.sampled_from(["", " "]).map(lambda s: s.join(parts))
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=500)
@given(lines=HOSTILE | DOCUMENTS)
def test_a_rule_finds_in_a_text_what_it_finds_in_its_lines(lines):
    for rule in EVERY_RULE:
        found = [number for number, line in enumerate(lines) if rule.pattern.search(line)]
        assert rule.finds(lines, "\n".join(lines)) == found, rule.name


def test_the_quick_test_of_a_rule_passes_every_character_that_the_rule_finds():
    characters = [chr(code) for code in range(1, 0x2300)]
    texts = [*characters, *(first + second for first in "ÂÃÄÅÎÏâ" for second in characters)]
    for rule in CHARACTER_RULES:
        assert all(map(rule.possible or bool, filter(rule.pattern.search, texts))), rule.name


def test_a_line_is_found_where_a_match_that_begins_above_covers_it():
    lines = ["Retour en haut de la page", "Plan du site Retour en haut de la page", "fin"]
    feet = next(rule for rule in CHARACTER_RULES if rule.name.startswith("feet"))
    assert feet.finds(lines, "\n".join(lines)) == [0, 1]


@pytest.mark.parametrize("line", ["l’œdÃ¨me", "cÅ“ur", "38 Â°C", "lâ€™ictère"])
def test_each_form_of_utf8_read_as_latin1_is_found_alone(line):
    rule = next(rule for rule in LINE_RULES if rule.name == "lines of UTF-8 read as Latin-1")
    assert rule.finds(["fièvre", line], f"fièvre\n{line}") == [1]


def line_by_line(rule, lines, text):
    return [number for number, line in enumerate(lines) if rule.pattern.search(line)]


def test_real_text_is_cleaned_as_it_would_be_line_by_line(shared_data, monkeypatch):
    """The first documents of leaflets, cases and novels: kept lines, counts and examples."""
    paths = [shared_data / "fr_raw" / name for name in ("bdpm_notices.txt", "pamj_cas_cliniques.txt")]
    paths.append(shared_data / "fr_general" / "eltec_fra_romans.txt")
    documents = [document for path in paths for document in islice(read_documents([path]), 100)]
    for document in documents:
        document.lines = document.lines[:500]
    quick, plain = Cleaner(ALL), Cleaner(ALL)
    kept = [quick.clean(document) for document in documents]
    monkeypatch.setattr(Rule, "finds", line_by_line)
    assert kept == [plain.clean(document) for document in documents]
    assert quick.counts == plain.counts and quick.samples == plain.samples and sum(quick.counts.values()) > 100


@given(
    st.lists(st.sampled_from(["page", "Page 3", "PAGE 4/5", "pAge 6", "usage", "ſ", "12", "K"]), max_size=5).map(
        " ".join
    )
)
def test_a_page_number_is_found_in_any_case(line):
    assert _without_page_number(line) == PAGE_NUMBER.sub("page", line)


@settings(max_examples=200)
@given(lines=st.lists(st.sampled_from([fragment for fragment in FRAGMENTS if fragment]), min_size=1))
def test_lines_keep_their_order(lines):
    marked = [f"{line} {number}" for number, line in enumerate(lines)]
    kept = Cleaner(Cleaning()).clean(Document("d", "s", marked))
    numbers = [int(line.split()[-1]) for line in kept.lines] if kept else []
    assert numbers == sorted(set(numbers))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n\r&")))
def test_no_letter_or_digit_of_a_kept_line_changes(line):
    """But by decoding and repair; and signs read as controls become letters."""
    cleaner = Cleaner(Cleaning(min_words=0))
    kept = cleaner.clean(Document("d", "s", [line]))
    repaired = ("lines of UTF-8 read as Latin-1 repaired", "Windows-1252 signs read as Latin-1 restored")
    if kept is not None and not any(cleaner.counts[rule] for rule in repaired):
        assert [c for c in kept.text if c.isalnum()] == [c for c in line if c.isalnum()]


def test_every_line_is_kept_or_counted(tmp_path):
    text = "Le patient tousse.\n- 3 -\nPerdu \ufffd\n\nToux sèche\n\n- 4 -\n"
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    report = clean([tmp_path / "in.txt"], tmp_path / "out", Cleaning())
    assert [document.lines for document in read_documents([tmp_path / "out"])] == [["Le patient tousse."]]
    assert {rule: count for rule, count in report.dropped.items() if count} == {
        "lines without a letter": 2,
        "lines with lost characters": 1,
        "documents of fewer than 3 words": 1,
        "documents left without a line": 1,
    }
    assert report.read["in"].lines == 5 and report.kept["in"].lines == 1
    page = (tmp_path / "out" / "dropped.txt").read_text(encoding="utf-8")
    assert "# lines without a letter (2)\n# page numbers" in page
    assert "\nin-1\t- 3 -\n" in page and "\nin-2\tToux sèche\n" in page and "HTML" not in page


def test_a_line_that_was_changed_is_noted_and_not_among_the_dropped(tmp_path):
    (tmp_path / "in.txt").write_text("Ã‰tat du patient\nDose ........ 5 mg\n", encoding="utf-8")
    report = clean([tmp_path / "in.txt"], tmp_path / "out", Cleaning())
    assert not any(report.dropped.values()) and report.kept["in"].lines == 2
    said = str(report).splitlines()[2:]
    assert said == [
        " dropped  nothing",
        "   noted  1 lines of UTF-8 read as Latin-1 repaired",
        "   noted  1 rows of dots and dashes shortened to three",
    ]
    page = (tmp_path / "out" / "dropped.txt").read_text(encoding="utf-8")
    assert page.count("# ") == 4 and "# rows of dots and dashes shortened to three (1)\n" in page


def test_shards_add_up_to_the_whole():
    documents = [Document(f"d{n}", "s", [f"- {n} -", f"Ã‰tat {n}", "Le patient tousse."]) for n in range(100)]
    whole, halves, merged = Cleaner(Cleaning()), [Cleaner(Cleaning()), Cleaner(Cleaning())], Samples(20)
    for number, document in enumerate(documents):
        assert whole.clean(document) == halves[number % 2].clean(document)
    for half in reversed(halves):
        merged.merge(half.samples)
    assert merged == whole.samples and len(merged.kept["lines without a letter"]) == 20
    assert {rule: halves[0].counts[rule] + halves[1].counts[rule] for rule in whole.counts} == whole.counts
    assert list(whole.counts) == [name for name, _ in whole.reasons()]


@pytest.mark.parametrize("workers", [1, 2])
def test_files_of_shards_give_what_one_file_gives(tmp_path, workers):
    documents = [Document(f"d{n}", "s", [f"- {n} -", f"Ã‰tat {n}", "Le patient tousse."]) for n in range(60)]
    sources = [write_shards(tmp_path / f"shards of {size}", documents, size) for size in (15, 60)]
    first, second = tmp_path / "first", tmp_path / "second"
    reports = [
        clean([source], output, Cleaning(), Engine(workers))
        for source, output in zip(sources, (first, second), strict=True)
    ]
    assert list(read_documents([first])) == list(read_documents([second]))
    assert (first / "dropped.txt").read_bytes() == (second / "dropped.txt").read_bytes()
    assert reports[0].kept == reports[1].kept and reports[0].dropped == reports[1].dropped
    assert len(document_files([first])) == 4


def test_examples_of_long_lines_are_excerpts():
    cleaner = Cleaner(Cleaning())
    long = "Le patient tousse. " * 100
    cleaner.clean(Document("d", "s", [f"{long}\ufffd", f"{long}&eacute;", f"{long}é", long]))
    shown = [excerpt for found in cleaner.samples.kept.values() for _, excerpt in found.values()]
    assert len(shown) == 2 and all(len(excerpt) <= 200 for excerpt in shown) and any("&eacute; →" in e for e in shown)


def test_what_was_read_is_left_as_it_was():
    document = Document("d", "s", ["- 3 -", "&eacute;tat du patient"], metadata={"ward": 7})
    assert Cleaner(Cleaning()).clean(document) == Document("d", "s", ["état du patient"], metadata={"ward": 7})
    assert document.lines == ["- 3 -", "&eacute;tat du patient"]


def test_the_command_writes_its_counts(tmp_path):
    english = (FOREIGN_LINES.example + "\n") * 2
    (tmp_path / "in.txt").write_text(f"Le patient tousse.\n- 3 -\nAccueil | Contact\n{english}", encoding="utf-8")
    options = ["--also", "web", "tables", "--any-language", "--max-repeats", "1", "--min-line-characters", "18"]
    result = run("preprocess.clean", tmp_path / "in.txt", "--output", tmp_path / "out", *options, "--examples", 1)
    assert result.returncode == 0 and "1 lines without a letter" in result.stdout
    report = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert report["settings"] == {
        "also": ["web", "tables"], "french_only": False, "min_line_characters": 18, "max_repeats": 1, "min_words": 3,
        "examples": 1,
    }  # fmt: skip
    assert {rule: count for rule, count in report["dropped"].items() if count} == {
        "lines without a letter": 1, "lines of links": 1, "lines seen 1 times before in the document": 1,
    }  # fmt: skip
    assert report["kept"]["in"]["lines"] == 2
    assert len((tmp_path / "out" / "dropped.txt").read_text().splitlines()) == 3 * 3 + 2


def test_the_help_gives_every_rule_and_its_reason():
    shown = " ".join(run("preprocess.clean", "--help").stdout.split())
    rules = [*CHARACTER_RULES, *LINE_RULES, FOREIGN_LINES, *(rule for rules in OPTIONAL.values() for rule in rules)]
    for rule in rules:
        assert " ".join(f"{rule.name}: {rule.reason}".split()) in shown


def test_the_page_on_cleaning_has_every_rule_and_no_other(repository):
    always = Cleaner(Cleaning()).reasons()
    rows = [f"| {name} | {reason} |" for name, reason in always]
    for also in OPTIONAL:
        with_set = Cleaner(Cleaning(also=(also,))).reasons()
        rows += [f"| `{also}` | {name} | {reason} |" for name, reason in with_set if (name, reason) not in always]
    rows.append(f"| `--min-line-characters 20` | {BIOALBERT.name} | {BIOALBERT.reason} |")
    page = (repository / "docs" / "reference" / "cleaning.md").read_text(encoding="utf-8").partition("## How often")[0]
    heads = ("| changed", "| lines dropped", "| `--also` | lines", "|---")
    assert [line for line in page.splitlines() if line.startswith("|") and not line.startswith(heads)] == rows


def test_bad_input_is_one_sentence(tmp_path):
    missing = run("preprocess.clean", tmp_path / "no.txt", "--output", tmp_path / "o")
    assert "no such file" in one_sentence(missing)
    for wrong, sentence in (
        (("--also", "webs"), "invalid choice: 'webs'"),
        (("--max-repeats", "-1"), "give 0 or more"),
    ):
        result = run("preprocess.clean", tmp_path / "no.txt", "--output", tmp_path / "o", *wrong)
        assert result.returncode == 2 and sentence in result.stderr


def test_real_text_keeps_all_but_few_of_its_lines(shared_data, tmp_path):
    """But for the bibliography in English of one case, 19 lines of 10,128."""
    report = clean([shared_data / "fr_raw" / "pamj_cas_cliniques.txt"], tmp_path / "out", Cleaning())
    read, kept = total(report.read), total(report.kept)
    assert kept.documents == read.documents and kept.lines > 0.998 * read.lines
