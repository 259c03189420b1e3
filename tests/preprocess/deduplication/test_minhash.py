"""Near-duplicates: shingles by hand, estimates against true similarities, bounded pairs, the first document stays."""

import hashlib
import os
import signal  # noqa: F401  used in the forked process
import subprocess
import sys
import time

import numpy as np
import pytest

from preprocess.deduplication.minhash import (
    Settings,
    band_keys,
    candidates,
    crowded,
    keep_first,
    shingles,
    signatures,
    similar,
    word_hash,
)

SETTINGS = Settings()
GOLDEN_TEXTS = ["Le patient tousse depuis trois jours.", "Prendre 2 comprimés le matin, " * 40, "Toux", "..."]
GOLDEN = "8bc2f999"


def texts_of(rng, count: int, length: int) -> list[list[str]]:
    """Documents of words drawn from 5,000: two of them share no shingle to speak of."""
    return [[f"mot{number}" for number in rng.integers(5_000, size=length)] for _ in range(count)]


def pairs_of_similarity(rng, share: float, count: int = 300, size: int = 200) -> tuple[list[str], list[str]]:
    """Pairs of texts, each of `size` one-word shingles, which have `share` of the words of both in common."""
    firsts, seconds = [], []
    shared = round(2 * size * share / (1 + share))
    for _ in range(count):
        words = [f"mot{number}" for number in rng.choice(10**6, 2 * size - shared, replace=False)]
        firsts.append(" ".join(words[:size]))
        seconds.append(" ".join(words[size - shared :]))
    return firsts, seconds


def pairs_found(texts: list[str], settings: Settings = SETTINGS) -> set[tuple[int, int]]:
    signature = signatures(texts, settings)
    keys = band_keys(signature, settings)
    pairs = candidates(keys.ravel(), np.repeat(np.arange(len(texts)), settings.bands), settings)
    found = pairs[similar(signature[pairs[:, 0]], signature[pairs[:, 1]]) >= settings.threshold]
    return set(map(tuple, found.tolist()))


@pytest.mark.parametrize(
    "first, second",
    [
        ("Fièvre,", "fièvre"),
        ("l’hôpital", "l'hôpital"),
        ("e\u0301tat", "état"),
        ("\ufb01èvre", "fièvre"),
        ("«Oui»", "oui"),
    ],
)
def test_spellings_of_one_word(first, second):
    assert word_hash(first) == word_hash(second) != 0


def test_other_words_are_other_words():
    words = ["mg", "ml", "1", "2", "10", "fièvre", "fievre"]
    assert len(set(map(word_hash, words))) == len(words)
    assert [word_hash(sign) for sign in ("—", "•", "...", ":")] == [0] * 4


def test_shingles_are_neighbouring_words_of_one_text():
    together, counts = shingles(["a b c d", "E : f, g"], 3)
    assert counts.tolist() == [2, 1] and len(set(together.tolist())) == 3
    alone = [shingles([text], 3)[0].tolist() for text in ("a b c", "b c d", "e f g")]
    assert together.tolist() == sum(alone, [])
    assert shingles(["c b a"], 3)[0].tolist() != alone[0]


def test_a_text_shorter_than_a_shingle_is_one_and_one_without_words_none():
    hashes, counts = shingles(["a b", "...", "a", "b a", "", "a b c"], 3)
    assert counts.tolist() == [1, 0, 1, 1, 0, 1]
    assert len(set(hashes.tolist())) == 4
    assert shingles(["A b."], 3)[0].tolist() == hashes[:1].tolist()


