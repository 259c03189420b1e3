"""Documents to data-bin: what is written, that it does not depend on how the work is shared out, and bad input."""

import errno
import json
import os
import resource
import shutil
import subprocess
from dataclasses import asdict
from types import SimpleNamespace

import pytest
from binarize_helpers import expected, items
from corpus_helpers import one_sentence, run, write_tokenizer

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from preprocess.binarize import binarize
from preprocess.databin import batches, encoder_pool, merge
from preprocess.databin.build import described
from preprocess.databin.encoded_shards import Dropped
from preprocess.databin.fairseq_writer import check_split
from preprocess.databin.merge import SplitCounts
from preprocess.documents.long_lines import Cuts

TEXT = "Le patient a de la fièvre.\nDort mal.\n\nPas de toux.\n\n\nParacétamol 1 g.\nFin.\n"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def binarized(tmp_path, tokenizer, text, workers=1):
    (tmp_path / "train.txt").write_text(text, encoding="utf-8", newline="")
    made = binarize(tokenizer, {"train": [tmp_path / "train.txt"]}, tmp_path / "out", Engine(workers))
    record = made["splits"]["train"]
    return SimpleNamespace(**record | {"cuts": Cuts(**record["cuts"])})


def test_lines_become_their_pieces_and_documents_stand_apart(tmp_path, tokenizer):
    counts = binarized(tmp_path, tokenizer, TEXT)
    assert items(tmp_path / "out" / "train") == expected(TEXT)
    assert counts.documents == 3 and counts.lines == 5 and counts.unknowns == 0
    assert counts.tokens == sum(map(len, expected(TEXT))) - 5 - 2
    check_split(tmp_path / "out" / "train")


@pytest.mark.parametrize("size", [1, 12, 30])
def test_blocks_may_end_anywhere(tmp_path, tokenizer, monkeypatch, size):
    monkeypatch.setattr(batches, "BLOCK_CHARACTERS", size)
    assert binarized(tmp_path, tokenizer, TEXT).documents == 3
    assert items(tmp_path / "out" / "train") == expected(TEXT)


