"""What of the signals ends a process at once."""

import signal

import pytest

from alibert_fairseq.callbacks.stop_signal import StopSignal


@pytest.mark.parametrize("first", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGINT), (signal.SIGUSR2, signal.SIGINT)])
def test_only_a_second_ctrl_c_does(first):
    asked = StopSignal()
    for number in (*first, signal.SIGTERM):
        asked._note(number, None)
    assert asked.by == signal.SIGTERM and asked.stops(1) and not asked.stops(2)
    with pytest.raises(KeyboardInterrupt):
        asked._note(signal.SIGINT, None)
