"""Near-duplicates: shingles by hand, estimates against true similarities, bounded work, the first document stays."""

import hashlib
import os
import signal  # noqa: F401  used in the forked process
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from alibert_common.arrays import save
from preprocess.deduplication import minhash, repeated_documents
from preprocess.deduplication import words as words_module
from preprocess.deduplication.minhash import (
    LATER,
    Settings,
    alike_in_buckets,
    band_keys,
    keep_first,
    kept_for,
    shingles,
    signatures,
    similar,
)
from preprocess.deduplication.words import word_hashes

SETTINGS = Settings()
GOLDEN_TEXTS = ["Le patient tousse depuis trois jours.", "Prendre 2 comprimés le matin, " * 40, "Toux", "..."]
GOLDEN = "a8bd411c"


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


def packed(pairs) -> np.ndarray:
    """Pairs of (earlier, later) as numbers, sorted."""
    return np.sort(np.array([later << 32 | earlier for earlier, later in pairs], np.uint64))


def unpacked(numbers: np.ndarray) -> list[tuple[int, int]]:
    return [(number & 0xFFFFFFFF, number >> 32) for number in numbers.tolist()]


def pairs_found(texts: list[str], settings: Settings = SETTINGS) -> set[tuple[int, int]]:
    signature = signatures(texts, settings)

    numbers = np.arange(len(texts), dtype=np.uint64)
    bands = band_keys(signature, settings).T
    return {
        pair for keys in bands for pair in unpacked(alike_in_buckets(keys, numbers, signature.__getitem__, settings))
    }


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
    hashes, counts = word_hashes([f"a {first}", second])
    assert hashes[1] == hashes[2] and counts.tolist() == [2, 1]


def test_other_words_are_other_words():
    words = ["mg", "ml", "1", "2", "10", "01", "fièvre", "fievre", "èfivre"]
    assert len(set(word_hashes(words)[0].tolist())) == len(words)
    assert word_hashes(["—", "•", "...", ":", "", "\u0301"])[1].tolist() == [0] * 6


def spelled(chunk: str) -> str:
    """The letters and digits of a chunk, calculated one by one."""
    return "".join(sign for letter in unicodedata.normalize("NFKC", chunk) for sign in letter.lower() if sign.isalnum())


# letters, marks, and what joins or spells others: accents, ligatures, fractions, kana
SIGNS = st.sampled_from("abÉé1²½œﬁ℡ŉİΣς«-…´ \u0301\u0327ｶﾞ\u00a0") | st.characters(max_codepoint=0x10FF)


@given(st.lists(st.text(SIGNS, max_size=12), max_size=5))
@example(["a´b ½", "½ é"])
def test_words_are_the_same_as_those_spelled_one_by_one(texts):
    words = [[word for chunk in text.split(" ") if (word := spelled(chunk))] for text in texts]
    hashes, counts = word_hashes(texts)
    assert counts.tolist() == list(map(len, words)) and hashes.dtype == np.uint64
    different = list({word: None for some in words for word in some})
    of_words = dict(zip(different, word_hashes([" ".join(different)])[0].tolist(), strict=True))
    assert hashes.tolist() == [of_words[word] for some in words for word in some]
    assert len(set(of_words.values())) == len(different)


def test_letters_of_other_planes_count_and_other_signs_there_do_not():
    def hashed(text):
        return word_hashes([text])[0].tolist()

    assert hashed("fièvre😀 🩺") == hashed("fièvre")
    assert hashed("𝗟𝗲 𝗽𝗮𝘁𝗶𝗲𝗻𝘁 𝟑") == hashed("Le patient 3") and hashed("𝗟𝗲 ½") == hashed("Le 1⁄2")
    assert len(hashed("𠀀 a")) == 2 and hashed("𠀀") != hashed("𠀁")


def test_a_long_text_is_hashed_in_pieces(monkeypatch):
    text = "  L’œdème 𝗮 régressé\u0301 , puis anticonstitutionnellement  rien "
    whole = word_hashes([text, text])
    for longest in range(1, 30):
        monkeypatch.setattr(words_module, "LONGEST", longest)
        hashes, counts = word_hashes([text])
        assert hashes.tolist() * 2 == whole[0].tolist() and counts.tolist() == whole[1].tolist()[:1]


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


def bucket_pairs(keys, documents, signature, neighbours=10):
    """The pairs found, by a threshold of 0.5, in order of the later one."""
    settings = Settings(bands=1, rows=2, threshold=0.5, neighbours=neighbours)
    signed = np.array(signature, np.uint32)
    numbers = np.array(documents, np.uint64)
    return unpacked(alike_in_buckets(np.array(keys, np.uint64), numbers, signed.__getitem__, settings))


