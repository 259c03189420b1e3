"""Near-duplicates through the files: what goes is like what stays, crowded buckets are looked through again."""

import os
import random
import resource
import tracemalloc

import numpy as np
import pytest

from alibert_common.arrays import save
from alibert_common.executors.base import ALONE, Engine
from preprocess.deduplication import hashes, minhash, repeated_documents
from preprocess.deduplication.hashes import Keys, MakeKeys
from preprocess.deduplication.minhash import Settings, band_keys, signatures, similar
from preprocess.deduplication.repeated_documents import find_near, find_same
from preprocess.deduplication.repeated_lines import divide_groups
from preprocess.documents.document import Document
from preprocess.documents.shards import written_shard


def stored(directory, signature, settings):
    """A corpus of one part with these signatures, as MakeKeys leaves it."""
    save(directory / "00000.parts.npy", np.array([len(signature)]))
    save(directory / "00000-00000.signatures.npy", signature)
    save(directory / "00000-00000.bands.npy", np.ascontiguousarray(band_keys(signature, settings).T))
    return Keys.of(directory, 1)


def check(signature, settings, dropped, kept):
    """What goes is like an earlier one that stays."""
    assert (kept < dropped).all() and not set(dropped.tolist()) & set(kept.tolist())
    assert (similar(signature[dropped], signature[kept]) >= settings.threshold).all()


def crowd(settings):
    """400 documents of 8 kinds in random order. One bucket holds all, no other two; of a kind 7 of 8 slots agree, of
    different kinds 4."""
    kinds = np.random.default_rng(1).permutation(np.repeat(np.arange(8), 50))
    signature = np.full((400, settings.permutations), 7, np.uint32)
    signature[:, 4:7] = kinds[:, None]
    signature[:, 7] = np.arange(400)
    return kinds, signature


def test_there_may_be_more_shards_than_a_process_may_open_files(tmp_path):
    settings = Settings()
    make = MakeKeys(tmp_path, 1, settings)
    for number in range(80):
        with written_shard(tmp_path / "shard.jsonl.zst") as shard:
            shard.write(
                Document("a", "b", [f"Le patient numéro {number % 40} tousse, et il a une fièvre de 39 degrés."])
            )
        make((number, tmp_path / "shard.jsonl.zst"))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = max(map(int, os.listdir("/proc/self/fd")))  # of this process, by the tests that it ran before
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken + 60, before[1]))
    try:
        corpus = Keys.of(tmp_path, 80)
        same = find_same(corpus)
        assert same.tolist() == [False] * 40 + [True] * 40
        assert len(corpus.signatures(np.arange(80))) == len(corpus.band(3)) == 80
        find_near(corpus, same, settings, ALONE, tmp_path)
        (groups,) = divide_groups(tmp_path, corpus.parts)
        assert len(np.concatenate([groups.read(part) for part in range(80)])) == 80
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_what_is_left_of_a_crowded_bucket_is_compared_again(tmp_path, monkeypatch):
    settings = Settings(bands=2, rows=4, threshold=0.8, neighbours=10)
    kinds, signature = crowd(settings)
    corpus = stored(tmp_path, signature, settings)
    dropped, kept = find_near(corpus, np.zeros(400, bool), settings, ALONE, tmp_path)
    check(signature, settings, dropped, kept)
    assert len(dropped) == 392 and (kinds[dropped] == kinds[kept]).all()
    for file in tmp_path.glob("near-*"):
        file.unlink()
    monkeypatch.setattr(repeated_documents, "ROUNDS", 1)
    assert len(find_near(corpus, np.zeros(400, bool), settings, ALONE, tmp_path)[0]) < 392


class Counting(Engine):
    """Counts how often pieces are handed to it, as to Slurm."""

    def __init__(self):
        super().__init__(jobs=2)
        self.runs = []

    def run(self, name, function, pieces, logs):
        self.runs.append(len(pieces))
        for piece in pieces:
            function(piece)


