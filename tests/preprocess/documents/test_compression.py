"""Compressed documents are read as plain ones are; half a file is never taken for a whole one."""

import gzip
import random

import numpy as np
import pytest
import zstandard

from alibert_common.errors import InputError
from alibert_common.input_log import InputLog
from preprocess.documents import compression
from preprocess.documents.compression import frames, open_part
from preprocess.documents.document import read_documents

COMPRESS = {".gz": gzip.compress, ".zst": zstandard.compress}
# 1 MB that hardly compresses
DRAW = random.Random(1)
LINES = [" ".join(f"{DRAW.random():.9f}" for _ in range(20)) for _ in range(5_000)]
TEXT = "\n\n".join(LINES).encode()


@pytest.fixture(autouse=True)
def several_chunks(monkeypatch):
    """Make the text larger than a chunk."""
    monkeypatch.setattr(compression, "CHUNK", 1 << 16)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("parts", [1, 3])
def test_compressed_text_is_read_as_plain_text_is(tmp_path, suffix, parts):
    """As one member or frame, and as several end to end, which is how shards are put together."""
    size = len(TEXT) // parts + 1
    packed = b"".join(COMPRESS[suffix](TEXT[start : start + size]) for start in range(0, len(TEXT), size))
    path = tmp_path / f"notes.txt{suffix}"
    path.write_bytes(packed)
    log = InputLog()
    documents = list(read_documents([path], log))
    assert [document.lines for document in documents] == [[line] for line in LINES]
    assert documents[0].id == "notes-1" and documents[0].source == "notes"
    assert log.manifest()[0]["bytes"] == len(packed)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_half_a_file_is_refused(tmp_path, suffix, share):
    packed = COMPRESS[suffix](TEXT)
    path = tmp_path / f"notes.txt{suffix}"
    path.write_bytes(packed[: int(len(packed) * share)])
    with pytest.raises(InputError, match="notes.txt.*damaged or cut short"):
        list(read_documents([path]))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_what_is_not_compressed_is_refused(tmp_path, suffix):
    path = tmp_path / f"notes.txt{suffix}"
    path.write_bytes(b"Le patient va bien.\n")
    with pytest.raises(InputError, match="notes.txt.*damaged or cut short"):
        list(read_documents([path]))


SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0size"  # as pzstd writes before each frame


def in_frames(*texts):
    """Frames of every kind of header and block, after some a skippable one."""
    found = []
    for number, text in enumerate(texts):
        kinds = {"write_checksum": number % 2 > 0, "write_content_size": number % 3 > 0, "level": 1 + number}
        found.append(zstandard.ZstdCompressor(**kinds).compress(text))
        found += [SKIPPABLE] * (number % 4 == 3)
    return found


def test_the_frames_of_a_file_are_found_without_unpacking_them(tmp_path):
    texts = [TEXT[:500_000], b"a" * 300_000, DRAW.randbytes(200_000), b"", TEXT[:10], b"ab" * 70_000 + TEXT[-9:]]
    parts, path = in_frames(*texts), tmp_path / "a.txt.zst"
    path.write_bytes(b"".join(parts))
    found = frames(path)
    ends = np.cumsum([len(part) for part in parts]).tolist()
    assert found == list(zip([0, *ends], ends, strict=False))
    for (start, end), text in zip(found, [*texts[:4], b"", *texts[4:]], strict=True):
        with open_part(path, start, end) as handle:
            assert handle.read() == text
    with open_part(path, found[3][0]) as handle:
        assert handle.read() == b"".join(texts[3:])


@pytest.mark.parametrize("damage", ["cut", "more", "other", "none"])
def test_no_frames_are_found_in_a_damaged_file(tmp_path, damage):
    path, whole = tmp_path / "a.txt.zst", b"".join(in_frames(TEXT[:300_000], DRAW.randbytes(150_000)))
    for cut in (1, 3, 5, 100, 140_000) if damage == "cut" else (0,):
        path.write_bytes(
            {"cut": whole[: len(whole) - cut], "more": whole + b"\0", "other": b"text " * 9, "none": b""}[damage]
        )
        assert frames(path) == []
