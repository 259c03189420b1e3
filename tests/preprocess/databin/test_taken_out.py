"""Data-bins without some documents: padding in their places, or only the others, written anew."""

import json

import numpy as np
import pytest
from binarize_helpers import items
from corpus_helpers import write_tokenizer

from preprocess.binarize import binarize
from preprocess.databin.document_records import read_records
from preprocess.databin.predictable import Predictable, written_bits
from preprocess.databin.split_reader import document_places, line_sizes, token_ids
from preprocess.databin.subset import write_subset
from preprocess.databin.taken_out import take_out

TEXTS = [f"Le patient {number}.\nPas de toux." + "\nFin." * (number % 3) for number in range(9)]


@pytest.fixture
def data_bin(tmp_path):
    for split in ("train", "valid"):
        (tmp_path / f"{split}.txt").write_text("\n\n".join(TEXTS) + "\n", encoding="utf-8")
    splits = {split: [tmp_path / f"{split}.txt"] for split in ("train", "valid")}
    binarize(write_tokenizer(tmp_path / "tokenizer"), splits, tmp_path / "bin")
    with written_bits(tmp_path / "bin/train") as bits:
        bits.add(np.random.default_rng(1).random(len(token_ids(tmp_path / "bin/train"))) < 0.5)
    (tmp_path / "bin/anonymity.json").write_text('{"counts": {"min_patients": 2}, "sha256": {}}')
    return tmp_path / "bin"


def test_documents_that_are_taken_out_leave_padding_and_empty_records(tmp_path, data_bin):
    (tmp_path / "out").mkdir()
    take_out(data_bin, tmp_path / "out", {"train": [0, 4, 8]})
    before, after = token_ids(data_bin / "train"), token_ids(tmp_path / "out/train")
    places = document_places(data_bin / "train")
    gone = np.zeros(len(before), bool)
    for number in (0, 4, 8):
        gone[slice(*places[number])] = True
    assert (after[gone] == 1).all() and (after[~gone] == before[~gone]).all() and gone.sum() > 20
    assert (line_sizes(tmp_path / "out/train") == line_sizes(data_bin / "train")).all()
    assert [record.id for record in read_records(tmp_path / "out/train")] == [
        "" if number in (0, 4, 8) else f"train-{number + 1}" for number in range(9)
    ]
    for name in ("valid.bin", "dict.txt", "train.predictable"):
        assert (tmp_path / "out" / name).stat().st_ino == (data_bin / name).stat().st_ino
    assert not (tmp_path / "out/manifest.json").exists()
    assert json.loads((tmp_path / "out/anonymity.json").read_text()) == {"counts": {"min_patients": 2}}  # no proof
    assert b'train-1"' not in (tmp_path / "out/train.documents.jsonl.zst").read_bytes()


def test_a_subset_is_what_binarize_makes_of_its_documents(tmp_path, data_bin):
    (tmp_path / "out").mkdir()
    kept = np.array([True, False, True, True, False, False, True, False, True])
    write_subset(data_bin, tmp_path / "out", {"train": kept})
    text = "\n\n".join(text for text, is_kept in zip(TEXTS, kept, strict=True) if is_kept)
    (tmp_path / "some.txt").write_text(text + "\n", encoding="utf-8")
    binarize(tmp_path / "tokenizer", {"train": [tmp_path / "some.txt"]}, tmp_path / "own")
    for ending in ("bin", "idx"):
        assert (tmp_path / f"out/train.{ending}").read_bytes() == (tmp_path / f"own/train.{ending}").read_bytes()
    assert [record.id for record in read_records(tmp_path / "out/train")] == [
        f"train-{number + 1}" for number in np.flatnonzero(kept)
    ]
    whole, some = Predictable(data_bin / "train"), Predictable(tmp_path / "out/train")
    theirs = document_places(tmp_path / "out/train").tolist()
    for ours, own in zip(document_places(data_bin / "train")[kept].tolist(), theirs, strict=True):
        assert (whole.between(*ours) == some.between(*own)).all()
    assert items(tmp_path / "out/valid") == items(data_bin / "valid")
