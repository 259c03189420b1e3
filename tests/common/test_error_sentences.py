"""What a user can correct is one sentence and an exit code."""

import errno

import pytest

from alibert_common.errors import InputError, exit_with_sentence


@pytest.mark.parametrize(
    "error, sentence",
    [
        (InputError("a.txt: empty; give text."), "error: a.txt: empty; give text.\n"),
        (OSError(errno.ENOSPC, "No space left on device", "out"), "error: out: No space left on device; free some"),
        (PermissionError(errno.EACCES, "Permission denied", "out"), "error: out: Permission denied; check the perm"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence_and_status_2(error, sentence, capsys):
    def main():
        raise error

    with pytest.raises(SystemExit) as caught:
        exit_with_sentence(main)
    assert caught.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith(sentence) and shown.count("\n") == 1


def test_what_a_user_cannot_mend_keeps_its_traceback():
    def main():
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError):
        exit_with_sentence(main)


def test_ctrl_c_is_no_traceback(capsys):
    def stopped():
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as stop:
        exit_with_sentence(stopped)
    assert stop.value.code == 130 and capsys.readouterr().err == "stopped; give the same command again\n"
