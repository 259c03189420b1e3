"""Ten losses of every objective are those that were written down (make.py says how)."""

import importlib.util
import json
import os
from pathlib import Path

import pytest
from forked import run

spec = importlib.util.spec_from_file_location("make_golden", Path(__file__).with_name("make.py"))
make_golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_golden)


def log_of(command: list[str], place: Path) -> str:
    return run(*command, cwd=place, env=os.environ | {"OMP_NUM_THREADS": "1"})


@pytest.mark.parametrize("objective", make_golden.OBJECTIVES)
def test_ten_losses_are_the_golden_ones(objective):
    golden = json.loads(make_golden.LOSSES.read_text(encoding="utf-8"))[objective]
    tolerance = make_golden.TOLERANCE.get(objective, make_golden.OTHERS)
    assert make_golden.make([objective], log_of)[objective] == pytest.approx(golden, abs=tolerance)
