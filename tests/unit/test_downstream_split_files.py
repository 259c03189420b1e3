"""Splits that folders do not tell apart: lists of documents, drawn shares, and no document in two splits."""

from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from downstream.documents import Document
from downstream.files import InputError
from downstream.items import LabelledText
from downstream.split_files import Drawn, Listed, Source, chosen, draw, parse, read_list, refuse_overlap

IDS = st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=30)


def refused(call, *given):
    with pytest.raises(InputError) as error:
        call(*given)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def ids(documents, split, root=Path(), counts=None):
    made = [Document(name, "", []) for name in documents]
    return [one.id for one in chosen(made, parse(split, "here"), root, Counter() if counts is None else counts)]


@pytest.mark.parametrize(
    "split, source",
    [
        ("train/EMEA", Source("train/EMEA", ())),
        ("Test/Test for DrugNER task", Source("Test/Test for DrugNER task", ())),
        ("a b @ l.tsv = train 2021", Source("a b", (Listed("l.tsv", "train 2021"),))),
        ("a @ seed 12 = 0.1..1", Source("a", (Drawn(12, 0.1, 1.0),))),
        ("a @ l.tsv = x @ seed 1 = 0..0.25", Source("a", (Listed("l.tsv", "x"), Drawn(1, 0.0, 0.25)))),
    ],
)
def test_a_split_names_a_path_and_rules(split, source):
    assert parse(split, "here") == source


@pytest.mark.parametrize(
    "rule",
    ["", "l.tsv", "l.tsv =", "= dev", "seed 1", "seed 1 = 0.1", "seed x = 0..1", "seed 1 = 0.2..0.1", "seed 1 = 0..2"],
)
def test_a_slip_in_a_rule_is_one_sentence(rule):
    sentence = refused(parse, f"a @ {rule}", "r.yaml: splits")
    assert sentence.startswith(f"r.yaml: splits: 'a @ {rule}' is no split; write PATH")


@settings(max_examples=50, deadline=None)
@given(IDS, st.integers(0, 5), st.randoms())
def test_shares_part_the_documents_whatever_their_order_and_company(names, seed, order):
    shares = [ids(names, f"a @ seed {seed} = {share}") for share in ("0..0.1", "0.1..0.5", "0.5..1")]
    assert sorted(sum(shares, [])) == sorted(names)
    shuffled = order.sample(names, len(names))
    assert set(ids(shuffled, f"a @ seed {seed} = 0.1..0.5")) == set(shares[1])
    some = names[: len(names) // 2]
    assert ids(some, f"a @ seed {seed} = 0..0.1") == [one for one in some if one in shares[0]]


def test_a_share_is_about_what_it_says_and_another_seed_draws_others():
    names = [f"document {number}" for number in range(5000)]
    first, second = (set(ids(names, f"a @ seed {seed} = 0..0.1")) for seed in (1, 2))
    assert 430 < len(first) < 570 and 430 < len(second) < 570  # 500, and more than three deviations
    assert len(first & second) < 100  # 50 of chance
    assert draw("document 1", 1) == 0.8232775071055366  # recipes draw the same documents for ever


def test_the_texts_of_one_document_are_never_divided():
    items = [LabelledText(f"{group}-{number}", "", (), group=str(group)) for group in range(50) for number in range(3)]
    kept = chosen(items, parse("a @ seed 1 = 0..0.5", "here"), Path(), Counter())
    assert 0 < len(kept) < 150 and all(count == 3 for count in Counter(item.group for item in kept).values())


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
    assert "l.tsv, line 1: byte 0 (0xe9) is not UTF-8" in refused(read_list, tmp_path / "l.tsv")


@pytest.mark.parametrize(
    "train, dev, apart",
    [
        ("a", "b", True),
        ("a", "b @ seed 1 = 0..0.1", True),
        ("a", "a @ seed 1 = 0..0.1", False),
        ("a @ seed 1 = 0.1..1", "a @ seed 1 = 0..0.1", True),
        ("a @ seed 1 = 0..0.1", "a @ seed 1 = 0.1..1", True),
        ("a @ seed 1 = 0.05..1", "a @ seed 1 = 0..0.1", False),
        ("a @ seed 1 = 0.1..1", "a @ seed 2 = 0..0.1", False),
        ("a @ l = train", "a @ l = dev", True),
        ("a @ l = train", "a @ l = train", False),
        ("a @ l = train", "a @ k = dev", False),
        ("a @ l = train", "a @ seed 1 = 0..0.1", False),
        ("a @ l = train @ seed 1 = 0.1..1", "a @ l = train @ seed 1 = 0..0.1", True),
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
