"""Which copies does preprocess.near_duplicates find, what else does it find, and what would it take from the leaflets?

    python tests/campaigns/near_duplicates.py ../shared/data > near_duplicates.md

Cuts pieces of several lengths out of leaflets, clinical cases, COVID-19 texts and novels, plants copies of each with a
share of the words edited (replaced by a word of the corpus, deleted, or one inserted after: drawn evenly), runs the
functions from texts to dropped documents in memory, and compares with Jaccard similarities computed from the words
themselves. Then the same for the whole leaflets. Some 4 minutes on an idle core, 2.5 GB.
"""

import argparse
import re
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preprocess.documents import read_documents
from preprocess.near_duplicates import Settings, band_keys, candidates, keep_first, signatures, similar

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


class Compared(NamedTuple):
    """The signatures of texts, the pairs that were compared, (pairs, 2), their estimates, the seconds of each stage."""

    signature: np.ndarray
    pairs: np.ndarray
    estimates: np.ndarray
    seconds: dict[str, float]


def compare(texts: list[str], settings: Settings) -> Compared:
    """All stages, in memory; seconds are of the processor."""
    clock = [time.process_time()]

    def timed(result: np.ndarray) -> np.ndarray:
        clock.append(time.process_time())
        return result

    signature = timed(signatures(texts, settings))
    keys = timed(band_keys(signature, settings))
    pairs = timed(candidates(keys.ravel(), np.repeat(np.arange(len(texts)), settings.bands), settings))
    estimates = timed(similar(signature[pairs[:, 0]], signature[pairs[:, 1]]))
    stages = ("signatures", "keys", "pairs", "comparison")
    return Compared(signature, pairs, estimates, dict(zip(stages, np.diff(clock), strict=True)))


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


def report_leaflets(leaflets: list[str], compared: Compared, settings: Settings) -> None:
    """What is left of the leaflets at several thresholds, and which pairs the bands do not bring together."""
    signature, pairs, estimates, seconds = compared
    megabytes = sum(len(text.encode()) for text in leaflets) / 1e6
    taken = ", ".join(f"{stage} {second:.2f} s" for stage, second in seconds.items())
    print(f"\n{megabytes:.1f} MB of leaflets: {taken}; {megabytes / sum(seconds.values()):.1f} MB/s of processor")
    above = [similar(signature[[a]], signature[a + 1 :]) >= settings.threshold for a in range(len(signature))]
    found = np.count_nonzero(estimates >= settings.threshold)
    print(f"\n{found:,} of all {np.count_nonzero(np.concatenate(above)):,} pairs at the threshold were compared.")
    words = np.array([len(text.split()) for text in leaflets])
    names = substances(leaflets)
    head("threshold", "pairs", "of one substance", "leaflets", "words", "largest group", "kept against dropped, lowest")
    row("none", "", "", f"{len(leaflets):,}", f"{words.sum():,}", "", "")
    for threshold in THRESHOLDS:
        found = pairs[estimates >= threshold]
        same = [bool(names[a] & names[b]) for a, b in found if names[a] and names[b]]
        dropped, kept = keep_first(found)
        largest = 1 + max(Counter(kept.tolist()).values(), default=0)
        left = f"{words.sum() - words[dropped].sum():,}"
        lowest = float(similar(signature[kept], signature[dropped]).min())
        row(threshold, len(found), np.mean(same), f"{len(leaflets) - len(dropped):,}", left, largest, lowest)


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
    compared = compare(texts, settings)
    found = set(map(tuple, compared.pairs[compared.estimates >= settings.threshold].tolist()))
    report_planted(texts, planted, found, settings)
    leaflets = [document.text for document in read_documents([options.data / LEAFLETS])]
    compared = compare(leaflets, settings)
    above = compared.pairs[compared.estimates >= settings.threshold].tolist()
    report_found({"planted": (texts, found), "leaflets": (leaflets, above)}, settings.words)
    report_leaflets(leaflets, compared, settings)


if __name__ == "__main__":
    main()