def test_pairs_come_from_equal_keys_and_only_once():
    keys, documents = [7, 7, 9, 7, 5, 5], [0, 1, 1, 2, 0, 1]
    assert bucket_pairs(keys, documents, [[4, 4]] * 3) == [(0, 1), (0, 2)]
    assert bucket_pairs(keys, documents, [[4, 5], [6, 7], [6, 8]]) == [(1, 2)]
    assert bucket_pairs(keys, documents, [[4, 5], [6, 7], [6, 8]], 1) == []
    assert bucket_pairs([], [], np.empty((0, 2))) == bucket_pairs([7, 9], [0, 1], [[4, 4]] * 2) == []


@pytest.mark.parametrize("kinds, compared", [(1, 4_999), (10_000, sum(range(4_990, 5_000)))])
def test_work_grows_with_documents_not_squared(monkeypatch, kinds, compared):
    """A document of a bucket is compared once where all are equal, and `neighbours` times at most where none are."""
    counts = []
    monkeypatch.setattr(minhash, "similar", lambda a, b: counts.append(len(a)) or similar(a, b))
    pairs = bucket_pairs(np.full(5_000, 3), np.arange(5_000), np.arange(5_000)[:, None] % kinds + [[0, 0]])
    assert sum(counts) == compared and len(pairs) == (4_999 if kinds == 1 else 0)


@pytest.mark.parametrize("at_once", [1, 2, 7, 100])
def test_a_bucket_may_be_longer_than_what_is_in_memory(monkeypatch, at_once):
    """200 documents of 12 kinds in 3 buckets: each is found to be like the first of its kind and bucket, if that kind
    is among the ten that come first there."""
    rng = np.random.default_rng(7)
    kinds, keys = rng.integers(12, size=200), rng.integers(3, size=200)
    monkeypatch.setattr(minhash, "SIGNATURES_AT_ONCE", at_once)
    expected = []
    for bucket in range(3):
        first: dict[int, int] = {}
        for number in np.flatnonzero(keys == bucket).tolist():
            if kinds[number] in first:
                expected.append((first[kinds[number]], number))
            elif len(first) < 10:
                first[kinds[number]] = number
    found = bucket_pairs(keys, np.arange(200), np.repeat(kinds[:, None], 2, 1))
    assert found == sorted(expected, key=lambda pair: pair[::-1]) and len(found) > 120


def test_a_document_goes_for_one_that_stays():
    """5 is like 2 and 9 like 5, but 9 is not like 2: 9 stays, and 12 goes for it."""
    pairs = packed([(5, 9), (2, 5), (7, 30), (9, 12), (5, 12)])
    dropped, stay = keep_first([pairs], 31)
    assert np.flatnonzero(dropped).tolist() == [5, 12, 30] and stay.tolist() == [9]
    assert [part.tolist() for part in kept_for(pairs, dropped)] == [[5, 12, 30], [2, 9, 7]]
    dropped, stay = keep_first([], 3)
    assert dropped.tolist() == [False] * 3 and not len(stay)


@pytest.mark.parametrize("edges", [100, 400, 1200])
@pytest.mark.parametrize("at_once", [1, 300, 10**6])
def test_what_is_kept_is_what_one_document_after_the_other_keeps(tmp_path, monkeypatch, edges, at_once):
    """Pairs of a random graph, all that are alike, in three files: the definition, in one loop."""
    pairs = np.random.default_rng(edges).integers(600, size=(edges, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    alike = set(map(tuple, pairs.tolist()))
    kept: dict[int, int] = {}
    for document in range(600):
        before = [a for a, b in alike if b == document and a not in kept]
        if before:
            kept[document] = min(before)
    monkeypatch.setattr(repeated_documents, "PAIRS_AT_ONCE", at_once)
    parts = [pairs[::2], pairs[:0], pairs[1::2], pairs[:50]]
    files = [tmp_path / f"{number}.npy" for number in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        save(file, packed(part) if len(part) else np.empty(0, np.uint64))
    blocks = list(repeated_documents.pairs_in(files))
    assert np.concatenate(blocks).tolist() == packed(pairs).tolist()
    assert not at_once == 1 or len(blocks) > 20
    later = [set((block >> LATER).tolist()) for block in blocks]
    assert sum(map(len, later)) == len(set().union(*later))
    dropped, stay = keep_first(blocks, 600)
    assert np.flatnonzero(dropped).tolist() == sorted(kept)
    assert set(stay.tolist()) == {b for _, b in alike} - kept.keys()
    assert dict(zip(*(part.tolist() for part in kept_for(packed(pairs), dropped)), strict=True)) == kept


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
