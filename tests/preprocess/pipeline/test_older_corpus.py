"""A corpus that revision 057498c made is recognised: only stages of another VERSION make it again."""

import json
import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from alibert_common import provenance
from preprocess import binarize, clean, corpus, deduplicate, ingest, mix, train_tokenizer

STAGES = {
    "ingest": "documents/cas",
    "clean": "clean/cas",
    "deduplicate": "unique",
    "mix": "mixed",
    "train_tokenizer": "tokenizer",
    "binarize": "data-bin",
}
# Stages whose VERSION was raised since, with the libraries of VERSION 1 where others are named now.
RAISED = dict.fromkeys((clean, deduplicate, ingest, mix), ()) | {
    binarize: ("numpy", "sacremoses", "tokenizers"),
    train_tokenizer: ("sacremoses", "sentencepiece", "tokenizers"),
}
MADE_IN, CHANGED_AT = "/corpus", 1_767_225_600_000_000_000  # tests/fixtures/corpus_057498c/README.md


@pytest.fixture
def older(tmp_path, repository, monkeypatch):
    """A copy of the corpus, with the paths, times and libraries that it was made with."""
    shutil.copytree(repository / "tests/fixtures/corpus_057498c", tmp_path, dirs_exist_ok=True)
    os.utime(tmp_path / "text.txt", ns=(CHANGED_AT, CHANGED_AT))
    monkeypatch.chdir(tmp_path)
    absolute = os.path.abspath
    monkeypatch.setattr(os.path, "abspath", lambda path: absolute(path).replace(str(tmp_path), MADE_IN))
    recorded = json.loads((tmp_path / "corpus/clean/cas/manifest.json").read_text())["versions"]

    def installed_version(name):
        if name not in recorded:
            raise PackageNotFoundError(name)
        return recorded[name]

    for stage, libraries in RAISED.items():
        monkeypatch.setattr(
            stage, "STAGE", provenance.Stage(stage.STAGE.command, 1, libraries or stage.STAGE.libraries)
        )
    monkeypatch.setattr(provenance, "installed_version", installed_version)
    monkeypatch.setattr(provenance.platform, "python_version_tuple", lambda: (*recorded["python"].split("."), "0"))
    return tmp_path


def made_anew(capsys, monkeypatch):
    """{output: why} of what the command of a corpus makes again; it says "there already" of all others."""
    command = ["corpus", "corpus.yaml", "--output", "corpus", "--workers", "1", "--until", "binarize"]
    monkeypatch.setattr(sys, "argv", command)
    corpus.main()
    said = capsys.readouterr().err
    anew = {
        output: line.partition("changed since: ")[2]
        for output in STAGES.values()
        for line in said.splitlines()
        if line.startswith(f"corpus/{output}: made anew")
    }
    there = {output for output in STAGES.values() if f"corpus/{output}: there already, made from the same\n" in said}
    assert anew.keys() | there == set(STAGES.values())
    return anew


def test_every_stage_says_that_its_output_is_there_already(older, capsys, monkeypatch):
    before = {path: path.read_bytes() for path in sorted((older / "corpus").rglob("*")) if path.is_file()}
    assert made_anew(capsys, monkeypatch) == {}
    assert {path: path.read_bytes() for path in sorted((older / "corpus").rglob("*")) if path.is_file()} == before


def test_a_stage_whose_version_was_raised_makes_its_output_again(older, capsys, monkeypatch):
    monkeypatch.setattr(clean, "STAGE", provenance.Stage("clean", 2, clean.STAGE.libraries))
    assert made_anew(capsys, monkeypatch) == {
        "clean/cas": "version",
        **dict.fromkeys(("unique", "mixed", "tokenizer"), "inputs"),
        "data-bin": "inputs, tokenizer",
    }


@pytest.mark.parametrize("change", ["code", "text", "library"])
def test_what_else_changed_makes_it_again(older, capsys, monkeypatch, change):
    if change == "code":  # of a revision that nobody knows
        manifest = older / "corpus/documents/cas/manifest.json"
        manifest.write_text(manifest.read_text().replace("c3f4a6ca", "00000000"))
    if change == "text":
        os.utime(older / "text.txt")
    if change == "library":
        known = provenance.installed_version
        monkeypatch.setattr(provenance, "installed_version", lambda name: known(name) + "1" * (name == "lxml"))
    why = {"code": "version", "text": "inputs", "library": "lxml ("}[change]
    assert made_anew(capsys, monkeypatch)["documents/cas"].startswith(why)
