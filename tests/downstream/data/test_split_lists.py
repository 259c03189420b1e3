"""Splits that folders do not tell apart: lists of documents, and no document in two splits."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from alibert_common.errors import InputError
from downstream.data.annotated_text import AnnotatedText
from downstream.data.split_lists import SplitSource, in_part, parse, read_list, refuse_overlap


def refused(call, *given):
    with pytest.raises(InputError) as error:
        call(*given)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def ids(documents, split, root=Path(), counts=None):
    made = [AnnotatedText(name, "", []) for name in documents]
    found = in_part(made, parse(split, "here"), root, lambda one: one.id, Counter() if counts is None else counts)
    return [one.id for one in found]


@pytest.mark.parametrize(
    "split, source",
    [
        ("train/EMEA", SplitSource("train/EMEA")),
        ("Test/Test for DrugNER task", SplitSource("Test/Test for DrugNER task")),
        ("a b @ l.tsv = train 2021", SplitSource("a b", "l.tsv", "train 2021")),
    ],
)
def test_a_split_names_a_path_and_rules(split, source):
    assert parse(split, "here") == source


@pytest.mark.parametrize(
    "rule",
    ["", "l.tsv", "l.tsv =", "= dev", "l.tsv = dev @ l.tsv = train"],
)
def test_a_slip_in_a_rule_is_one_sentence(rule):
    sentence = refused(parse, f"a @ {rule}", "r.yaml: splits")
    assert sentence.startswith(f"r.yaml: splits: 'a @ {rule}' is no split; write PATH")


def test_a_list_gives_documents_to_parts(tmp_path):
    (tmp_path / "l.tsv").write_bytes("\ufeffa\ttrain\r\nb.txt\tdev\r\n\r\nc\ttrain\r\nd\tdev\r\n".encode())
    counts = Counter()
    assert ids("cab", "x @ l.tsv = train", tmp_path, counts) == ["c", "a"]
    assert counts == {}
    assert ids("cab", "x @ l.tsv = dev", tmp_path, counts) == ["b"]
    assert counts == {"documents of l.tsv that are not there": 1}


def test_defts_list_has_a_column_for_each_year(tmp_path):
    lines = [
        "f-1-cas.txt\ttrain 2019\ttrain 2020\ttrain 2021",
        "f-2-cas.txt\ttest 2019",
        "f-3-cas.txt\ttest 2019\t\ttest 2021",
    ]
    (tmp_path / "distribution-corpus.txt").write_text("\n".join(lines))
    names = ["f-1-cas", "f-2-cas", "f-3-cas"]
    assert ids(names, "x @ distribution-corpus.txt = train 2021", tmp_path) == ["f-1-cas"]
    assert ids(names, "x @ distribution-corpus.txt = test 2021", tmp_path) == ["f-3-cas"]
    assert ids(names, "x @ distribution-corpus.txt = test 2019", tmp_path) == ["f-2-cas", "f-3-cas"]


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("a\ttrain\nb\n", "l.tsv, line 2: a document and its part are needed"),
        ("a\ttrain\n\tdev\n", "l.tsv, line 2: a document and its part are needed"),
        ("a\ttrain\nb\tdev\na\tdev\n", "l.tsv, line 3: a is on an earlier line"),
        ("a\ttrain\nb\tdev\n", "l.tsv: no part for 1 documents (first: c)"),
        ("a\tdev\nb\tdev\nc\ttest\n", "l.tsv: no document of a part 'train' in it; it has dev, test"),
    ],
)
def test_a_list_that_does_not_fit_is_one_sentence(tmp_path, text, complaint):
    (tmp_path / "l.tsv").write_text(text)
    assert complaint in refused(ids, "abc", "x @ l.tsv = train", tmp_path)


def test_a_missing_or_latin1_list_is_one_sentence(tmp_path):
    assert "no such file" in refused(ids, "a", "x @ l.tsv = train", tmp_path)
    (tmp_path / "l.tsv").write_bytes("é\ttrain\n".encode("latin-1"))
    assert "l.tsv, line 1: byte 1 (0xe9) is not UTF-8" in refused(read_list, tmp_path / "l.tsv")


@pytest.mark.parametrize(
    "train, dev, apart",
    [
        ("a", "b", True),
        ("a", "ab", True),
        ("a/b", "a/c", True),
        ("a", "a", False),
        ("a", "./b/../a/", False),
        ("a", "a/b", False),
        ("a/b", "a", False),
        (".", "a", False),
        ("a", "a @ l = dev", False),
        ("a @ l = train", "a/b @ l = dev", False),
        ("a @ l = train", "a @ l = dev", True),
        ("a @ l = train", "a @ l = train", False),
        ("a @ l = train", "a @ k = dev", False),
    ],
)
def test_splits_that_can_share_a_document_are_refused(train, dev, apart):
    if apart:
        refuse_overlap({"train": train, "dev": dev}, "r.yaml: splits")
    else:
        assert "train and dev can have documents in common" in refused(
            refuse_overlap, {"train": train, "dev": dev}, "r.yaml: splits"
        )


def test_shipped_recipes_have_splits_apart(repository):
    files = sorted((repository / "recipes" / "finetune").glob("*.yaml"))
    assert len(files) > 3
    for file in files:
        refuse_overlap(yaml.safe_load(file.read_text(encoding="utf-8"))["splits"], file.name)