@pytest.mark.parametrize("words", [1, 2, 5])
def test_as_many_different_shingles_as_different_neighbours(words):
    text = [str(number) for number in np.random.default_rng(1).integers(6, size=400)]
    neighbours = set(zip(*(text[place:] for place in range(words)), strict=False))
    hashes, counts = shingles([" ".join(text)], words)
    assert len(set(hashes.tolist())) == len(neighbours) and counts.tolist() == [401 - words]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_estimate_is_the_true_similarity(share):
    """300 pairs: the mean is within 4 standard errors (0.009 and less), every one within 5 deviations."""
    settings = Settings(words=1)
    first, second = (signatures(texts, settings) for texts in pairs_of_similarity(np.random.default_rng(1), share))
    errors = similar(first, second) - share
    deviation = np.sqrt(share * (1 - share) / settings.permutations)
    assert abs(errors.mean()) < 4 * deviation / np.sqrt(300)
    assert abs(errors).max() < 5 * deviation and errors.std() > deviation / 2


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_pairs_share_a_band_as_often_as_the_formula_says(share):
    """600 pairs; the tolerance is 4 standard errors, 0.07 and less."""
    settings = Settings(words=1)
    first, second = (
        band_keys(signatures(texts, settings), settings)
        for texts in pairs_of_similarity(np.random.default_rng(2), share, 600)
    )
    formula = 1 - (1 - share**settings.rows) ** settings.bands
    measured = (first == second).any(axis=1).mean()
    assert abs(measured - formula) < 4 * np.sqrt(formula * (1 - formula) / 600)


