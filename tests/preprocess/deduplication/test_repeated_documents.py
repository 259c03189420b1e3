"""Near-duplicates through the files: what goes is like what stays, and what stays is compared again."""

import os
import random
import resource
import tracemalloc

import numpy as np
import pytest

from alibert_common.arrays import save
from alibert_common.executors.base import ALONE, Engine
from preprocess.deduplication import hashes, minhash, repeated_documents, repeated_lines
from preprocess.deduplication.hashes import Keys, MakeKeys
from preprocess.deduplication.key_ranges import KeyRange
from preprocess.deduplication.minhash import Settings, signatures, similar
from preprocess.deduplication.repeated_documents import find_near, find_same
from preprocess.deduplication.repeated_lines import FindRepeated, save_lines
from preprocess.documents.document import Document
from preprocess.documents.shards import written_shard


def stored(directory, signature, settings, part=10**9):
    """A corpus with these signatures, in parts of so many documents, as MakeKeys leaves it."""
    make, shards = MakeKeys(directory, None, settings), range(0, len(signature), part)
    for shard, start in enumerate(shards):
        some = signature[start : start + part]
        make._save_signatures(directory / f"{shard:05d}-00000", some, settings)
        save(directory / f"{shard:05d}.parts.npy", np.array([len(some)]))
    return Keys.of(directory, len(shards))


def check(signature, settings, dropped):
    """What goes is like an earlier one that stays."""
    kept = np.flatnonzero(~dropped)
    for number in np.flatnonzero(dropped):
        before = kept[kept < number]
        assert similar(signature[[number]], signature[before]).max() >= settings.threshold


def test_there_may_be_more_shards_than_a_process_may_open_files(tmp_path, monkeypatch):
    settings = Settings(bands=80, rows=1, threshold=0.3)  # so that most files of pairs have some
    make = MakeKeys(tmp_path, 1, settings)
    for number in range(40):
        with written_shard(tmp_path / "shard.jsonl.zst") as shard:
            shard.write(
                Document("a", "b", [f"Le patient numéro {number % 20} tousse, et il a une fièvre de 39 degrés."])
            )
        make((number, tmp_path / "shard.jsonl.zst"))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = max(map(int, os.listdir("/proc/self/fd")))  # of this process, by the tests that it ran before
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken + 30, before[1]))
    monkeypatch.setattr(repeated_documents, "ENTRIES_AT_ONCE", 20)
    monkeypatch.setattr(repeated_lines, "LINES_AT_ONCE", 1)
    try:
        corpus = Keys.of(tmp_path, 40)
        same = find_same(corpus, ALONE, tmp_path)
        assert same.tolist() == [False] * 20 + [True] * 20
        assert len(corpus.signatures(np.arange(40), settings)) == 40
        find_near(corpus, same, settings, ALONE, tmp_path)
        find = FindRepeated(tuple(corpus.file(part, "lines") for part in range(40)), tmp_path / "lines", 1)
        ranges = list(find.ranges())
        assert len(ranges) > 30
        for keys in ranges:
            find(keys)
        assert sum(len(find.places(ranges, part)) for part in range(40)) == 20
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("part, entries, pairs", [(10**9, 10**9, 10**9), (37, 50, 1)])
def test_a_crowded_bucket_is_thinned_out_by_its_first_documents(tmp_path, monkeypatch, part, entries, pairs):
    """400 documents of 8 kinds in random order. One bucket holds all, no other two; of a kind 7 of 8 slots agree, of
    different kinds 4. Ten documents are compared with all others: one of each kind."""
    monkeypatch.setattr(repeated_documents, "ENTRIES_AT_ONCE", entries)
    monkeypatch.setattr(repeated_documents, "PAIRS_AT_ONCE", pairs)
    settings = Settings(bands=2, rows=4, threshold=0.8)
    kinds = np.random.default_rng(1).permutation(np.repeat(np.arange(8), 50))
    signature = np.full((400, 8), 7, np.uint32)
    signature[:, 4:7] = kinds[:, None]
    signature[:, 7] = np.arange(400)
    dropped = find_near(stored(tmp_path, signature, settings, part), np.zeros(400, bool), settings, ALONE, tmp_path)
    assert np.flatnonzero(~dropped).tolist() == sorted(np.unique(kinds, return_index=True)[1])


