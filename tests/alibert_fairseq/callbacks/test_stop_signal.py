"""What of the signals ends a process at once."""

import io
import logging
import signal

import pytest

from alibert_fairseq.callbacks.stop_signal import StopSignal


def test_it_may_come_while_a_line_is_written(monkeypatch, capfd):
    """Python's streams raise RuntimeError where a signal handler writes into one that is being written."""
    asked = StopSignal()

    class Raw(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            asked._note(signal.SIGTERM, None)
            return len(data)

    handler = logging.StreamHandler(io.TextIOWrapper(io.BufferedWriter(Raw()), line_buffering=True))
    logger = logging.getLogger("alibert_fairseq")
    logger.addHandler(handler)
    try:
        logger.warning("an update")
    finally:
        logger.removeHandler(handler)
    assert asked.by == signal.SIGTERM
    assert capfd.readouterr().err.endswith("SIGTERM: a checkpoint is saved after this update or the next\n")


@pytest.mark.parametrize("first", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGINT), (signal.SIGUSR2, signal.SIGINT)])
def test_only_a_second_ctrl_c_does(first):
    asked = StopSignal()
    for number in (*first, signal.SIGTERM):
        asked._note(number, None)
    assert asked.by == signal.SIGTERM and asked.stops(1) and not asked.stops(2)
    with pytest.raises(KeyboardInterrupt):
        asked._note(signal.SIGINT, None)