def run(code: str, **environment: str) -> str:
    """What a new Python prints that has imported this file as `t`."""
    paths = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    command = [sys.executable, "-W", "ignore", "-c", f"import test_minhash as t\n{code}"]
    environment = {**os.environ, "PYTHONPATH": paths, **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def golden() -> str:
    return hashlib.sha256(signatures(GOLDEN_TEXTS, SETTINGS).tobytes()).hexdigest()[:8]


def test_signatures_are_those_of_any_day_and_machine():
    """A red test here means that rensa computes other signatures than before: those of two versions do not compare."""
    assert golden() == GOLDEN
    assert run("print(t.golden())", PYTHONHASHSEED="7", RENSA_FORCE_KERNEL="scalar") == GOLDEN


def test_signatures_are_computed_in_a_forked_process_too():
    """rensa's threads do not outlive a fork; a child that waits for them would be killed after 20 seconds."""
    code = """
texts = [f"mot{number}" for number in range(2_000)]
t.signatures(texts, t.SETTINGS)
child = t.os.fork()
if not child:
    t.signal.alarm(20)
    t.signatures(texts, t.SETTINGS)
    t.os._exit(0)
print(t.os.waitpid(child, 0)[1])
"""
    assert run(code) == "0"


def test_signatures_do_not_depend_on_what_is_computed_with_them():
    texts = [" ".join(words) for words in texts_of(np.random.default_rng(3), 450, 30)] + ["mot " * 300_000]
    together = signatures(texts, SETTINGS)
    assert together.shape == (451, SETTINGS.permutations) and together.dtype == np.uint32
    assert (together == np.concatenate([signatures([text], SETTINGS) for text in texts])).all()
    assert (together != signatures(texts, Settings(seed=2))).any(axis=1).all()
    assert signatures([], SETTINGS).shape == (0, SETTINGS.permutations)


def test_texts_without_words_are_equal_and_like_no_other():
    signature = signatures(["...", "— !", "Toux."], SETTINGS)
    assert similar(signature[[0, 0]], signature[[1, 2]]).tolist() == [1, 0]


def test_a_key_stands_for_the_slots_of_one_band():
    settings = Settings(bands=3, rows=2)
    signature = np.array([[4, 4, 4, 4, 4, 4], [4, 4, 4, 9, 4, 4], [4, 4, 9, 4, 4, 4]], np.uint32)
    keys = band_keys(signature, settings)
    assert keys.shape == (3, 3) and keys.dtype == np.uint64 and len(set(keys[0].tolist())) == 3
    assert (keys == keys[0]).tolist() == [[True] * 3, [True, False, True], [True, False, True]]
    assert keys[1, 1] != keys[2, 1]


def test_pairs_come_from_equal_keys_and_only_once():
    keys, documents = np.array([7, 7, 9, 7, 5, 5], np.uint64), np.array([30, 10, 20, 20, 20, 10], np.uint32)
    assert candidates(keys, documents, SETTINGS).tolist() == [[10, 20], [10, 30], [20, 30]]
    assert candidates(keys, documents, Settings(neighbours=1)).tolist() == [[10, 20], [20, 30]]
    assert candidates(keys[:0], documents[:0], SETTINGS).shape == (0, 2)
    assert candidates(keys[:3:2], documents[:3:2], SETTINGS).shape == (0, 2)


def test_a_crowded_bucket_is_one_whose_documents_are_not_all_paired():
    keys = np.array([5] * 3 + [7] * 4, np.uint64)
    settings = Settings(neighbours=2)
    assert crowded(keys, settings).tolist() == [False] * 3 + [True] * 4
    assert len(candidates(keys[:3], np.arange(3), settings)) == 3  # all pairs
    assert len(candidates(keys[3:], np.arange(4), settings)) == 5  # one is left out
    assert crowded(keys[:0], settings).tolist() == []


def all_alike(pairs):
    return np.ones(len(pairs), bool)


def test_ten_thousand_equal_documents_cost_ten_pairs_each():
    documents = np.random.default_rng(4).permutation(10_000)
    start = time.process_time()
    pairs = candidates(np.full(10_000, 3, np.uint64), documents, SETTINGS)
    dropped, kept = keep_first(pairs, all_alike)
    assert time.process_time() - start < 2  # 0.05 s; all pairs, 50 million, would take some 20 s
    assert len(pairs) == 10 * 10_000 - sum(range(1, 11))
    assert dropped.tolist() == list(range(1, 10_000)) and not kept.any()


def test_a_document_goes_for_one_that_stays():
    """5 is like 2 and 9 like 5, but 9 is not like 2: 9 stays, and 12 goes for it."""
    pairs = np.array([[5, 9], [2, 5], [7, 2**40], [9, 12]])
    like = {(2, 5), (7, 2**40), (9, 12)}
    dropped, kept = keep_first(pairs, lambda some: np.array([tuple(pair) in like for pair in some.tolist()], bool))
    assert dropped.tolist() == [5, 12, 2**40] and kept.tolist() == [2, 9, 7]
    assert [part.tolist() for part in keep_first(np.empty((0, 2), np.int64), all_alike)] == [[], []]


@pytest.mark.parametrize("edges", [100, 400, 1200])
def test_what_is_kept_is_what_one_document_after_the_other_keeps(edges):
    """Pairs of a random graph, all that are alike: the definition, in one loop."""
    pairs = np.random.default_rng(edges).integers(600, size=(edges, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    alike = set(map(tuple, pairs.tolist()))
    kept_for = {}
    for document in range(600):
        before = [a for a, b in alike if b == document and a not in kept_for]
        if before:
            kept_for[document] = min(before)
    dropped, kept = keep_first(pairs, lambda some: np.array([tuple(pair) in alike for pair in some.tolist()], bool))
    assert dropped.tolist() == sorted(kept_for) and not set(kept.tolist()) & set(kept_for)
    assert all((a, b) in alike for a, b in zip(kept.tolist(), dropped.tolist(), strict=True))


@pytest.mark.parametrize("share, low, high", [(0.4, 0, 0), (0.75, 95, 100)])
def test_the_threshold_parts_what_the_bands_bring_together(share, low, high):
    """100 pairs: by the formula 27 of those of J 0.4 are compared, and one in 10^7 passes; 99.97 of those of J 0.75."""
    settings = Settings(words=1)
    first, second = pairs_of_similarity(np.random.default_rng(6), share, 100)
    keys = [band_keys(signatures(texts, settings), settings) for texts in (first, second)]
    assert (keys[0] == keys[1]).any(axis=1).sum() > 10
    found = pairs_found(first + second, settings)
    assert low <= len(found) <= high and {b - a for a, b in found} <= {100}


def test_planted_copies_are_found_and_nothing_else():
    """150 documents of 100 words; with 5 replaced J is 0.73 or more: the formula finds 0.99, 0.95 are asked for."""
    rng = np.random.default_rng(5)
    originals = texts_of(rng, 150, 100)
    texts, planted = [" ".join(words) for words in originals], {"exact": [], "near": [], "half": []}
    for number, words in enumerate(originals):
        for name, edits in (("exact", 0), ("near", 5), ("half", 50)):
            copy = list(words)
            for place in rng.choice(100, edits, replace=False):
                copy[place] = f"autre{rng.integers(5_000)}"
            planted[name].append((number, len(texts)))
            texts.append(" ".join(copy).upper() + " .")
    found = pairs_found(texts)
    assert set(planted["exact"]) <= found
    assert len(set(planted["near"]) & found) >= 143
    copies_of_one = {(a[1], b[1]) for a, b in zip(planted["exact"], planted["near"], strict=True)}
    assert found <= set(planted["exact"]) | set(planted["near"]) | copies_of_one
