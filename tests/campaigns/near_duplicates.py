"""Which copies does preprocess.near_duplicates find, what else does it find, and what would it take from the leaflets?

    python tests/campaigns/near_duplicates.py ../shared/data > near_duplicates.md

Cuts pieces of several lengths out of leaflets, clinical cases, COVID-19 texts and novels, plants copies of each with a
share of the words edited (replaced by a word of the corpus, deleted, or one inserted after: drawn evenly), runs the
functions from texts to dropped documents in memory, and compares with Jaccard similarities computed from the words
themselves. Then the same for the whole leaflets, and R-MinHash beside a plain MinHash. Some 4 minutes, 2.5 GB.
"""

import argparse
import re
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
from rensa import RMinHash

from preprocess.documents import read_documents
from preprocess.near_duplicates import Settings, band_keys, candidates, keep_first, shingles, signatures, similar

LEAFLETS = "fr_raw/bdpm_notices.txt"
SOURCES = (LEAFLETS, "fr_raw/pamj_cas_cliniques.txt", "fr_raw/tico19_fr.txt", "fr_general/eltec_fra_romans.txt")
LENGTHS = (10, 20, 50, 200, 1_000, 5_000, 20_000, 100_000)  # words
PIECES = 100  # of a source and a length
EDITS = ("replace", "delete", "insert")
COPIES = {
    "exact": (0.0, EDITS), "2 %": (0.02, EDITS), "5 %": (0.05, EDITS), "5 %, replaced only": (0.05, ("replace",)),
    "20 %": (0.2, EDITS), "50 %": (0.5, EDITS),
}  # fmt: skip
RANGES = (0.0, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 1.01)
THRESHOLDS = (0.55, 0.6, 0.62, 0.65, 0.7, 0.75, 0.8, 0.9)


def edited(words: list[str], rate: float, kinds: tuple[str, ...], corpus: list[str], rng) -> list[str] | None:
    """A copy with that share of the words edited, rounded down; None where that is less than one word."""
    count = int(rate * len(words))
    if rate and not count:
        return None
    copy = [[word] for word in words]
    for place in rng.choice(len(words), count, replace=False):
        kind, other = kinds[rng.integers(len(kinds))], corpus[rng.integers(len(corpus))]
        copy[place] = {"replace": [other], "delete": [], "insert": [words[place], other]}[kind]
    return [word for part in copy for word in part]


def words_of(text: str) -> list[str]:
    """What white space separates, punctuation that stands alone left out: it is no word to edit."""
    return [word for word in text.split() if any(map(str.isalnum, word))]


