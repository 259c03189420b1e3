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
    assert oracle.unraised(golden, found, oracle.stage_versions()) == ""
    names = found.keys() | golden["files"].keys()
    assert {name for name in names if found.get(name) != golden["files"].get(name)} == set()
    assert oracle.stage_versions() == golden["stage_versions"]


def test_other_bytes_of_the_same_version_name_the_first_stage_to_raise():
    golden = {
        "files": {"corpus/clean/s/0": "a", "corpus/mixed/mix.json": "b"},
        "stage_versions": {"clean": 1, "mix": 1},
    }
    found = {"corpus/clean/s/0": "other", "corpus/mixed/mix.json": "other"}
    assert oracle.unraised(golden, golden["files"], {"clean": 1, "mix": 1}) == ""
    sentence = oracle.unraised(golden, found, {"clean": 1, "mix": 2})
    assert sentence == "preprocess/clean.py: corpus/clean/s/0 has other bytes; raise its VERSION"
    assert oracle.unraised(golden, found, {"clean": 2, "mix": 1}) == ""
    assert "preprocess/mix.py" in oracle.unraised(
        golden, golden["files"] | {"corpus/mixed/new": "c"}, {"clean": 1, "mix": 1}
    )


def test_other_bytes_of_the_same_version_are_not_recorded(tmp_path, monkeypatch):
    file = tmp_path / "oracle.json"
    monkeypatch.setattr("sys.argv", ["oracle.py", "--text-only", "--write", str(file)])
    monkeypatch.setattr(oracle, "record", lambda text_only: {"corpus/clean/s/0": "a"})
    oracle.main()
    before = file.read_text()
    monkeypatch.setattr(oracle, "record", lambda text_only: {"corpus/clean/s/0": "other"})
    with pytest.raises(SystemExit, match="preprocess/clean.py: .* raise its VERSION"):
        oracle.main()
    assert file.read_text() == before
    raised = {"clean": oracle.stage_versions()["clean"] + 1}
    monkeypatch.setattr(oracle, "stage_versions", lambda: raised)
    oracle.main()
    assert json.loads(file.read_text())["stage_versions"] == raised
