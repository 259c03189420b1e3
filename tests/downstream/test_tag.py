"""Tagging raw text with a fine-tuned model. That it finds what was scored: tests/end_to_end/test_finetune.py."""

import re
import sys
from collections import Counter

import pytest
from tiny_models import write_roberta

from alibert_common.errors import InputError
from downstream import tag
from downstream.data.annotated_text import AnnotatedText, Entity, Labels
from downstream.data.readers import ENTITIES
from downstream.data.spans import ScoredSpan, Span


def test_texts_are_read_from_files_and_folders(tmp_path):
    (tmp_path / "letters" / "may").mkdir(parents=True)
    (tmp_path / "letters" / "may" / "one.txt").write_text("un\r\n", encoding="utf-8", newline="")
    (tmp_path / "letters" / "notes.md").write_text("not a letter")
    (tmp_path / "two.txt").write_text("deux")
    assert tag.read_texts([tmp_path / "letters", tmp_path / "two.txt"]) == [("may/one", "un\r\n"), ("two", "deux")]


@pytest.mark.parametrize(
    "paths, complaint",
    [
        (["none"], "no such .txt file"),
        (["a.jsonl"], "no such .txt file"),
        (["a.txt", "empty"], "empty: no .txt file in it"),
        (["a.txt", "other"], "would have the id of .*/a.txt"),
    ],
)
def test_what_holds_no_text_or_no_name_of_its_own_is_refused(tmp_path, paths, complaint):
    for folder in ("empty", "other"):
        (tmp_path / folder).mkdir()
    for name in ("a.jsonl", "a.txt", "other/a.txt"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=complaint):
        tag.read_texts([tmp_path / path for path in paths])


def test_a_model_that_was_not_fine_tuned_here_is_refused_and_nothing_is_written(tmp_path, monkeypatch, capsys):
    write_roberta(tmp_path / "pretrained", width=32)
    (tmp_path / "a.txt").write_text("Le foie.")
    command = ["tag", tmp_path / "a.txt", "--model", tmp_path / "pretrained", "--output", tmp_path / "out.jsonl"]
    monkeypatch.setattr(sys, "argv", [str(part) for part in command])
    capsys.readouterr()  # the bar of transformers, which wrote the model
    with pytest.raises(SystemExit) as stop:
        tag.exit_with_sentence(tag.main)
    said = capsys.readouterr().err
    assert stop.value.code == 2 and "no finetuning.json in it" in said and said.count("\n") == 1
    assert not (tmp_path / "out.jsonl").exists()


class Finder:
    """Finds every `foie`."""

    def __init__(self, *_):
        pass

    def __call__(self, texts):
        return [
            [ScoredSpan.of(Span(one.start(), one.end(), "organ"), 0.25) for one in re.finditer("foie", text)]
            for text in texts
        ]


def test_entities_are_written_for_brat_or_a_line_a_document_and_read_back_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tag, "Tagger", Finder)
    (tmp_path / "letters" / "may").mkdir(parents=True)
    for name, text in {"may/one": "le foie\r\net le foie", "two": "rien"}.items():
        (tmp_path / "letters" / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
    read = {}
    for form, output in {"brat": "corrected", "jsonl": "out.jsonl"}.items():
        command = ["tag", tmp_path / "letters", "--model", "m", "--output", tmp_path / output, "--format", form]
        monkeypatch.setattr(sys, "argv", [str(part) for part in command])
        tag.main()
        assert "2 documents, 2 entities (2 organ)" in capsys.readouterr().out
        read[form] = ENTITIES[form](tmp_path / output, Labels(("organ",)), Counter())
    assert '"score": 0.25' in (tmp_path / "out.jsonl").read_text()
    organs = [Entity("organ", ((3, 7),)), Entity("organ", ((15, 19),))]
    assert read["brat"] == read["jsonl"] == [
        AnnotatedText("may/one", "le foie\r\net le foie", organs), AnnotatedText("two", "rien", [])
    ]  # fmt: skip
    assert (tmp_path / "corrected" / "may" / "one.ann").read_text().startswith("T1\torgan 3 7\tfoie\n")
