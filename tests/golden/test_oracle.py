"""What the sample gives, up to the data-bin, is byte for byte what was written down (oracle.py says how)."""

import importlib.util
import json
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("oracle", Path(__file__).with_name("oracle.py"))
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)


def test_the_sample_gives_the_golden_files():
    golden = json.loads(Path(__file__).with_name("oracle.json").read_text(encoding="utf-8"))
    if (installed := oracle.versions()) != golden["versions"]:
        pytest.skip(f"recorded with {golden['versions']}, here are {installed}")
    found = oracle.record(text_only=True)
    names = found.keys() | golden["files"].keys()
    assert {name for name in names if found.get(name) != golden["files"].get(name)} == set()
