"""The tokenizer study as a person meets it: the command, and its report in three forms."""

import json
import re
from pathlib import Path

import pytest
from corpus_helpers import run, write_shards
from html_helpers import Page
from published_tokenizers import write_tokenizer
from text_helpers import PAPER, SAMPLE, sample_lines, trained

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from alibert_common.input_log import InputLog
from alibert_common.report import markdown
from alibert_common.report.document import Table
from preprocess import compare_tokenizers
from preprocess.compare_tokenizers import study_of, write_study
from preprocess.documents.document import Document, read_documents
from preprocess.mix import mix
from preprocess.mixing.weights import MixWeights
from preprocess.tokenizer.vocabulary import Subwords, build_tokenizer
from preprocess.tokenizer_study import tables
from preprocess.tokenizer_study.candidates import Candidate
from preprocess.tokenizer_study.held_out import seen_in_training
from preprocess.tokenizer_study.report import report, warnings
from preprocess.tokenizer_study.samples import Term
from preprocess.train_tokenizer import train_tokenizer

NASTY = "<script>alert('x')</script> & \"|`*"


def candidates(*names):
    """One that has `toux`, one that has not."""
    has = {"▁le": -1.0, "▁t": -3.0, "oux": -4.0, "▁": -5.0, "▁toux": -2.0}
    made = (Subwords("unigram", list(has)[:size], list(has.values())[:size]) for size in (5, 4))
    tokenizers = (build_tokenizer(PAPER, subwords) for subwords in made)
    return [Candidate(name, Path(name), *rest) for name, *rest in zip(names, tokenizers, strict=True)]


TERMS = [Term("le", "x"), Term("toux", "y")]


def study(tmp_path, names=("a", "b"), terms=TERMS, sentences=("Le xyz toux",)):
    (tmp_path / "text.txt").write_text("le toux zygomatique\n", encoding="utf-8")
    made = {"command": "compare_tokenizers", "settings": {"inputs": []}, "versions": {"python": "3"}}
    return made | study_of(candidates(*names), tmp_path / "text.txt", terms, list(sentences), seed=1)


def written(tmp_path, **changed):
    one = study(tmp_path, **changed)
    write_study(one, tmp_path / "out")
    return one, (tmp_path / "out" / "study.md").read_text(), (tmp_path / "out" / "study.html").read_text()


def rows(text, title):
    """The cells of a Markdown table, its header left out."""
    table = text.split(f"**{title}**\n\n")[1].split("\n\n")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()[2:]]


def test_terms_are_ticked_or_cut_and_those_most_tokenizers_have_come_first(tmp_path):
    _, text, html = written(tmp_path, terms=[Term("oux", "x"), Term("toux", "y"), Term("le", "x")])
    assert rows(text, "Terms") == [
        ["oux", "x", "✓", "✓"],
        ["le", "x", "✓", "✓"],
        ["toux", "y", "✓", "`▁t` `oux`"],
    ]
    assert rows(text, "Terms by category") == [
        ["x", "2", "1.50 (100 %)", "1.50 (100 %)"],
        ["y", "1", "1.00 (100 %)", "2.00 (0 %)"],
        ["(all)", "3", "1.33 (100 %)", "1.67 (67 %)"],
    ]
    assert '<span class="piece">▁t</span> <span class="piece">oux</span>' in html


def test_a_sentence_has_a_row_a_tokenizer_and_unknown_pieces_show(tmp_path):
    _, text, html = written(tmp_path)
    assert rows(text, "Le xyz toux") == [
        ["a", "4", "`▁le` `▁` `xyz`(?) `▁toux`"],
        ["b", "5", "`▁le` `▁` `xyz`(?) `▁t` `oux`"],
    ]
    assert '<span class="piece unknown">xyz (?)</span>' in html


def test_the_page_needs_nothing_else_and_escapes_all_text(tmp_path):
    """Tags are closed, tables have captions and headers, pictures are inside and described."""
    one, _, html = written(tmp_path, names=(NASTY, "b"), terms=[Term(NASTY, NASTY)], sentences=[NASTY])
    read = Page(html)
    assert "script" not in {tag for tag, _ in read.tags} and "://" not in html
    assert read.text.count(NASTY) > 10 and html.count("<script") == 0
    pictures = read.all("img")
    assert len(pictures) == 3 and all(one["src"].startswith("data:image/png;base64,iVBOR") for one in pictures)
    assert all(NASTY in one["alt"] for one in pictures)
    tables = 9  # text, vocabularies, overlap, speed, categories, terms, a sentence, two of files; there is one source
    assert len(read.all("table")) == len(read.all("caption")) == len(read.all("thead")) == tables
    assert {one["scope"] for one in read.all("th")} == {"row", "col"}
    assert [tag for tag, _ in read.tags if tag in ("h1", "h2")] == ["h1"] + ["h2"] * len(report(one).blocks)
    assert read.all("html")[0]["lang"] == "en" and read.all("meta")[2]["name"] == "viewport"


