"""Every rule does what its example says, leaves its look-alike alone, and is counted."""

import json

import pytest
from corpus_helpers import one_sentence, run
from hypothesis import given
from hypothesis import strategies as st

from preprocess.clean import CHARACTER_RULES, LINE_RULES, clean, clean_line
from preprocess.documents import read_documents
from preprocess.report import Report

AFTER = {
    "page and column breaks turned into spaces": "fin de page début de page",
    "control characters removed": "paracétamol",
    "Windows-1252 signs read as Latin-1 restored": "l’œdème",
}


@pytest.mark.parametrize("rule", CHARACTER_RULES + LINE_RULES, ids=lambda rule: rule.name)
def test_a_rule_does_what_its_example_says(rule):
    report = Report("clean")
    assert clean_line(rule.example, report) == AFTER.get(rule.name)
    assert report.dropped.pop(rule.name) > 0 and not any(report.dropped.values())


@pytest.mark.parametrize("rule", CHARACTER_RULES + LINE_RULES, ids=lambda rule: rule.name)
def test_a_rule_leaves_its_look_alike_alone(rule):
    report = Report("clean")
    assert clean_line(rule.unchanged, report) == rule.unchanged and not any(report.dropped.values())


@pytest.mark.parametrize("text", ["ÉVOLUTION", "À J1, le patient va bien", "cœur sain", "fièvre à 38 °C", "l’ictère"])
def test_utf8_read_as_latin1_or_windows1252_is_found(text):
    for encoding in ("latin-1", "windows-1252"):
        report = Report("clean")
        assert clean_line(text, report) == text
        assert clean_line(text.encode().decode(encoding, "replace"), report) is None


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\n")))
def test_no_letter_or_digit_of_a_kept_line_changes(line):
    kept = clean_line(line, Report("clean"))
    c1 = any("\x80" <= character <= "\x9f" for character in line)  # they become letters
    if kept is not None and not c1:
        assert [c for c in kept if c.isalnum()] == [c for c in line if c.isalnum()]


def test_every_line_is_kept_or_counted(tmp_path):
    text = "Le patient tousse.\n- 3 -\nPerdu \ufffd\n\nToux sèche\n\n- 4 -\n"
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    report = clean([tmp_path / "in.txt"], tmp_path / "out.jsonl", min_words=3)
    assert [document.lines for document in read_documents([tmp_path / "out.jsonl"])] == [["Le patient tousse."]]
    assert {rule: count for rule, count in report.dropped.items() if count} == {
        "lines without a letter": 2,
        "lines with lost characters": 1,
        "documents of fewer than 3 words": 1,
        "documents left without a line": 1,
    }
    assert report.read.lines == 5 and report.kept.lines == 1


def test_the_command_writes_its_counts(tmp_path):
    (tmp_path / "in.txt").write_text("Le patient tousse.\n- 3 -\n", encoding="utf-8")
    result = run("preprocess.clean", tmp_path / "in.txt", "--output", tmp_path / "out.jsonl")
    assert result.returncode == 0 and "1 lines without a letter" in result.stdout
    assert json.loads((tmp_path / "out.jsonl.report.json").read_text())["dropped"]["lines without a letter"] == 1
    assert "no word to learn" in run("preprocess.clean", "--help").stdout
    missing = run("preprocess.clean", tmp_path / "no.txt", "--output", tmp_path / "o.jsonl")
    assert "no such file" in one_sentence(missing)


def test_real_text_keeps_all_but_a_thousandth_of_its_lines(shared_data, tmp_path):
    report = clean([shared_data / "fr_raw" / "pamj_cas_cliniques.txt"], tmp_path / "out.jsonl", min_words=3)
    assert report.kept.documents > 0.99 * report.read.documents and report.kept.lines > 0.999 * report.read.lines
