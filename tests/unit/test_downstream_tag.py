"""Tagging raw text with a fine-tuned model. That it finds what was scored: tests/end_to_end/test_finetune.py."""

import sys

import pytest
from tiny_models import write_roberta

from downstream import tag
from downstream.files import InputError


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
    with pytest.raises(SystemExit) as stop:
        tag.exit_with_sentence(tag.main)
    said = capsys.readouterr().err
    assert stop.value.code == 2 and "no finetuning.json in it" in said and said.count("\n") == 1
    assert not (tmp_path / "out.jsonl").exists()
