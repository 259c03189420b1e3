"""The stages from text to data-bin in Slurm jobs on two nodes: the same bytes as on this machine."""

import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from corpus_helpers import REPOSITORY, one_sentence, run, write_tokenizer

PATIENCE = 180  # seconds for a command to reach Slurm, on a machine that is busy with other tests

FILE = """
sources:
  lettres: {paths: lettres}
  cas: {paths: cas}
  notices: {paths: notices}
  notes: {ingest: {database: 'sqlite:///DATABASE'}, pseudonymise: {key: secret.key}}
deduplicate: {benchmark: {tests: benchmark.txt}}
mix: {core: cas, valid: 0.2}
binarize: {tokenizer: tokenizer, data-bins: 4}
"""


def corpus(directory):
    """Three sources of 12 files, with copies and a repeated line, and notes; a benchmark, a tokenizer, and the file."""
    texts = [file.read_text(encoding="utf-8") for file in sorted((REPOSITORY / "recipes/sample/text").glob("*.txt"))]
    for first, source in enumerate(("lettres", "cas", "notices")):
        (directory / source).mkdir(parents=True)
        for number, text in enumerate(texts[first * 10 : first * 10 + 12]):  # two stand in the next source, too
            text = f"Veuillez lire attentivement cette notice.\n{text}"
            (directory / source / f"{number}.txt").write_text(text, encoding="utf-8")
    (directory / "benchmark.txt").write_text(texts[15].splitlines()[3], encoding="utf-8")
    write_tokenizer(directory / "tokenizer")
    with sqlite3.connect(directory / "omop.db") as database:
        database.execute("CREATE TABLE note (note_id, person_id, note_text)")
        rows = [
            (number, number % 4, f"Mme Durand, vue {number} fois.\n{text}") for number, text in enumerate(texts[40:52])
        ]
        database.executemany("INSERT INTO note VALUES (?, ?, ?)", rows)
    database.close()
    (directory / "corpus.yaml").write_text(FILE.replace("DATABASE", f"{directory}/omop.db"), encoding="utf-8")
    return directory / "corpus.yaml"


def made(place, file, *options):
    """{file: content} of what the command wrote, the same path from its own folder wherever that is."""
    place.mkdir()
    command = [sys.executable, "-m", "preprocess.corpus", file, "--output", "corpus", "--workers", "1", *options]
    result = subprocess.run(command, cwd=place, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_two_nodes_write_what_this_machine_writes(two_node_slurm, tmp_path):
    pytest.importorskip("sqlalchemy")
    file = corpus(tmp_path / "texts")
    here, there = made(tmp_path / "here", file), made(tmp_path / "there", file, "--slurm", "2")
    assert here.keys() == there.keys() and [name for name in here if here[name] != there[name]] == []
    assert "corpus/pseudonymised/notes.check.html" in here
    assert {"corpus/unique/00000.jsonl.zst", "corpus/report/corpus.md"} <= here.keys()
    assert {f"corpus/data-bin/{number}/{split}.bin" for number in range(1, 5) for split in ("train2", "valid")} <= set(
        here
    )


def test_what_slurm_and_the_text_refuse_is_one_sentence(two_node_slurm, tmp_path):
    (tmp_path / "latin.txt").write_bytes("déjà\n".encode("latin-1"))
    words = ("--workers", "1", "--slurm", "2", "--output")
    assert "line 1: not UTF-8" in one_sentence(
        run("preprocess.ingest", tmp_path / "latin.txt", *words, tmp_path / "out")
    )
    (tmp_path / "latin.txt").write_text("déjà\n")
    absent = ("--partition", "absent")
    refused = run("preprocess.ingest", tmp_path / "latin.txt", *words, tmp_path / "other", *absent)
    assert "Slurm refused the job" in one_sentence(refused)
    assert not (tmp_path / "out").exists() and not (tmp_path / "other").exists()


def queue():
    return subprocess.run(["squeue", "--noheader"], capture_output=True, text=True).stdout.split()


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"it did not come about in {PATIENCE} seconds"
        time.sleep(0.2)


def test_jobs_of_a_command_that_is_stopped_or_killed_are_ended(two_node_slurm, tmp_path):
    (tmp_path / "a.txt").write_text("un\n")
    ingest = ("preprocess.ingest", tmp_path / "a.txt", "--output", tmp_path / "out", "--workers", "1")
    waiting = [sys.executable, "-m", *map(str, ingest), "--slurm", "1", "--sbatch", "begin=now+3600"]
    for number in (signal.SIGTERM, signal.SIGKILL):
        command = subprocess.Popen(waiting, cwd=REPOSITORY, stderr=subprocess.DEVNULL)
        wait_for(lambda: queue() and list(tmp_path.rglob("*.array")))
        command.send_signal(number)
        command.wait()
        if number == signal.SIGTERM:
            assert command.returncode == 128 + number
            wait_for(lambda: not queue())
    assert queue()
    result = run(*ingest, "--licence", "MIT")
    assert result.returncode == 0 and not queue(), result.stderr
    assert "made anew; changed since: settings\n" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "out"]


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("--partition", "test"), "give --slurm JOBS too"),
        (("--slurm", "2", "--sbatch", "array=3"), "of an option that this command does not set itself"),
    ],
)
def test_options_of_slurm_without_slurm_and_those_of_ours_are_refused(words, remedy, tmp_path):
    (tmp_path / "a.txt").write_text("un\n")
    run_words = ("--output", tmp_path / "out", *words)
    sentence = one_sentence(run("preprocess.ingest", tmp_path / "a.txt", *run_words))
    assert remedy in sentence
