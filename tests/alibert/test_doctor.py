"""`alibert doctor`: what it reports, and its exit code."""

import pytest

from alibert import doctor


@pytest.fixture
def report(monkeypatch, capsys):
    """A function: (exit code, the report) with imports that fail if their code holds one of the names."""

    def run(*failing: str, missing: tuple[str, ...] = ()) -> tuple[int, str]:
        def python(code: str) -> tuple[bool, str]:
            return (False, "ImportError: broken") if any(name in code for name in failing) else (True, "none")

        original = doctor.installed
        monkeypatch.setattr(doctor, "python", python)
        monkeypatch.setattr(doctor, "installed", lambda name: None if name in missing else original(name))
        with pytest.raises(SystemExit) as ended:
            doctor.main([])
        return ended.value.code, capsys.readouterr().out

    return run


def test_a_whole_installation_is_well(report):
    code, text = report()
    assert code == 0 and text.endswith("everything needed works\n")
    for name in ("Python", "torch", "transformers", "repairs of fairseq", "Slurm", "HF_HUB_OFFLINE", "cores"):
        assert name in text


@pytest.mark.parametrize("broken", ["import torch\n", "from transformers", "fairseq_cli", "alibert_fairseq"])
def test_a_library_that_cannot_be_imported_is_a_problem(report, broken):
    code, text = report(broken)
    assert code == 1 and " broken  " in text and "ImportError: broken" in text


def test_a_missing_extra_has_a_remedy_and_is_no_problem(report, monkeypatch):
    monkeypatch.setattr(doctor, "needs", lambda: {"": ["torch"], "parquet": ["pyarrow"], "fairseq": ["fairseq"]})
    code, text = report(missing=("pyarrow", "fairseq"))
    assert code == 0
    assert "uv pip install 'alibert_fairseq[parquet]'" in text and "uv pip install 'alibert_fairseq[fairseq]'" in text


def test_a_missing_requirement_is_a_problem(report, monkeypatch):
    monkeypatch.setattr(doctor, "needs", lambda: {"": ["torch", "numpy"]})
    code, text = report(missing=("numpy",))
    assert code == 1 and "required packages: numpy not installed" in text


def test_the_requirements_are_those_of_the_metadata(monkeypatch):
    lines = ["torch>=2.4", 'fairseq==0.12.2; extra == "fairseq"', "pyarrow>=16; extra == 'parquet'"]
    monkeypatch.setattr(doctor, "requires", lambda name: lines)
    assert doctor.needs() == {"": ["torch"], "fairseq": ["fairseq"], "parquet": ["pyarrow"]}


def test_the_import_hook_is_said_to_be_there_or_not(report, monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "HOOK", "of_this_test.pth")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "`fairseq-train` and recipes lack the repairs; try `alibert train`" in report()[1]
    (tmp_path / doctor.HOOK).touch()
    assert f"the import hook starts with Python: {tmp_path / doctor.HOOK}" in report()[1]


def test_an_end_of_a_process_is_told_by_its_last_line():
    assert doctor.python("print('well')") == (True, "well")
    assert doctor.python("raise ImportError('no such library')") == (False, "ImportError: no such library")
