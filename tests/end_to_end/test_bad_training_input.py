"""What `fairseq-train` says of a data-bin it cannot use: one sentence, and no checkpoint."""

import shutil
import subprocess

import pytest
from test_pretraining import ENVIRONMENT, command


@pytest.fixture
def broken(data_bin, tmp_path):
    """A copy of the data-bin to break."""
    return shutil.copytree(data_bin, tmp_path / "data-bin")


def refused(data, repository, tmp_path, *options) -> str:
    done = subprocess.run(
        command("electra", data, tmp_path / "save", repository, "--max-update", "1", *options),
        text=True, capture_output=True, env=ENVIRONMENT, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode != 0 and "Traceback" not in done.stderr, done.stderr[-2000:]
    assert not (tmp_path / "save" / "checkpoint_last.pt").exists()
    return next(line for line in done.stderr.splitlines() if line.startswith("error: "))


@pytest.mark.parametrize("name", ["train.bin", "train.idx"])
def test_a_truncated_split(name, broken, repository, tmp_path):
    file = broken / name
    file.write_bytes(file.read_bytes()[:-7])
    assert name in refused(broken, repository, tmp_path)


def test_a_data_bin_of_another_dictionary(broken, repository, tmp_path):
    lines = (broken / "dict.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (broken / "dict.txt").write_text("".join(lines[:300]), encoding="utf-8")
    assert "dict.txt" in refused(broken, repository, tmp_path)  # the tokenizer beside it does not fit
    (broken / "tokenizer.json").unlink()
    assert "is not in dict.txt" in refused(broken, repository, tmp_path)  # nor do the ids


def test_a_tokenizer_whose_ids_are_not_those_of_the_dictionary(broken, repository, tmp_path):
    lines = (broken / "dict.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    lines[5], lines[6] = lines[6], lines[5]
    (broken / "dict.txt").write_text("".join(lines), encoding="utf-8")
    assert "dict.txt, line 6" in refused(broken, repository, tmp_path)


def test_a_second_data_bin_of_another_dictionary(broken, data_bin, repository, tmp_path):
    lines = (broken / "dict.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (broken / "dict.txt").write_text("".join(reversed(lines)), encoding="utf-8")
    (broken / "tokenizer.json").unlink()
    assert f"not the dict.txt of {data_bin}" in refused(f"{data_bin}:{broken}", repository, tmp_path)


@pytest.mark.parametrize("options", [["--mask-prob", "0"], ["--encoder-attention-heads", "3"]])
def test_settings_that_cannot_be(options, data_bin, repository, tmp_path):
    assert "must" in refused(data_bin, repository, tmp_path, *options)


def test_no_dictionary(broken, repository, tmp_path):
    (broken / "dict.txt").unlink()
    assert "no dict.txt" in refused(broken, repository, tmp_path)


def test_no_training_split(broken, repository, tmp_path):
    (broken / "train.bin").unlink()
    assert "train.bin: no such file" in refused(broken, repository, tmp_path)