class Counting(Engine):
    """Counts how often pieces are handed to it, as to Slurm."""

    def __init__(self):
        super().__init__(jobs=2)
        self.runs = []

    def run(self, name, function, pieces, logs):
        self.runs.append(len(pieces))
        for piece in pieces:
            function(piece)


def test_what_left_a_bucket_for_one_that_is_dropped_is_compared_again(tmp_path):
    """0 and 1 share their first band, 1, 2 and 3 their second. 1 is like 0, 2 and 3 like 1 and like each other, but not
    like 0: 2 and 3 left the bucket for 1, which went. So 2 stays, and 3 goes for it, which only a second round finds.
    The second round runs here."""
    settings = Settings(bands=2, rows=4, threshold=0.5)
    signature = np.array([[1, 1, 1, 1, 5, 5, 5, 5], [1, 1, 1, 1, 2, 2, 2, 2],
                          [8, 8, 8, 8, 2, 2, 2, 2], [9, 9, 9, 9, 2, 2, 2, 2]], np.uint32)  # fmt: skip
    engine = Counting()
    dropped = find_near(stored(tmp_path, signature, settings), np.zeros(4, bool), settings, engine, tmp_path)
    assert dropped.tolist() == [False, True, False, True]
    assert engine.runs == [1] and (tmp_path / "state-1.npy").exists()
    (tmp_path / "few").mkdir()
    corpus, engine = stored(tmp_path / "few", signature[:2], settings), Counting()
    assert find_near(corpus, np.zeros(2, bool), settings, engine, tmp_path).tolist() == [False, True]
    assert engine.runs == [1] and not (tmp_path / "few" / "state-1.npy").exists()


