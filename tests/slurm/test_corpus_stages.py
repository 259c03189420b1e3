"""The stages before the data-bin in Slurm jobs on two nodes: the same bytes as on this machine."""

import hashlib

import pytest
from corpus_helpers import one_sentence, run

STAGES = (("ingest", "documents"), ("clean", "clean"), ("deduplicate", "unique"), ("mix", "mixed"))


def corpus(directory):
    """Three sources of several files, with copies and repeated lines."""
    for source in ("lettres", "cas", "notices"):
        (directory / source).mkdir(parents=True)
        for number in range(12):
            lines = ["Veuillez lire attentivement cette notice.", f"Le patient numéro {number % 9} de {source} tousse."]
            (directory / source / f"{number}.txt").write_text("\n".join(lines), encoding="utf-8")
    return [directory / source for source in ("lettres", "cas", "notices")]


def run_stages(place, sources, *options):
    """All stages, one after the other; {file: digest} of what they wrote."""
    inputs = sources
    for stage, output in STAGES:
        result = run(f"preprocess.{stage}", *inputs, "--output", place / output, "--workers", "1", *options)
        assert result.returncode == 0, result.stderr
        inputs = [place / output]
    files = sorted(path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): digest(path, place) for path in files}


def digest(path, place):
    """Of the content, without the place where it was made, which the manifests name."""
    content = path.read_bytes().replace(str(place).encode(), b"PLACE")
    if path.name == "manifest.json":  # the key holds the paths of the inputs
        content = b"\n".join(line for line in content.splitlines() if b'"key"' not in line)
    return hashlib.sha256(content).hexdigest()


def test_two_nodes_write_what_this_machine_writes(two_node_slurm, tmp_path):
    sources = corpus(tmp_path / "corpus")
    here = run_stages(tmp_path / "here", sources)
    there = run_stages(tmp_path / "there", sources, "--slurm", "2")
    assert here == there
    assert {"mixed/mix.json", "clean/dropped.txt", "unique/00000.jsonl.zst"} <= here.keys()


def test_what_slurm_and_the_text_refuse_is_one_sentence(two_node_slurm, tmp_path):
    (tmp_path / "latin.txt").write_bytes("déjà\n".encode("latin-1"))
    words = ("--output", tmp_path / "out", "--workers", "1", "--slurm", "2")
    assert "line 1: not UTF-8" in one_sentence(run("preprocess.ingest", tmp_path / "latin.txt", *words))
    (tmp_path / "latin.txt").write_text("déjà\n")
    refused = run("preprocess.ingest", tmp_path / "latin.txt", *words, "--partition", "absent")
    assert "Slurm refused the job" in one_sentence(refused)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [("--partition", "test"), ("--sbatch", "array=3")])
def test_options_of_slurm_alone_are_refused(words, tmp_path):
    (tmp_path / "a.txt").write_text("un\n")
    run_words = ("--output", tmp_path / "out", *words)
    sentence = one_sentence(run("preprocess.ingest", tmp_path / "a.txt", *run_words))
    assert "give --slurm JOBS too" in sentence or "does not have itself" in sentence
