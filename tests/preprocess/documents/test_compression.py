"""Compressed documents are read as plain ones are; half a file is never taken for a whole one."""

import gzip
import random

import pytest
import zstandard

from alibert_common.errors import InputError
from alibert_common.input_log import InputLog
from preprocess.documents.document import read_documents

COMPRESS = {".gz": gzip.compress, ".zst": zstandard.compress}
# 4 MB that hardly compress: several chunks of every reader
DRAW = random.Random(1)
LINES = [" ".join(f"{DRAW.random():.9f}" for _ in range(20)) for _ in range(20_000)]
TEXT = "\n\n".join(LINES).encode()


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
