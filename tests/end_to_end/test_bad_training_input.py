"""What `fairseq-train` says of a data-bin it cannot use: one sentence, and no checkpoint."""

import shutil
import subprocess

import pytest
from fairseq import checkpoint_utils
from forked import finish, run
from test_pretraining import ENVIRONMENT, command


@pytest.fixture
def broken(data_bin, tmp_path):
    """A copy of the data-bin to break."""
    return shutil.copytree(data_bin, tmp_path / "data-bin")


def refused(data, repository, tmp_path, *options) -> str:
    sentence = said(command("electra", data, tmp_path / "save", repository, "--max-update", "1", *options), tmp_path)
    assert not (tmp_path / "save" / "checkpoint_last.pt").exists()
    return sentence


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


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--mask-prob", "0"], "must"),
        (["--encoder-attention-heads", "3"], "must"),
        (["--tokens-per-sample", "600"], "--tokens-per-sample 600 is more than --max-positions 512"),
        (["--tokens-per-sample", "1"], "--tokens-per-sample 1: no room for a token beside <s>; give at least 2"),
    ],
)
def test_settings_that_cannot_be(options, complaint, data_bin, repository, tmp_path):
    assert complaint in refused(data_bin, repository, tmp_path, *options)


@pytest.fixture(scope="module")
def trained(data_bin, repository, tmp_path_factory):
    """A run of one update."""
    save = tmp_path_factory.mktemp("trained") / "save"
    run(*command("electra", data_bin, save, repository, "--max-update", "1"), cwd=save.parent, env=ENVIRONMENT)
    return save


def said(arguments, cwd) -> str:
    """The sentence of a command that must fail."""
    status, output = finish(arguments, cwd, ENVIRONMENT)
    assert status in (1, 2) and "Traceback" not in output, output[-2000:]
    return next(line for line in output.splitlines() if line.startswith("error: "))


def test_the_checkpoint_of_another_objective(trained, data_bin, repository, tmp_path):
    shutil.copytree(trained, tmp_path / "save")
    other = command("mlm", data_bin, tmp_path / "save", repository, "--max-update", "2", "--optimizer", "lamb")
    sentence = said(other, tmp_path)
    assert "checkpoint_last.pt: its parameters are not those of this model" in sentence


def test_the_checkpoint_of_another_tokenizer_with_a_vocabulary_as_large(trained, broken, repository, tmp_path):
    shutil.copytree(trained, tmp_path / "save")
    lines = (broken / "dict.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (broken / "dict.txt").write_text("".join(reversed(lines)), encoding="utf-8")
    (broken / "tokenizer.json").unlink()
    sentence = said(command("electra", broken, tmp_path / "save", repository, "--max-update", "2"), tmp_path)
    assert "its dict.txt is not the one of the checkpoint's training" in sentence


@pytest.mark.parametrize("share", [0.5, 1.5], ids=["the first", "the second"])
def test_a_full_disk_leaves_the_checkpoints_whole(share, trained, data_bin, repository, tmp_path):
    """A disk with room for so many checkpoints gets two, each under two names."""
    size = int(share * (trained / "checkpoint_last.pt").stat().st_size)
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no disk of a given size can be mounted here ({mounted.stderr.decode().strip()})")
    try:
        options = ["--max-update", "2", "--save-interval-updates", "1"]
        sentence = said(command("electra", data_bin, disk, repository, *options), tmp_path)
        left = [path.name for path in disk.iterdir() if path.suffix != ".jsonl" and path.name != ".owner"]
        for path in disk.glob("*.pt"):
            checkpoint_utils.load_checkpoint_to_cpu(str(path))
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert "not written (No space left on device); make room" in sentence
    assert len(left) == 2 * int(share) and not any(name.endswith(".tmp") for name in left)


def test_no_dictionary(broken, repository, tmp_path):
    (broken / "dict.txt").unlink()
    assert "no dict.txt" in refused(broken, repository, tmp_path)


def test_no_training_split(broken, repository, tmp_path):
    (broken / "train.bin").unlink()
    assert "train.bin: no such file" in refused(broken, repository, tmp_path)