def test_many_blocks_on_their_way_stay_in_order(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(batches, "BLOCK_CHARACTERS", 1)
    text = "\n\n".join(f"Cas {number}." for number in range(40))
    binarized(tmp_path, tokenizer, text, workers=2)
    assert items(tmp_path / "out" / "train") == expected(text)


def test_several_files_are_one_split_and_their_ends_are_ends_of_documents(tmp_path, tokenizer):
    (tmp_path / "a.txt").write_text("Le patient dort.\n\nFin.", encoding="utf-8")
    record = {"id": "1", "source": "s", "text": "La fièvre.\nPas de toux."}
    (tmp_path / "b.jsonl").write_text(json.dumps(record) + "\n")
    binarize(tokenizer, {"train": [tmp_path / "a.txt", tmp_path / "b.jsonl"]}, tmp_path / "out")
    assert items(tmp_path / "out" / "train") == expected("Le patient dort.\n\nFin.\n\nLa fièvre.\nPas de toux.")


@pytest.mark.parametrize("size", [1, 1000])
def test_lines_without_a_token_never_look_like_the_end_of_a_document(tmp_path, tokenizer, monkeypatch, size):
    monkeypatch.setattr(batches, "BLOCK_CHARACTERS", size)
    text = "\u200b\n\nLe patient.\n\u200b\u00ad\nFin.\n\n\ufeff\u200b\n\nToux.\n\n\u200b"
    counts = binarized(tmp_path, tokenizer, text)
    assert items(tmp_path / "out" / "train") == expected("Le patient.\nFin.\n\nToux.")
    assert counts.documents == 2 and counts.lines == 3 and counts.lines_without_token == 4


def test_special_tokens_in_text_are_characters_and_strange_ones_are_counted(tmp_path, tokenizer):
    counts = binarized(tmp_path, tokenizer, "Le <mask> de </s>.\nfi日vre 日\n")
    found = items(tmp_path / "out" / "train")
    assert found == expected("Le <mask> de </s>.\nfi日vre 日") and 2 not in found[0][:-1]
    assert counts.unknowns == sum(item.count(3) for item in found) == 2


def test_a_line_too_long_is_kept_and_its_cuts_are_counted(tmp_path, tokenizer):
    sentence = "Le patient de 54 ans a de la fièvre. "
    counts = binarized(tmp_path, tokenizer, sentence * 6000 + "\nFin.\n")
    found = items(tmp_path / "out" / "train")
    assert counts.cuts == Cuts(lines=1, at_sentence_ends=2) and len(found) == 4 and counts.documents == 1
    joined = [number for item in found[:3] for number in item[:-1]]
    assert joined == expected(sentence)[0][:-1] * 6000


def test_one_process_loads_the_tokenizer_once(tmp_path, tokenizer, monkeypatch):
    loaded = []
    monkeypatch.setattr(
        encoder_pool, "load_tokenizer", lambda path, load=encoder_pool.load_tokenizer: loaded.append(path) or load(path)
    )
    encoder_pool.encoder_of.cache_clear()
    binarized(tmp_path, tokenizer, "Toux.\n\nFièvre.\n")
    assert loaded == [tokenizer]


def test_workers_and_a_second_run_change_no_byte(tmp_path, tokenizer):
    lines = (f"Le patient {number} prend {number % 7} mg. " * 10 + "\n" for number in range(9000))  # three blocks
    text = "".join(line + "\n" * (number % 5 == 0) for number, line in enumerate(lines))
    binarized(tmp_path, tokenizer, text)
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    train = ["--train", tmp_path / "train.txt"]
    for workers in (1, 3):
        command = ["--tokenizer", tokenizer, *train, "--output", tmp_path / "out", "--workers", workers]
        shutil.rmtree(tmp_path / "out")
        result = run("preprocess.binarize", *command)
        assert result.returncode == 0, result.stderr
        assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == first
    assert "1,801 documents, 9,000 lines" in result.stdout and "100%" in result.stderr


def test_the_data_bin_holds_its_tokenizer_and_a_manifest(tmp_path, tokenizer):
    binarized(tmp_path, tokenizer, TEXT)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    split = {"train.bin", "train.idx", "train.documents.jsonl.zst"}
    assert names == split | {"dict.txt", "tokenizer.json", "manifest.json"}
    for name in ("dict.txt", "tokenizer.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tokenizer / name).read_bytes()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["splits"]["train"]["lines"] == 5 and set(manifest["tokenizer"]) == {"dict.txt", "tokenizer.json"}
    assert manifest["splits"]["train"]["inputs"][0]["bytes"] == len(TEXT.encode())


# Bad input


@pytest.fixture
def older(tmp_path):
    """An older data-bin, which must outlive whatever goes wrong."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text('{"command": "binarize", "files": {}}')
    yield tmp_path / "out"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["manifest.json"]
    assert (tmp_path / "out" / "manifest.json").read_text() == '{"command": "binarize", "files": {}}'
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "content, words",
    [(None, "no such file"), (b"", "no document"), (b"Toux.\nd\xe9j\xe0\n", "line 2, byte 2: not UTF-8")],
    ids=["missing", "empty", "not UTF-8"],
)
def test_a_corpus_that_cannot_be_read(older, tmp_path, tokenizer, content, words, workers):
    if content is not None:
        (tmp_path / "train.txt").write_bytes(content)
    with pytest.raises(InputError, match=words):
        binarize(tokenizer, {"train": [tmp_path / "train.txt"]}, older, Engine(workers))


def test_a_corpus_of_which_nothing_is_left(older, tmp_path, tokenizer):
    with pytest.raises(InputError, match="train.txt: the tokenizer finds no token in this text"):
        binarized(tmp_path, tokenizer, "\u200b\n\n\u00ad\n")


def test_a_tokenizer_that_does_not_fit_its_dictionary(older, tmp_path, tokenizer):
    other = shutil.copytree(tokenizer, tmp_path / "other")
    lines = (other / "dict.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (other / "dict.txt").write_text("".join([lines[1], lines[0], *lines[2:]]), encoding="utf-8")
    with pytest.raises(InputError, match="dict.txt, line 1"):
        binarized(tmp_path, other, TEXT)
    (other / "dict.txt").unlink()
    with pytest.raises(InputError, match="dict.txt: no such file"):
        binarized(tmp_path, other, TEXT)


def test_a_disk_that_is_full_while_writing(older, tmp_path, tokenizer, monkeypatch):
    class FullWriter(merge.Writer):
        def add(self, ids, sizes):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(merge, "Writer", FullWriter)
    with pytest.raises(InputError, match="out: No space left on device; free some space and run the command again"):
        binarized(tmp_path, tokenizer, TEXT)
    assert not [path for path in tmp_path.rglob("*") if "partial" in path.name]


def limit_files(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize(
    ("size", "told"),
    [(100_000, "no output was left half-written"), (1_000_000, "out: File too large; raise the limit on the size of")],
    ids=["before anything is done", "in the index"],
)
def test_the_command_when_no_more_can_be_written(older, tmp_path, tokenizer, size, told):
    (tmp_path / "train.txt").write_text("de la\n" * 100_000, encoding="utf-8")
    command = ["--tokenizer", tokenizer, "--train", tmp_path / "train.txt", "--output", older, "--workers", 1]
    sentence = one_sentence(run("preprocess.binarize", *command, preexec_fn=limit_files(size)))
    assert "File too large; raise the limit" in sentence and told in sentence
    assert not [path for path in tmp_path.rglob("*") if "partial" in path.name]


@pytest.fixture
def mounted(tmp_path):
    """A function that mounts a disk with the given options."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def mount(options):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], capture_output=True).returncode:
            pytest.skip("a disk of its own needs the right to mount one")
        return disk

    yield mount
    subprocess.run(["umount", str(disk)], capture_output=True)


def test_the_command_on_a_disk_that_is_really_full(mounted, tmp_path, tokenizer):
    disk = mounted("size=600k")
    (tmp_path / "train.txt").write_text("de la fièvre\n" * 100_000, encoding="utf-8")
    command = ["--tokenizer", tokenizer, "--train", tmp_path / "train.txt", "--output", disk / "out", "--workers", 1]
    sentence = one_sentence(run("preprocess.binarize", *command))
    assert "No space left on device; free some space" in sentence and not (disk / "out").exists()
    assert not [path for path in disk.rglob("*") if "partial" in path.name]
    subprocess.run(["mount", "-o", "remount,size=9m", disk], check=True)
    assert run("preprocess.binarize", *command).returncode == 0
    assert [path.name for path in disk.iterdir()] == ["out"]


def test_the_command_where_it_may_not_write(mounted, tmp_path, tokenizer):
    if os.geteuid() == 0:  # whom permissions do not stop
        disk, refusal = mounted("ro"), "Read-only file system; choose an output"
    else:
        disk, refusal = tmp_path / "disk", "Permission denied; check the permissions"
        disk.chmod(0o555)
    (tmp_path / "train.txt").write_text(TEXT, encoding="utf-8")
    command = ["--tokenizer", tokenizer, "--train", tmp_path / "train.txt", "--output", disk / "out", "--workers", 1]
    assert refusal in one_sentence(run("preprocess.binarize", *command))


def test_an_output_that_cannot_be_or_must_not_be_replaced(tmp_path, tokenizer):
    (tmp_path / "train.txt").write_text(TEXT, encoding="utf-8")
    splits = {"train": [tmp_path / "train.txt"]}
    with pytest.raises(InputError, match="holds other files"):
        binarize(tokenizer, splits, tmp_path)
    with pytest.raises(NotADirectoryError):
        binarize(tokenizer, splits, tmp_path / "train.txt" / "out")
    assert (tmp_path / "train.txt").read_text(encoding="utf-8") == TEXT


def test_counts_are_shown_with_what_was_dropped_and_cut():
    record = asdict(SplitCounts(2, 30, 400, 5)) | asdict(Dropped(1, Cuts(1, 2, 3, 4)))
    shown = "\n".join(described({"splits": {"train": record}}))
    assert "2 documents, 30 lines, 400 tokens, 5 of them unknown" in shown and "1 lines without a token" in shown
    assert "1 lines, 2 at sentence ends, 3 at word ends, 4 inside words" in shown