def test_markdown_escapes_what_would_be_a_sign_of_its_own(tmp_path):
    _, text, _ = written(tmp_path, names=("a|b", "*b*"), terms=[Term("<le>", "x|y")])
    assert [row[0] for row in rows(text, "The text in tokens")] == [r"a\|b", r"\*b\*"]
    assert rows(text, "Terms")[0][:3] == ["&lt;le&gt;", r"x\|y", "`▁` `<`(?) `▁le` `▁` `>`(?)"]


def test_what_is_not_asked_for_is_left_out_and_sources_are_told_apart(tmp_path):
    one, text, _ = written(tmp_path, terms=[], sentences=[])
    assert [section.title for section in report(one).blocks] == ["Text", "Vocabularies", "Speed", "How it was made"]
    assert "Fertility by source" not in text and sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "fertility.png", "overlap.png", "study.html", "study.json", "study.md",
    ]  # fmt: skip
    one["text"]["words_of_sources"] = {"s": 2, "t": 1}
    for number, figures in enumerate(one["tokenizers"].values()):
        figures["tokens_per_word_of_sources"] = {"s": 1.5 + number, "t": 2}
    assert rows(markdown.render(report(one)), "Fertility by source") == [
        ["s", "2", "1.500", "2.500"],
        ["t", "1", "2.000", "2.000"],
    ]


def test_the_report_holds_no_text_but_terms_and_sentences(tmp_path):
    written(tmp_path)
    for name in ("json", "md", "html"):
        assert "zygomatique" not in (tmp_path / "out" / f"study.{name}").read_text()


def test_every_column_that_does_not_speak_for_itself_has_a_legend(tmp_path):
    clear = {"tokenizer", "tokens", "model", "words", "terms", "tokens/s", "category", "a", "b", "file", "SHA-256"}
    for section in report(study(tmp_path)).blocks:
        for table in (block for block in section.blocks if isinstance(block, Table)):
            explained = {header for header, meaning in table.legend.items() if meaning}
            explained |= {"pieces"} if tables.SIGNS in str(section.blocks[0]) else set()
            assert set(table.head) - explained <= clear
            assert all(len(row) == len(table.head) for row in table.rows)


