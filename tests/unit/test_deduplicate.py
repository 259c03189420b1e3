"""Repetitions go, first copies stay, and what goes is counted."""

from corpus_helpers import one_sentence, run

from preprocess.deduplicate import deduplicate
from preprocess.documents import read_documents

PHRASE = "Veuillez lire attentivement cette notice."


def unique(tmp_path, text, max_repeats=10, min_characters=20):
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    report = deduplicate([tmp_path / "in.txt"], tmp_path / "out.jsonl", max_repeats, min_characters)
    return [document.lines for document in read_documents([tmp_path / "out.jsonl"])], report


def test_a_document_seen_before_goes_whatever_its_spaces(tmp_path):
    text = "Le patient tousse.\nDort mal.\n\nLe  patient tousse.\nDort\u00a0mal.\n\nLe patient.\n"
    documents, report = unique(tmp_path, text)
    assert documents == [["Le patient tousse.", "Dort mal."], ["Le patient."]]
    assert report.dropped["documents seen before"] == 1


def test_a_line_is_kept_so_many_times_in_the_whole_corpus(tmp_path):
    text = "\n\n".join(f"{PHRASE}\nMédicament numéro {number} de la liste.\n{PHRASE}" for number in range(4))
    documents, report = unique(tmp_path, text, max_repeats=3)
    assert [lines.count(PHRASE) for lines in documents] == [2, 1, 0, 0]
    assert report.dropped["lines seen 3 times before"] == 5 and report.kept.lines == 4 + 3 and report.read.lines == 12


def test_a_line_of_different_case_or_numbers_is_another_line(tmp_path):
    text = f"{PHRASE}\n{PHRASE.upper()}\nPrendre 1 comprimé le matin.\nPrendre 2 comprimés le matin.\n"
    assert unique(tmp_path, text, max_repeats=1)[1].kept.lines == 4


def test_short_lines_recur_by_right_and_zero_keeps_all(tmp_path):
    text = "\n\n".join(f"Antécédents\n{PHRASE}\nCas {number}" for number in range(4))
    documents, _ = unique(tmp_path, text, max_repeats=1)
    assert [lines.count("Antécédents") for lines in documents] == [1, 1, 1, 1]
    assert [lines.count(PHRASE) for lines in unique(tmp_path, text, max_repeats=0)[0]] == [1, 1, 1, 1]


def test_a_document_left_without_a_line_is_counted(tmp_path):
    documents, report = unique(tmp_path, f"{PHRASE}\nFin du premier document.\n\n{PHRASE}\n", max_repeats=1)
    assert len(documents) == 1 and report.dropped["documents left without a line"] == 1


def test_the_command_reports_and_refuses(tmp_path):
    (tmp_path / "in.txt").write_text("Toux.\n\nToux.\n")
    result = run("preprocess.deduplicate", tmp_path / "in.txt", "--output", tmp_path / "out.jsonl")
    assert result.returncode == 0 and "1 documents seen before" in result.stdout
    assert (tmp_path / "out.jsonl.report.json").exists()
    missing = run("preprocess.deduplicate", tmp_path / "no.jsonl", "--output", tmp_path / "o.jsonl")
    assert "no such file" in one_sentence(missing)
    negative = run("preprocess.deduplicate", tmp_path / "in.txt", "--output", tmp_path / "o", "--max-repeats", "-1")
    assert negative.returncode != 0 and "give 0 or more" in negative.stderr