def peak_memory(directory, count):
    """Bytes that the search takes among `count` documents, of which one band brings all together and the other four."""
    directory.mkdir()
    settings = Settings(bands=2, rows=4, threshold=0.9)
    signature = np.full((count, 8), 7, np.uint32)
    signature[:, 4:] = (np.arange(count) // 4)[:, None]
    corpus, same = stored(directory, signature, settings, 1_000), np.zeros(count, bool)
    tracemalloc.start()
    assert find_near(corpus, same, settings, ALONE, directory).sum() == count * 3 // 4
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_of_a_document_little_is_in_memory(tmp_path, monkeypatch):
    """A key and its document have 16 bytes, a few times in memory where all share one; the signature is not there."""
    for module, name in ((repeated_documents, "ENTRIES"), (repeated_documents, "PAIRS"), (minhash, "SIGNATURES")):
        monkeypatch.setattr(module, f"{name}_AT_ONCE", 500)
    # Of two runs the lower: Python's table of the names that pathlib keeps may grow in one, by megabytes.
    peaks = [[peak_memory(tmp_path / f"{count}-{run}", count) for run in range(2)] for count in (4_000, 14_000)]
    few, many = map(min, peaks)
    assert (many - few) / 10_000 < 75


def test_a_chain_of_versions_is_cut_where_they_differ(tmp_path, monkeypatch):
    """Five versions of 20 texts, each with 6 of 150 words replaced in the one before: J 0.80, 0.64 after two steps,
    0.51 after three. The greedy definition, over all pairs, by the estimates."""
    monkeypatch.setattr(minhash, "SIGNATURES_AT_ONCE", 7)
    monkeypatch.setattr(repeated_documents, "ENTRIES_AT_ONCE", 30)
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
    same = find_same(corpus, ALONE, tmp_path)
    dropped = find_near(corpus, same, settings, ALONE, tmp_path)
    signature = signatures(chains, settings)
    check(signature, settings, dropped)
    stay = []
    for number in range(100):
        if not stay or similar(signature[[number]], signature[stay]).max() < settings.threshold:
            stay.append(number)
    assert np.flatnonzero(~dropped).tolist() == stay and 20 < len(stay) < 60
    assert not same.any()


@pytest.mark.parametrize("characters, documents, parts", [(1, 1, 9), (40, 40, 5), (10**9, 3, 3), (10**9, 10**9, 1)])
def test_keys_are_the_same_in_parts_of_any_size(tmp_path, monkeypatch, characters, documents, parts):
    monkeypatch.setattr(hashes, "PART_CHARACTERS", characters)
    monkeypatch.setattr(hashes, "PART_DOCUMENTS", documents)
    monkeypatch.setattr(minhash, "CHARACTERS_A_CALL", 60)
    monkeypatch.setattr(minhash, "DOCUMENTS_A_CALL", 2)
    texts = [f"Le patient numéro {number} tousse.\nBien." for number in range(9)]
    (tmp_path / "in.txt").write_text("\n\n".join(texts))
    MakeKeys(tmp_path, 1, Settings())((0, tmp_path / "in.txt"))
    corpus = Keys.of(tmp_path, 1)
    assert len(corpus.parts) == parts  # of 33 characters a document
    signature = signatures([text.replace("\n", " ") for text in texts], Settings())
    assert (corpus.signatures(np.arange(9)[::-1], Settings()) == signature[::-1]).all()
    expected = minhash.band_keys(signature, Settings())[:, 3].tolist()
    of_band = [corpus.bands(range(3, 4), KeyRange(some, 4)) for some in range(4)]
    keys, numbers = map(np.concatenate, zip(*of_band, strict=True))
    assert dict(zip(numbers.tolist(), keys.tolist(), strict=True)) == dict(enumerate(expected))
    assert (np.concatenate([keys for keys, _ in of_band[1:3]]) >> np.uint64(62)).min() >= 1
    assert sorted(corpus.bands(range(2, 5), KeyRange(0, 1))[1].tolist()) == sorted([*range(9)] * 3)
    assert not find_same(corpus, ALONE, tmp_path).any() and corpus.documents == 9


@pytest.mark.parametrize("single", [" ", "\u00a0", "  "])
def test_white_space_makes_no_other_line(tmp_path, single):
    """The line is found again in a document whose words single spaces part, and in one where they do not."""
    (tmp_path / "in.txt").write_text(f"Le patient tousse.\nBien{single}sûr.\n\nLe\u202fpatient tousse.\nMal.\n")
    MakeKeys(tmp_path, 1, None)((0, tmp_path / "in.txt"))
    find = FindRepeated((tmp_path / "00000-00000.lines.npy",), tmp_path / "lines", 1)
    (keys,) = find.ranges()
    find(keys)
    assert find.places([keys], 0).tolist() == [[1, 0]]


def test_a_line_of_every_document_takes_little_memory(tmp_path, monkeypatch):
    """12 bytes of a place, a few times in memory; the line itself has 24, a few times when all are read at once."""
    monkeypatch.setattr(repeated_lines, "LINES_AT_ONCE", 500)
    parts = tuple(tmp_path / f"{part}.lines.npy" for part in range(60))
    for part in parts:
        save_lines(part, bytearray(16 * 500), np.stack([np.arange(500), np.zeros(500)], 1))
    find = FindRepeated(parts, tmp_path / "lines", 10)
    tracemalloc.start()
    find(KeyRange(0, 60))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [len(find.places([KeyRange(0, 60)], part)) for part in range(60)] == [490] + [500] * 59
    assert peak / 30_000 < 50


def test_a_file_of_short_documents_takes_the_memory_of_some(tmp_path, monkeypatch):
    """5,000 of them have 5 MB of signatures and keys, which lie twice in memory for a moment."""
    monkeypatch.setattr(hashes, "PART_DOCUMENTS", 500)
    texts = [f"Toux {number}" for number in range(5_000)]
    (tmp_path / "in.txt").write_text("\n\n".join(texts))
    signatures(["the table of letters stays in memory"], Settings())
    tracemalloc.start()
    MakeKeys(tmp_path, 20, Settings())((0, tmp_path / "in.txt"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000 and len(Keys.of(tmp_path, 1).parts) == 10


@pytest.mark.parametrize(
    "part, lines_of, near, documents", [(300_000, 20, None, 2_000), (10**9, None, Settings(), 1_000)]
)
def test_a_large_file_takes_the_memory_of_a_part(tmp_path, monkeypatch, part, lines_of, near, documents):
    """4 MB of text, which take 10 MB and more as lines and their keys; 2 MB, signed 0.05 MB at a time."""
    monkeypatch.setattr(hashes, "PART_CHARACTERS", part)
    monkeypatch.setattr(minhash, "CHARACTERS_A_CALL", 50_000)
    with open(tmp_path / "in.txt", "w") as handle:
        for number in range(documents):
            handle.write(f"{number} le patient tousse encore et dort mal la nuit\n" * 40 + "\n")
    make = MakeKeys(tmp_path, lines_of, near)
    signatures(["pour que tout ce qui s'importe le soit"], Settings())
    tracemalloc.start()
    make((0, tmp_path / "in.txt"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000
