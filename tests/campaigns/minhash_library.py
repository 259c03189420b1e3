"""Does rensa estimate Jaccard similarities as well as a plain MinHash in numpy, and how much faster is it?

    python tests/campaigns/minhash_library.py ../shared/data/fr_raw/bdpm_notices.txt

20,000 pairs of sets of random numbers, 7 of 10 shared, for each size (numpy: 2,000); then 500 documents
for the speed. Seconds are of the processor. Prints Markdown; a quarter of a minute on an idle core.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from rensa import RMinHash

from preprocess.deduplication.minhash import Settings, shingles
from preprocess.documents.document import read_documents

UNIONS = (10, 100, 1_000)  # different numbers in both sets of a pair


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


def errors(function, pairs: int, union: int, permutations: int) -> np.ndarray:
    """The estimates of pairs of sets less their true similarity, (pairs)."""
    rng, found = np.random.default_rng(2), []
    each = union * 85 // 100
    for seed in range(pairs):
        values = rng.integers(0, 2**64, union, dtype=np.uint64)
        sets = np.concatenate([values[:each], values[-each:]])
        first, second = function(sets, np.array([each, each]), permutations, seed)
        found.append(np.mean(first == second) - (2 * each - union) / union)
    return np.array(found)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="documents, .jsonl or .txt")
    texts = [document.text for document, _ in zip(read_documents([parser.parse_args().text]), range(500), strict=False)]
    settings = Settings()
    hashes, counts = shingles(texts, settings.words)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    print("| MinHash of | MB/s | " + " | ".join(f"bias, deviation with {union:,} numbers" for union in UNIONS) + " |")
    print("|---" * (2 + len(UNIONS)) + "|")
    for name, function, pairs in (("rensa", r_minhash, 20_000), ("numpy", plain_minhash, 2_000)):
        start = time.process_time()
        function(hashes, counts, settings.permutations, 1)
        cells = [f"{megabytes / (time.process_time() - start):.0f}"]
        for union in UNIONS:
            found = errors(function, pairs, union, settings.permutations)
            cells.append(f"{found.mean():+.4f} ± {found.std() / pairs**0.5:.4f}, {found.std():.4f}")
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
