"""binarize goes on where it was stopped, does nothing the second time, and shares out the work without a trace."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from binarize_helpers import contents, expected, items
from corpus_helpers import REPOSITORY, write_tokenizer

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from preprocess.binarize import binarize
from preprocess.databin import build, encoded_shards
from preprocess.databin.encoded_shards import text_files


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def texts(directory, count, lines=3):
    """Files of documents: the first has one, the second two, and so on."""
    directory.mkdir()
    for number in range(count):
        documents = [f"Le patient {number} a {document} mg.\n" * lines for document in range(number + 1)]
        (directory / f"{number}.txt").write_text("\n".join(documents), encoding="utf-8")
    return sorted(directory.iterdir())


def work(directory):
    """Where `out` in this directory is half-made."""
    [place] = [place for place in (directory / ".out.work").iterdir() if place.is_dir()]
    return place


@pytest.fixture
def encoded(monkeypatch):
    """The files that were encoded in this process."""
    done = []
    encode = encoded_shards.EncodeFile.__call__

    def remember(self, file):
        encode(self, file)
        done.append(file.path.name)

    monkeypatch.setattr(encoded_shards.EncodeFile, "__call__", remember)
    return done


def test_the_same_again_is_left_alone_and_told_again(tmp_path, tokenizer, encoded):
    splits = {"train": texts(tmp_path / "texts", 3)}
    first = binarize(tokenizer, splits, tmp_path / "out")
    before = (tmp_path / "out" / "train.bin").stat().st_ino
    assert binarize(tokenizer, splits, tmp_path / "out") == first and len(encoded) == 3
    assert (tmp_path / "out" / "train.bin").stat().st_ino == before
    assert first["splits"]["train"]["documents"] == 6


@pytest.mark.parametrize("change", ["text", "tokenizer", "data-bins"])
def test_another_input_is_binarized_anew(tmp_path, tokenizer, encoded, change):
    files = texts(tmp_path / "texts", 2)
    own = write_tokenizer(tmp_path / "tokenizer")
    first = binarize(own, {"train": files}, tmp_path / "out")
    if change == "text":
        files[1].write_text("Pas de toux.\n", encoding="utf-8")
    if change == "tokenizer":
        (own / "tokenizer_config.json").write_text("{}")
    count = 2 if change == "data-bins" else 1
    assert binarize(own, {"train": files}, tmp_path / "out", data_bins=count) != first and len(encoded) == 4


def test_a_tokenizer_that_is_replaced_meanwhile_is_the_older_one_to_the_end(tmp_path, tokenizer, monkeypatch):
    splits, own = {"train": texts(tmp_path / "texts", 2)}, write_tokenizer(tmp_path / "tokenizer")
    binarize(own, splits, tmp_path / "whole")

    def replace(*arguments):
        for name in ("tokenizer.json", "dict.txt"):
            (own / name).write_text("of another training")
        return copy_shared_files(*arguments)

    copy_shared_files = build._copy_shared_files
    monkeypatch.setattr(build, "_copy_shared_files", replace)
    binarize(own, splits, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert "another" in (own / "dict.txt").read_text()


def test_a_tokenizer_that_is_replaced_while_it_is_read_is_refused(tmp_path, tokenizer, monkeypatch):
    splits, own = {"train": texts(tmp_path / "texts", 2)}, write_tokenizer(tmp_path / "tokenizer")
    check = build.tokenizer_digests
    monkeypatch.setattr(build, "tokenizer_digests", lambda path: check(path) | {"dict.txt": "of another one"})
    with pytest.raises(InputError, match="was replaced while it was read"):
        binarize(own, splits, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["texts", "tokenizer"]


def test_what_was_encoded_before_a_failure_is_not_encoded_again(tmp_path, tokenizer, encoded, monkeypatch):
    splits = {"train": texts(tmp_path / "texts", 4)}
    with monkeypatch.context() as patch:
        patch.setattr(encoded_shards.PartReport, "count", fails_at(3, encoded_shards.PartReport.count))
        with pytest.raises(InputError, match="no more"):
            binarize(tokenizer, splits, tmp_path / "out")
        assert encoded == ["3.txt", "2.txt"] and not (tmp_path / "out").exists()  # the largest first
        left = work(tmp_path) / ".scratch" / "parts" / ".00000-00001.ids.1.partial"
        left.write_text("of a killed process")
        patch.setattr(encoded_shards.PartReport, "count", fails_at(1, encoded_shards.PartReport.count))
        with pytest.raises(InputError, match="no more"):
            binarize(tokenizer, splits, tmp_path / "out")
        assert not left.exists()
    binarize(tokenizer, splits, tmp_path / "out")
    assert sorted(encoded) == [f"{number}.txt" for number in range(4)]
    text = "\n".join(file.read_text(encoding="utf-8") for file in splits["train"])
    assert items(tmp_path / "out" / "train") == expected(text)
    assert {path.name for path in tmp_path.iterdir()} == {"texts", "out"}


def fails_at(number, function):
    """The function, which raises InputError when it is called for the `number`-th time."""
    calls = []

    def counted(*arguments):
        calls.append(None)
        if len(calls) == number:
            raise InputError("no more")
        return function(*arguments)

    return counted


def test_what_was_joined_before_a_failure_is_not_joined_again(tmp_path, tokenizer, monkeypatch):
    files = texts(tmp_path / "texts", 2)
    splits = {"train": files, "valid": files[:1]}
    with monkeypatch.context() as patch:
        patch.setattr(build, "_copy_shared_files", fails_at(1, build._copy_shared_files))
        with pytest.raises(InputError, match="no more"):
            binarize(tokenizer, splits, tmp_path / "out")
    before = (work(tmp_path) / "train.bin").stat().st_ino
    binarize(tokenizer, splits, tmp_path / "out")
    assert (tmp_path / "out" / "train.bin").stat().st_ino == before


def started(tokenizer, files, output):
    """The command, on its way with two processes."""
    command = [sys.executable, "-m", "preprocess.binarize", "--tokenizer", tokenizer, "--train", *files]
    command += ["--workers", "2", "--output", output]
    return subprocess.Popen([str(word) for word in command], cwd=REPOSITORY, stderr=subprocess.DEVNULL)


def kill(parent):
    """Kill a command; returns when its processes have ended too, which they were told by nobody."""
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert len(children) >= 2
    wait_for(lambda: not any(Path("/proc", child).exists() for child in children))


def test_a_killed_command_takes_its_processes_with_it_and_is_gone_on_with(tmp_path, tokenizer):
    files = texts(tmp_path / "texts", 8, lines=3000)
    parent, done = started(tokenizer, files, tmp_path / "out"), ".out.work/*/.scratch/parts/*.json"
    wait_for(lambda: list(tmp_path.glob(done)))
    kill(parent)
    kept = list(tmp_path.glob(done))
    assert 0 < len(kept) < 8 and not (tmp_path / "out").exists()
    assert started(tokenizer, files, tmp_path / "out").wait() == 0
    binarize(tokenizer, {"train": files}, tmp_path / "afresh")
    assert contents(tmp_path / "out") == contents(tmp_path / "afresh")
    assert {path.name for path in tmp_path.iterdir()} == {"texts", "out", "afresh"}


def test_so_do_the_processes_of_a_single_file(tmp_path, tokenizer):
    (tmp_path / "a.txt").write_text("Le patient a de la fièvre.\n" * 2_000_000, encoding="utf-8")
    parent = started(tokenizer, [tmp_path / "a.txt"], tmp_path / "out")
    wait_for(lambda: any(part.stat().st_size for part in tmp_path.glob(".out.work/*/.scratch/parts/.*.ids.*")))
    kill(parent)
    assert not list(work(tmp_path).glob(".scratch/parts/*.json")) and not (tmp_path / "out").exists()


def wait_for(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come about in 30 seconds")


@pytest.mark.parametrize("workers", [2, 5])
def test_files_and_blocks_shared_out_make_the_same_bytes(tmp_path, tokenizer, workers):
    """With two processes each takes a file at a time; with five, the large file has three for its blocks."""
    files = texts(tmp_path / "texts", 2, lines=3000) + texts(tmp_path / "more", 3)
    files[1].write_text("La fièvre de 38 °C.\n" * 150_000 + "\nFin.\n", encoding="utf-8")  # three blocks
    splits = {"train": files, "valid": files[:1]}
    binarize(tokenizer, splits, tmp_path / "one")
    binarize(tokenizer, splits, tmp_path / "several", Engine(workers))
    assert contents(tmp_path / "one") == contents(tmp_path / "several")


def sized(directory, *sizes):
    directory.mkdir()
    for number, size in enumerate(sizes):
        (directory / f"{number}.txt").write_bytes(b"x" * size)
    return {"train": sorted(directory.iterdir())}


@pytest.mark.parametrize(
    "sizes, engine, workers",
    [
        ([100, 100], Engine(2), [1, 1]),
        ([990, 10], Engine(2), [2, 1]),
        ([100], Engine(4), [4]),
        ([100, 100, 100], Engine(16), [5, 5, 5]),
        ([1600, 100, 100, 100], Engine(19), [16, 1, 1, 1]),
        ([10] * 40, Engine(8), [1] * 40),
        ([250] * 4, Engine(2, jobs=5), [2] * 4),
        ([0, 0], Engine(2), [1, 1]),
    ],
)
def test_a_file_gets_its_share_of_the_processes(tmp_path, sizes, engine, workers):
    files = text_files(sized(tmp_path / "texts", *sizes), engine)
    assert [file.workers for file in files] == workers
    assert [file.number for file in files] == list(range(len(sizes)))


def end(*_):
    """For a worker process."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("lines", [1, 40_000])  # the second text is more than a pipe holds
def test_a_process_that_is_killed_is_one_sentence(tmp_path, tokenizer, monkeypatch, lines):
    monkeypatch.setattr("preprocess.databin.encoder_pool._work", end)
    (tmp_path / "a.txt").write_text("".join(f"Fin de la consultation numéro {n}.\n" for n in range(lines)))
    with pytest.raises(InputError, match="a worker was killed"):
        binarize(tokenizer, {"train": [tmp_path / "a.txt"]}, tmp_path / "out", Engine(2))