def test_the_study_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    written(tmp_path)
    before = (tmp_path / "out" / "study.json").read_bytes()
    monkeypatch.setattr(compare_tokenizers, "report", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        written(tmp_path, terms=[])
    assert (tmp_path / "out" / "study.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "text.txt"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    with pytest.raises(InputError, match="holds other files"):
        write_study(study(tmp_path), tmp_path / "mine")


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """The command with two trained tokenizers, of which the text is the first's training text, and a published one."""
    folder = tmp_path_factory.mktemp("study")
    text = folder / "seen.txt"
    text.write_text("\n".join(sample_lines()[:300]) + "\n", encoding="utf-8")
    train_tokenizer([text], folder / "seen", vocab_size=300)
    write_tokenizer(folder / "bert", "wordpiece")
    (folder / "other.txt").write_text("\n".join(sample_lines()[299:400]) + "\n", encoding="utf-8")
    tokenizers = [folder / "seen", trained(), folder / "bert"]
    result = run(
        "preprocess.compare_tokenizers", *tokenizers, "--names", "seen,ours,bert", "--text", text, "--output",
        folder / "out", "--trained-on", folder / "other.txt", "--terms", SAMPLE / "terms.tsv",
        "--sentences", SAMPLE / "sentences.txt",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return folder, result


def test_the_command_prints_the_main_table_and_writes_the_study(command):
    folder, result = command
    header, *lines = result.stdout.splitlines()
    assert header.split()[:4] == ["tokenizer", "held", "out", "tokens"] and len(lines) == 4
    made = json.loads((folder / "out" / "study.json").read_text(encoding="utf-8"))
    assert list(made["tokenizers"]) == ["seen", "ours", "bert"]
    assert len(made["terms"]) == 96 and len(made["categories"]) == 9 and len(made["sentences"]) == 6
    assert [Path(file["path"]).name for file in made["settings"]["inputs"]] == ["terms.tsv", "sentences.txt"]
    assert made["text"]["documents"] == 1 and made["text"]["lines"] == 300
    assert "fertility" in (folder / "out" / "study.html").read_text(encoding="utf-8")


def test_text_that_a_tokenizer_was_trained_on_is_told_from_held_out_text(command):
    folder, result = command
    warned = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 1 and warned[0].startswith(f"warning: seen was trained on {folder / 'seen.txt'}: ")
    text = (folder / "out" / "study.md").read_text(encoding="utf-8")
    assert [row[1] for row in rows(text, "The text in tokens")] == ["NO", "other files", "not known"]
    assert text.count("Warning: seen was trained on") == 1 and "0 of the 1 documents and 1 of the 300 lines" in text


@pytest.mark.parametrize(
    "trained_on_file, compared, documents_seen, told",
    [
        (True, False, None, "NO"), (True, True, 0, "NO"), (False, False, None, "other files"), (False, True, 0, "yes"),
        (False, True, 2, "NO"), (False, False, 0, "other files"), (None, False, None, "not known"),
        (None, False, 0, "not known"),
    ],
)  # fmt: skip
def test_held_out_is_said_only_of_what_was_compared(tmp_path, trained_on_file, compared, documents_seen, told):
    made = study(tmp_path)
    if documents_seen is not None:
        made["text"]["seen_in_training"] = {"documents": documents_seen, "lines": 5, "paths": ["in"], "inputs": []}
    name = next(iter(made["tokenizers"]))
    made["tokenizers"][name] |= {"trained_on_text": trained_on_file, "trained_on_compared": compared}
    assert tables.text(made).rows[0][:2] == [name, told]


def test_documents_and_lines_of_the_training_text_are_counted(tmp_path):
    """Of five documents one is in training text as it is and one with other spaces; one has a line of it twice."""
    training = [["Une toux.", "Deux  jours.", "Fin."], ["Le foie."], ["La rate.", "Fin."], ["Un.", "Fin."]]
    held_out = [["Le  foie."], ["Un.", "Fin."], ["Fin.", "Fin.", "Toux."], ["Une toux."], ["Le foie"]]
    documents = [Document(str(number), "s", lines) for number, lines in enumerate(training)]
    mix([write_shards(tmp_path / "in", documents, 2)], tmp_path / "mixed", MixWeights(), 0.0, 1, Engine())
    (tmp_path / "text.txt").write_text("\n\n".join("\n".join(lines) for lines in held_out) + "\n", encoding="utf-8")
    for number, paths in enumerate(([tmp_path / "mixed"], [tmp_path / "in"], sorted((tmp_path / "in").iterdir()))):
        text = read_documents([tmp_path / "text.txt"])
        seen = seen_in_training(text, paths, Engine(1 + number % 2), tmp_path / str(number))
        assert (seen["documents"], seen["lines"]) == (2, 6) and len(seen["inputs"]) == 2
    one = study(tmp_path) | {"text": study(tmp_path)["text"] | {"seen_in_training": seen}}
    (warning,) = warnings(one)
    assert warning.startswith(f"2 documents of {tmp_path / 'text.txt'} are also in ")
    assert "word for word: 2 of the 1 documents and 6 of the 1 lines." in report(one).blocks[0].blocks[1]


def test_every_file_of_the_text_tells_whether_it_was_trained_on(tmp_path):
    write_shards(tmp_path / "in", [Document("1", "s", ["Le toux."]), Document("2", "s", ["Le foie."])], 1)
    has, other = candidates("has", "other")
    second = InputLog()
    list(read_documents([sorted((tmp_path / "in").iterdir())[1]], second))
    has.trained_on, other.trained_on = frozenset([second.manifest()[0]["sha256"], "x"]), frozenset(["x"])
    made = study_of([has, other], tmp_path / "in", [], [], seed=1)
    assert [one["trained_on_text"] for one in made["tokenizers"].values()] == [True, False]
    assert made["text"]["path"] == str(tmp_path / "in") and len(made["text"]["inputs"]) == 2


def test_the_report_says_of_how_many_documents_some_were_drawn(tmp_path):
    one = study(tmp_path)
    blocks = report(one).blocks[0].blocks
    assert not any("drawn" in str(block) for block in blocks)
    one["text"]["whole"] |= {"documents": 1234, "bytes": 45_600_000}
    assert "drawn at random from 1,234 documents of 46 MB" in report(one).blocks[0].blocks[1]


def test_without_warning_nothing_is_warned_of(tmp_path):
    assert warnings(study(tmp_path)) == []
