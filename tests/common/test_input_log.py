"""Sizes and digests of what was read."""

import hashlib
import os
import sys

import pytest

from alibert_common.input_log import InputLog


def test_the_log_knows_size_and_hash_of_what_was_read(tmp_path):
    path = tmp_path / "in.txt"
    content = os.urandom(3_000_000)
    path.write_bytes(content)
    log = InputLog()
    with log.open(path) as handle:
        handle.read(10)
        assert 0 < log.bytes_read < len(content)
        handle.read()
    assert log.manifest() == [{"path": str(path), "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_input_files_are_closed_when_read(tmp_path):
    (tmp_path / "in.txt").write_text("texte")
    log = InputLog()
    with log.open(tmp_path / "in.txt") as handle:
        handle.read()
    assert str(tmp_path / "in.txt") not in {os.readlink(f"/proc/self/fd/{fd}") for fd in open_descriptors()}


def open_descriptors():
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}")]
