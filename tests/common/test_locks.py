"""Two commands that want one output."""

import errno
import fcntl
import threading

import pytest

from alibert_common.errors import InputError
from alibert_common.locks import locked


def test_who_comes_second_waits_for_the_end_of_the_first(tmp_path):
    begun, seen = threading.Event(), []

    def second():
        begun.set()
        with locked(tmp_path / "out" / ".lock", "busy", wait=True):
            seen.append((tmp_path / "out" / "done").exists())

    with locked(tmp_path / "out" / ".lock", "busy", wait=True):
        waiting = threading.Thread(target=second)
        waiting.start()
        begun.wait()
        waiting.join(0.3)
        assert waiting.is_alive()
        (tmp_path / "out" / "done").touch()
    waiting.join(10)
    assert seen == [True]


def test_a_file_system_without_locks_is_used_all_the_same(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with locked(tmp_path / "out" / ".lock", "busy", wait=True):
        assert (tmp_path / "out").is_dir()


def test_who_does_not_wait_is_refused_and_the_lock_goes(tmp_path):
    with locked(tmp_path / ".lock", "out: busy."):
        with pytest.raises(InputError, match="out: busy."), locked(tmp_path / ".lock", "out: busy."):
            pass
        with pytest.raises(InputError, match="out: busy."), locked(tmp_path / ".lock", "out: busy."):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_its_holder_removed_locks_nobody(tmp_path, monkeypatch):
    """A command opens the file while another holds it, which then ends and removes it: two would hold two files."""
    file, flock, ended = tmp_path / ".lock", fcntl.flock, []

    def ends_in_this_moment(handle, how):
        if not ended:
            ended.append(file.unlink())
        return flock(handle, how)

    monkeypatch.setattr("fcntl.flock", ends_in_this_moment)
    with locked(file, "busy", wait=True):
        assert ended and file.exists()
        with pytest.raises(InputError), locked(file, "busy"):
            pass


def test_a_lock_on_a_full_disk_is_no_free_lock(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fcntl.flock", full)
    with pytest.raises(OSError, match="No space left"), locked(tmp_path / ".lock", "busy"):
        pass
