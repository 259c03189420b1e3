"""Arrays on the disk."""

import errno
import io
import resource

import numpy as np
import pytest

from alibert_common.arrays import load, save
from alibert_common.errors import exit_with_sentence


@pytest.fixture
def small_files():
    """No file gets larger than 4 kB, which fails as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [4096, 100_000, 10_000_000])
def test_a_full_disk_is_one_sentence(tmp_path, small_files, capsys, size):
    with pytest.raises(OSError) as caught:
        save(tmp_path / "a.npy", np.zeros(size, np.uint8))
    assert caught.value.errno == errno.EFBIG and list(tmp_path.iterdir()) == []
    with pytest.raises(SystemExit) as stop:
        exit_with_sentence(lambda: save(tmp_path / "a.npy", np.zeros(size, np.uint8)))
    said = capsys.readouterr().err
    assert stop.value.code == 2 and said.startswith(f"error: {tmp_path}/a.npy: File too large; raise the limit")


@pytest.mark.parametrize("shape", [(0,), (3, 2), (1_000_000,)])
def test_an_array_is_read_as_it_was_written(tmp_path, shape):
    array = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    save(tmp_path / "a.npy", array)
    assert np.array_equal(load(tmp_path / "a.npy"), array)
    plain = io.BytesIO()
    np.save(plain, array)
    assert (tmp_path / "a.npy").read_bytes() == plain.getvalue()