def test_only_crowded_buckets_need_another_round_and_it_runs_here(tmp_path):
    settings = Settings(bands=2, rows=4, threshold=0.8, neighbours=10)
    kinds, signature = crowd(settings)
    for name, some in (("few", np.arange(11)), ("many", np.arange(400))):
        (tmp_path / name).mkdir()
        corpus, engine = stored(tmp_path / name, signature[some], settings), Counting()
        dropped, _ = find_near(corpus, np.zeros(len(some), bool), settings, engine, tmp_path)
        assert engine.runs == [2] and len(dropped) == len(some) - len(set(kinds[some].tolist()))
        assert (tmp_path / name / "gone-1.npy").exists() == (name == "many")


def test_a_chain_of_versions_is_cut_where_they_differ(tmp_path, monkeypatch):
    """Five versions of 20 texts, each with 6 of 150 words replaced in the one before: J 0.80, 0.64 after two steps,
    0.51 after three. The greedy definition, over all pairs, by the estimates."""
    monkeypatch.setattr(repeated_documents, "PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(hashes, "PART_CHARACTERS", 5_000)
    draw = random.Random(3)
    chains = []
    for _ in range(20):
        words = [f"mot{draw.randrange(5000)}" for _ in range(150)]
        for version in range(5):
            words = [*words]
            for place in draw.sample(range(150), 6 if version else 0):
                words[place] = f"autre{draw.randrange(5000)}"
            chains.append(" ".join(words))
    draw.shuffle(chains)
    settings = Settings()
    with written_shard(tmp_path / "in.jsonl.zst") as target:
        for number, text in enumerate(chains):
            target.write(Document(str(number), "s", [text]))
    MakeKeys(tmp_path, None, settings)((0, tmp_path / "in.jsonl.zst"))
    corpus = Keys.of(tmp_path, 1)
    assert len(corpus.parts) > 10
    same = find_same(corpus)
    dropped, kept = find_near(corpus, same, settings, ALONE, tmp_path)
    signature = signatures(chains, settings)
    check(signature, settings, dropped, kept)
    stay = []
    for number in range(100):
        if not stay or similar(signature[[number]], signature[stay]).max() < settings.threshold:
            stay.append(number)
    assert sorted(set(range(100)) - set(dropped.tolist())) == stay and 20 < len(stay) < 60
    assert not same.any()


@pytest.mark.parametrize("characters", [1, 40, 10**9])
def test_keys_are_the_same_in_parts_of_any_size(tmp_path, monkeypatch, characters):
    monkeypatch.setattr(hashes, "PART_CHARACTERS", characters)
    monkeypatch.setattr(minhash, "CHARACTERS_A_CALL", 60)
    monkeypatch.setattr(minhash, "DOCUMENTS_A_CALL", 2)
    texts = [f"Le patient numéro {number} tousse.\nBien." for number in range(9)]
    (tmp_path / "in.txt").write_text("\n\n".join(texts))
    MakeKeys(tmp_path, 1, Settings())((0, tmp_path / "in.txt"))
    corpus = Keys.of(tmp_path, 1)
    assert len(corpus.parts) == {1: 9, 40: 5, 10**9: 1}[characters]  # of 33 characters a document
    signature = signatures(texts, Settings())
    assert (corpus.signatures(np.arange(9)[::-1]) == signature[::-1]).all()
    assert (corpus.band(3) == band_keys(signature, Settings())[:, 3]).all()
    assert len({tuple(key) for key in corpus.keys().tolist()}) == 9 == corpus.starts[-1]


@pytest.mark.parametrize(
    "part, lines_of, near, documents", [(300_000, 20, None, 2_000), (10**9, None, Settings(), 1_000)]
)
def test_a_large_file_takes_the_memory_of_a_part(tmp_path, monkeypatch, part, lines_of, near, documents):
    """4 MB of text, which take 10 MB and more as lines and their keys; 2 MB, signed 0.1 MB at a time."""
    monkeypatch.setattr(hashes, "PART_CHARACTERS", part)
    monkeypatch.setattr(minhash, "CHARACTERS_A_CALL", 100_000)
    with open(tmp_path / "in.txt", "w") as handle:
        for number in range(documents):
            handle.write(f"{number} le patient tousse encore et dort mal la nuit\n" * 40 + "\n")
    make = MakeKeys(tmp_path, lines_of, near)
    signatures(["pour que tout ce qui s'importe le soit"], Settings())
    tracemalloc.start()
    make((0, tmp_path / "in.txt"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000
