"""The bits of a split: read from any place, refused where they do not fit, kept with the documents of a part."""

import numpy as np
import pytest
from anonymity_helpers import anonymous, bits, random_documents
from binarize_helpers import items
from corpus_helpers import write_tokenizer

from alibert_common.errors import InputError
from preprocess.databin.predictable import Predictable, predictable_path, written_bits
from preprocess.databin.subset import write_subset


@pytest.fixture(scope="module")
def data_bin(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    return anonymous(place, write_tokenizer(place / "tokenizer"), random_documents(9, 12), 2, 2)


def test_bits_are_read_from_any_place(data_bin):
    marks, whole = Predictable(data_bin / "train"), np.concatenate(bits(data_bin / "train")).astype(bool)
    for first in range(12):
        for last in (first, first + 1, first + 9, len(whole)):
            assert (marks.between(first, last) == whole[first:last]).all()


@pytest.mark.parametrize("sizes", [(1, 2, 3), (8, 8), (0, 7, 9, 30), (64,)])
def test_bits_are_written_in_any_parts(tmp_path, sizes):
    parts = [np.random.default_rng(size).random(size) < 0.5 for size in sizes]
    with written_bits(tmp_path / "train") as file:
        for part in parts:
            file.add(part)
    written = np.fromfile(tmp_path / "train.predictable", np.uint8)
    assert written.tolist() == np.packbits(np.concatenate(parts)).tolist()


def test_a_part_of_the_documents_keeps_its_bits(data_bin, tmp_path):
    chosen = np.arange(12) % 3 != 1
    write_subset(data_bin, tmp_path / "part", {"train": chosen})
    document = np.cumsum([len(line) == 1 for line in items(data_bin / "train")])
    whole = [(line, marks) for line, marks in zip(items(data_bin / "train"), bits(data_bin / "train"), strict=True)]
    kept = [pair for pair, number in zip(whole, document, strict=True) if chosen[number] and len(pair[0]) > 1]
    part = zip(items(tmp_path / "part" / "train"), bits(tmp_path / "part" / "train"), strict=True)
    assert [pair for pair in part if len(pair[0]) > 1] == kept


def test_bits_of_another_text_are_refused(data_bin, tmp_path):
    for ending in ("bin", "idx"):
        (tmp_path / f"train.{ending}").write_bytes((data_bin / f"train.{ending}").read_bytes())
    predictable_path(tmp_path / "train").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"train.predictable: 1 bytes for [\d,]+ tokens; make the data-bin again"):
        Predictable(tmp_path / "train")
