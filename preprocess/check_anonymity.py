"""Verify the proof that a training on a data-bin learns only runs of words that so many patients have.

    python -m preprocess.check_anonymity data-bin

The data-bin is one of `binarize --min-patients`. This program imports nothing of this project: it reads the files
itself, and counts no patients. For each run of words that may be learned, the proof names places of the text. There
must be the same tokens, as whole words, in documents of different patients. Where a run of words has so many patients,
so have the runs inside it, its words, and their pieces.
"""

import argparse
import hashlib
import io
import json
import sys
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from zlib import crc32

import numpy as np
import zstandard

ROWS_AT_ONCE = 1 << 16


class Violation(Exception):
    """What is wrong, and where."""


class Text:
    """The tokens of all splits, one split behind the other, and the documents that they are of."""

    def __init__(self, folder: Path, proof: dict):
        self.folder, self.splits, self.ids = folder, proof["splits"], proof["ids"]
        self.bins = [mapped(folder / f"{split}.bin", f"<u{self.ids['bytes']}") for split in self.splits]
        self.sizes = [self._sizes(folder / f"{split}.idx") for split in self.splits]  # of lines, their </s> too
        self.bases = [0, *np.cumsum([len(tokens) for tokens in self.bins]).tolist()]
        ends = [
            base + np.cumsum(size, dtype=int)[size == 1] for base, size in zip(self.bases, self.sizes, strict=False)
        ]
        self.begins = np.sort(np.concatenate([self.bases[:-1], *ends]))  # of documents
        records = [record for split in self.splits for record in self._records(folder / f"{split}.documents.jsonl.zst")]
        self.documents = [record["id"] for record in records]
        numbers: dict[object, int] = {}
        names = (record["patient"] or (record["source"], record["id"]) for record in records)
        self.patients = np.array([numbers.setdefault(name, len(numbers)) for name in names])
        known, unknown = ({one["source"] for one in records if bool(one["patient"]) is has} for has in (True, False))
        if known & unknown or len(records) != len(self.begins):
            raise Violation(f"{len(self.begins)} documents do not fit their records, of which only some have a patient")
        lines = (folder / proof["dictionary"]).read_text("utf-8").split("\n")[:-1]
        self.pieces = [""] * self.ids["first_of_dictionary"] + [line.rsplit(" ", 1)[0] for line in lines] + [""]
        self.starts = [piece.startswith(proof["mark"]) != (proof["mark"] == "##") for piece in self.pieces]

    @staticmethod
    def _sizes(index: Path) -> np.ndarray:
        return np.fromfile(index, "<i4", int(np.fromfile(index, "<u8", 1, offset=18)[0]), offset=26)

    @staticmethod
    def _records(path: Path) -> Iterator[dict]:
        with open(path, "rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as lines:
            yield from map(json.loads, io.TextIOWrapper(lines, "utf-8"))

    def words_at(self, place: int, size: int) -> bytes:
        """So many tokens from a place on; none where they are no whole words of a line."""
        split = bisect_right(self.bases, place) - 1
        tokens, first = self.bins[split], place - self.bases[split]
        if first + size >= len(tokens):
            return b""
        begins = not first or tokens[first - 1] == self.ids["end"] or self.starts[tokens[first]]
        ends = tokens[first + size] == self.ids["end"] or self.starts[tokens[first + size]]
        found = tokens[first : first + size]
        of_words = {self.ids["end"], self.ids["unknown"]}.isdisjoint(found.tolist())
        return found.tobytes() if begins and ends and of_words else b""

    def proved(self, name: str, patients: int) -> Iterator[bytes]:
        """The runs of words that a file proves."""
        rows = mapped(self.folder / name, "<i8").reshape(-1, 1 + patients)
        for at in range(0, len(rows), ROWS_AT_ONCE):
            block = np.array(rows[at : at + ROWS_AT_ONCE])
            whom = np.sort(self.patients[np.searchsorted(self.begins, block[:, 1:], side="right") - 1], 1)
            different = (whom[:, 1:] != whom[:, :-1]).all(1).tolist()
            for number, (size, *places), distinct in zip(count(at + 1), block.tolist(), different, strict=False):
                inside = size > 0 and 0 <= min(places) and max(places) + size < self.bases[-1]
                runs = {self.words_at(place, size) for place in places} if inside and distinct else {b""}
                if len(runs) > 1 or b"" in runs:
                    where = self.describe(places[0]) if inside else "outside the text"
                    raise Violation(f"{name}, row {number}: no run of words of {patients} patients; {where}")
                yield runs.pop()

    def describe(self, place: int) -> str:
        """A place for a person."""
        split = bisect_right(self.bases, place) - 1
        document = self.documents[bisect_right(self.begins, place) - 1]
        return f"{self.splits[split]}.bin, document {document}, token {place - self.bases[split] + 1}"

    def learned(self, n: int) -> Iterator[tuple[int, bytes]]:
        """The place and the tokens of each n-gram that has a token to learn; of a line of fewer words, of all."""
        for base, split, tokens, sizes in zip(self.bases, self.splits, self.bins, self.sizes, strict=False):
            bits, at = mapped(self.folder / f"{split}.predictable", "u1"), 0
            for size in sizes.tolist():
                line, marks = tokens[at : at + size], np.unpackbits(bits[at // 8 : -(-(at + size) // 8)])
                marked, raw, width = marks[at % 8 : at % 8 + size].tobytes(), line.tobytes(), line.itemsize
                if size > 1 and 1 in marked:
                    edges = [i for i, token in enumerate(line[:-1].tolist()) if not i or self.starts[token]] + [
                        size - 1
                    ]
                    few, last_word = min(n, len(edges) - 1), marked[-2]
                    if marked[-1] > last_word:
                        raise Violation(f"{self.describe(base + at + size - 1)}: learned, unlike the word before it")
                    for first, last in zip(edges, edges[few:], strict=False):
                        if 1 in marked[first:last]:
                            yield base + at + first, raw[first * width : last * width]
                at += size


def check(folder: Path, passes: int = 1) -> str:
    """Verify a data-bin in so many readings, each with its share of the proof in memory. Raises Violation."""
    proof = json.loads((folder / "anonymity.json").read_text("utf-8"))
    counts, proofs = proof["counts"], proof["proofs"]
    for name, digest in proof["sha256"].items():
        if sha256(folder / name) != digest:
            raise Violation(f"{name}: not the file that the proof is about")
    text, patients = Text(folder, proof), counts["min_patients"]
    for number in range(passes):
        runs = chain.from_iterable(text.proved(name, patients) for name in proofs)
        proved = {run for run in runs if crc32(run) % passes == number}
        for place, run in text.learned(counts["ngram_words"]):
            if crc32(run) % passes == number and run not in proved:
                raise Violation(f"{text.describe(place)}: a word to learn of a run without proof")
    if counts["counted_pieces"]:
        check_pieces(text, text.proved(proofs[0], patients), proof["mark"])
    said = "each piece of the vocabulary, and " if counts["counted_pieces"] else ""
    return f"{said}each run of 1 to {counts['ngram_words']} words to learn is of {patients} patients or more"


def check_pieces(text: Text, words: Iterator[bytes], mark: str) -> None:
    """Verify that each piece is the begin of a proved word, or inside of one; a character may be anywhere."""
    pieces = [(start, piece.removeprefix(mark)) for start, piece in zip(text.starts, text.pieces, strict=True)]
    wanted = {(start and len(piece) > 1, piece) for start, piece in pieces if piece and not piece.startswith("<unused")}
    longest = max(len(piece) for _, piece in wanted)
    for word in words:
        spelled = "".join(pieces[token][1] for token in np.frombuffer(word, text.bins[0].dtype).tolist())
        for first in range(len(spelled)):
            for last in range(first + 1, min(first + longest, len(spelled)) + 1):
                wanted.discard((first == 0 and last > first + 1, spelled[first:last]))
    if wanted:
        raise Violation(f"dict.txt: {min(piece for _, piece in wanted)!r} is a part of no word that is proved")


def mapped(path: Path, kind: str) -> np.ndarray:
    """The numbers of a file, read where they are used."""
    return np.asarray(np.memmap(path, kind, "r")) if path.stat().st_size else np.empty(0, kind)


def sha256(path: Path) -> str:
    """The digest of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def main(arguments: list[str] | None = None) -> None:
    """The command line; the exit status is 0 where the proof holds, 1 where it does not, 2 where there is none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_bin", type=Path, metavar="DATA_BIN", help="output of binarize --min-patients")
    passes = "number of readings of the text, each with a share of the proof in memory (default: 1)"
    parser.add_argument("--passes", type=int, default=1, metavar="N", help=passes)
    options = parser.parse_args(arguments)
    try:
        print(f"{options.data_bin}: {check(options.data_bin, max(1, options.passes))}")
    except Violation as found:
        _end(1, f"violation: {options.data_bin}: {found}")
    except OSError as error:
        _end(2, f"error: {error.filename}: {error.strerror}; give a data-bin of binarize --min-patients.")
    except (KeyError, TypeError, ValueError, IndexError) as error:
        _end(1, f"violation: {options.data_bin}: a file of the proof is damaged ({error!r})")


def _end(status: int, sentence: str) -> None:
    print(sentence, file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