def plant(data: Path, rng) -> tuple[list[str], list[tuple[int, int, str, int]]]:
    """The texts, and (number of the original, number of the copy, its name in COPIES, words of the original)."""
    sources = [[words_of(document.text) for document in read_documents([data / name])] for name in SOURCES]
    corpus = [word for source in sources for words in source[:: max(1, len(source) // 40)] for word in words]
    texts: list[str] = []
    planted = []
    for length in LENGTHS:
        for source in sources:
            long_enough = [words for words in source if len(words) >= length]
            for number in rng.permutation(len(long_enough))[:PIECES]:
                start = rng.integers(len(long_enough[number]) - length + 1)
                words, original = long_enough[number][start : start + length], len(texts)
                texts.append(" ".join(words))
                for name, (rate, kinds) in COPIES.items():
                    copy = edited(words, rate, kinds, corpus, rng)
                    if copy is not None:
                        planted.append((original, len(texts), name, length))
                        texts.append(" ".join(copy))
    return texts, planted


@lru_cache(600)
def shingle_set(text: str, words: int) -> set[tuple[str, ...]]:
    """The shingles as words, without any hashing."""
    plain = ("".join(filter(str.isalnum, unicodedata.normalize("NFKC", word).lower())) for word in text.split())
    found = [word for word in plain if word]
    return set(zip(*(found[place:] for place in range(words)), strict=False)) or {tuple(found)}


def jaccard(first: str, second: str, words: int) -> float:
    """The share of the shingles of both that both have."""
    a, b = shingle_set(first, words), shingle_set(second, words)
    return len(a & b) / len(a | b)


def compare(texts: list[str], settings: Settings) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """The pairs that were compared, (pairs, 2), their estimates, and the seconds of processor of each stage."""
    seconds, start = {}, time.process_time()

    def lap(stage: str) -> None:
        nonlocal start
        seconds[stage], start = time.process_time() - start, time.process_time()

    signature = signatures(texts, settings)
    lap("signatures")
    keys = band_keys(signature, settings)
    lap("keys")
    pairs = candidates(keys.ravel(), np.repeat(np.arange(len(texts)), settings.bands), settings)
    lap("pairs")
    estimates = similar(signature[pairs[:, 0]], signature[pairs[:, 1]])
    lap("comparison")
    return pairs, estimates, seconds


def row(*cells: object) -> None:
    """One line of a Markdown table."""
    print("| " + " | ".join(f"{cell:,.3f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |")


def head(*cells: str) -> None:
    """The first two lines of a Markdown table."""
    print()
    row(*cells)
    print("|---" * len(cells) + "|")


def report_planted(texts: list[str], planted: list, found: set[tuple[int, int]], settings: Settings) -> None:
    """True similarity and recall of the copies, by edit rate and by length."""
    truth, recall = defaultdict(list), defaultdict(list)
    for original, copy, name, length in planted:
        truth[name].append(jaccard(texts[original], texts[copy], settings.words))
        for key in (name, (name, length)):
            recall[key].append((original, copy) in found)
    head("copy", "copies", "Jaccard, mean", "lowest", "highest", "found")
    for name in COPIES:
        row(name, len(truth[name]), np.mean(truth[name]), min(truth[name]), max(truth[name]), np.mean(recall[name]))
    head("found, of copies of", *(f"{length:,} words" for length in LENGTHS))
    for name in COPIES:
        parts = [recall[name, length] for length in LENGTHS]
        row(name, *(f"{np.mean(part):.3f} of {len(part)}" if part else "-" for part in parts))


def report_found(kinds: dict[str, tuple[list[str], Iterable[tuple[int, int]]]], words: int) -> None:
    """The pairs found, by their true similarity."""
    counts = {}
    for kind, (texts, pairs) in kinds.items():
        counts[kind] = np.histogram([jaccard(texts[a], texts[b], words) for a, b in sorted(pairs)], RANGES)[0]
    head("true Jaccard of the pairs found", *kinds)
    for number, (low, high) in enumerate(zip(RANGES, RANGES[1:], strict=False)):
        row(f"{low} to {min(high, 1.0)}", *(int(count[number]) for count in counts.values()))
    row("precision: share at 0.4 or above", *(float(1 - count[0] / count.sum()) for count in counts.values()))


def substances(leaflets: list[str]) -> list[set[str]]:
    """The words that tell what a leaflet is of: long ones of its first sentence, but not makers and forms.

    Makers and forms are the words that stand beside more than 15 different first words.
    """
    heads = []
    for text in leaflets:
        start = text[:300].partition("Encadré")[0].lower()
        letters = "".join(c for c in unicodedata.normalize("NFD", start) if not unicodedata.combining(c))
        heads.append([word.rstrip("s")[:9] for word in re.findall("[a-z]{5,}", letters)])
    beside = defaultdict(set)
    for words in heads:
        for word in words:
            beside[word].add(words[0])
    return [{word for word in words if len(beside[word]) <= 15} for words in heads]


def report_leaflets(leaflets: list[str], pairs: np.ndarray, estimates: np.ndarray) -> None:
    """What is left of the leaflets at several thresholds."""
    words = np.array([len(text.split()) for text in leaflets])
    names = substances(leaflets)
    head("threshold", "pairs", "of one substance", "leaflets", "words", "largest group")
    row("none", "", "", f"{len(leaflets):,}", f"{words.sum():,}", "")
    for threshold in THRESHOLDS:
        found = pairs[estimates >= threshold]
        same = [bool(names[a] & names[b]) for a, b in found if names[a] and names[b]]
        dropped, kept = keep_first(found)
        largest = 1 + max(Counter(kept.tolist()).values(), default=0)
        left = f"{words.sum() - words[dropped].sum():,}"
        row(threshold, len(found), np.mean(same), f"{len(leaflets) - len(dropped):,}", left, largest)


def r_minhash(hashes: np.ndarray, counts: np.ndarray, permutations: int, seed: int) -> np.ndarray:
    """The library's signatures of sets that lie one after the other, (sets, permutations)."""
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    return np.array(RMinHash.digest_matrix_from_flat_token_hashes(hashes, ends, permutations, seed).to_rows())


def plain_minhash(hashes: np.ndarray, counts: np.ndarray, permutations: int, seed: int) -> np.ndarray:
    """The same in numpy: a slot is the least of the upper halves of a x + b modulo 2^64."""
    a, b = np.random.default_rng(seed).integers(0, 2**64, (2, permutations, 1), dtype=np.uint64)
    rows = []
    for part in np.split(hashes, np.cumsum(counts)[:-1]):
        least = np.full(permutations, 2**64 - 1, np.uint64)
        for start in range(0, len(part), 512):  # what the processor's cache holds
            values = (a | np.uint64(1)) * part[start : start + 512]
            values += b
            np.minimum(least, values.min(axis=1), out=least)
        rows.append(least >> np.uint64(32))
    return np.array(rows)


def report_library(leaflets: list[str], settings: Settings) -> None:
    """R-MinHash and a plain MinHash on pairs of sets of a known similarity: bias, deviation and speed."""
    size, unions = settings.permutations, (10, 100, 1_000)
    hashes, counts = shingles(leaflets[:500], settings.words)
    megabytes = sum(len(text.encode()) for text in leaflets[:500]) / 1e6
    head("MinHash of", "MB/s of processor", *(f"bias, deviation at {union} shingles" for union in unions))
    for name, function in (("rensa", r_minhash), ("numpy", plain_minhash)):
        start = time.process_time()
        function(hashes, counts, size, 1)
        cells = [f"{megabytes / (time.process_time() - start):.0f}"]
        for union in unions:
            rng, errors = np.random.default_rng(2), []
            for seed in range(1_000):
                values = rng.integers(0, 2**64, union, dtype=np.uint64)
                each = union * 85 // 100  # of the union's shingles, 7 of 10 shared
                both = np.concatenate([values[:each], values[-each:]])
                a, b = function(both, np.array([each, each]), size, seed)
                errors.append(np.mean(a == b) - (2 * each - union) / union)
            cells.append(f"{np.mean(errors):+.4f}, {np.std(errors):.4f}")
        row(name, *cells)
    print(f"\nA deviation of {np.sqrt(0.7 * 0.3 / size):.4f} is that of independent slots.")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with fr_raw and fr_general")
    for name in ("words", "bands", "rows", "threshold"):
        default = getattr(Settings, name)
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"setting (default {default})")
    options = parser.parse_args()
    settings = Settings(options.words, options.bands, options.rows, options.threshold)
    print(settings)
    texts, planted = plant(options.data, np.random.default_rng(1))
    pairs, estimates, _ = compare(texts, settings)
    found = set(map(tuple, pairs[estimates >= settings.threshold].tolist()))
    report_planted(texts, planted, found, settings)
    leaflets = [document.text for document in read_documents([options.data / LEAFLETS])]
    pairs, estimates, seconds = compare(leaflets, settings)
    above = pairs[estimates >= settings.threshold].tolist()
    report_found({"planted": (texts, found), "leaflets": (leaflets, above)}, settings.words)
    report_leaflets(leaflets, pairs, estimates)
    megabytes = sum(len(text.encode()) for text in leaflets) / 1e6
    taken = ", ".join(f"{stage} {second:.2f} s" for stage, second in seconds.items())
    print(f"\n{megabytes:.1f} MB of leaflets: {taken}; {megabytes / sum(seconds.values()):.1f} MB/s of processor")
    report_library(leaflets, settings)


if __name__ == "__main__":
    main()
