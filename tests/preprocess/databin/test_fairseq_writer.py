"""The check of a split: whole ones pass, and every damage is named."""

import struct

import numpy as np
import pytest

from alibert_common.errors import InputError
from preprocess.databin.fairseq_writer import HEADER, Writer, check_split, id_type


@pytest.fixture
def split(tmp_path):
    with Writer(tmp_path / "train", np.dtype(np.uint16)) as writer:
        writer.add(np.array([5, 6, 2, 7, 2]), np.array([3, 2]))
        writer.add(np.array([2, 8, 9, 2]), np.array([1, 3]))
    return tmp_path / "train"


def test_the_layout_is_that_of_fairseq(split):
    assert np.fromfile(f"{split}.bin", np.uint16).tolist() == [5, 6, 2, 7, 2, 2, 8, 9, 2]
    index = split.with_suffix(".idx").read_bytes()
    assert index == b"MMIDIDX\x00\x00" + struct.pack("<QBQ4i4q", 1, 8, 4, 3, 2, 1, 3, 0, 6, 10, 12)
    assert sorted(path.name for path in split.parent.iterdir()) == ["train.bin", "train.idx"]


def test_the_type_grows_with_the_dictionary():
    assert id_type(65499) == np.uint16 and id_type(65500) == np.uint32


def test_whole_splits_pass(split, tmp_path):
    check_split(split)
    with Writer(tmp_path / "empty", np.dtype(np.uint32)):
        pass
    check_split(tmp_path / "empty")


def test_many_blocks_of_sizes_are_joined(tmp_path):
    sizes = np.full(300_000, 2)
    with Writer(tmp_path / "long", np.dtype(np.uint32)) as writer:
        for _ in range(2):
            writer.add(np.tile([70_000, 2], len(sizes)), sizes)
    check_split(tmp_path / "long")
    offsets = np.fromfile(tmp_path / "long.idx", np.int64, offset=HEADER.size + 4 * 600_000)
    assert (offsets == np.arange(600_000) * 8).all()


def test_a_split_that_is_not_finished_is_not_there(split):
    before = split.with_suffix(".bin").read_bytes()
    with pytest.raises(KeyboardInterrupt), Writer(split, np.dtype(np.uint16)) as writer:
        writer.add(np.array([5, 2]), np.array([2]))
        raise KeyboardInterrupt
    assert split.with_suffix(".bin").read_bytes() == before
    assert sorted(path.name for path in split.parent.iterdir()) == ["train.bin", "train.idx"]


DAMAGE = [(".bin", 17), (".bin", 0), (".idx", 60), (".idx", 30), (".idx", 20), (".idx", 0)]


@pytest.mark.parametrize("suffix, keep", DAMAGE)
def test_a_truncated_file_is_named(split, suffix, keep):
    path = split.with_suffix(suffix)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=f"train{suffix}: truncated"):
        check_split(split)


@pytest.mark.parametrize("suffix", [".bin", ".idx"])
def test_a_missing_or_too_long_file_is_named(split, suffix):
    path = split.with_suffix(suffix)
    path.write_bytes(path.read_bytes() + b"\x00\x00")
    with pytest.raises(InputError, match=f"train{suffix}: too long"):
        check_split(split)
    path.unlink()
    with pytest.raises(InputError, match=f"train{suffix}: no such file"):
        check_split(split)


@pytest.mark.parametrize("place, byte", [(0, b"X"), (9, b"\x02"), (17, b"\x63")], ids=["magic", "version", "type"])
def test_another_format_is_named(split, place, byte):
    content = split.with_suffix(".idx").read_bytes()
    split.with_suffix(".idx").write_bytes(content[:place] + byte + content[place + 1 :])
    with pytest.raises(InputError, match="train.idx: not an index of fairseq's mmap format"):
        check_split(split)
