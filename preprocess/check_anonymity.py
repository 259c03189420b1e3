"""Count again, without the code that marked them, the patients of all words that a training on a data-bin learns.

    python -m preprocess.check_anonymity data-bin

The data-bin is one of `binarize --min-patients`. This program imports nothing of this project. It reads the files that
a training reads, and compares them with the proof, `anonymity.json`. A run is 1 to N words side by side in a line.
"""

import argparse
import hashlib
import io
import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from zlib import crc32

import numpy as np
import zstandard

CODES = {2: 8, 4: 4}  # fairseq's number of a type, by its bytes


class Violation(Exception):
    """What is wrong, and where."""


class DataBin:
    """The files of a data-bin with its proof. Raises Violation where they are not those of the proof."""

    def __init__(self, folder: Path):
        self.folder, self.proof = folder, json.loads((folder / "anonymity.json").read_text("utf-8"))
        if "sha256" not in self.proof:
            raise Violation("anonymity.json: says what was counted, and is no proof; check the output of binarize")
        for name, digest in self.proof["sha256"].items():
            if hashlib.sha256(mapped(folder / name, "u1").data).hexdigest() != digest:
                raise Violation(f"{name}: not the file that the proof is about")
        lines = (folder / self.proof["dictionary"]).read_text("utf-8").split("\n")[:-1]
        found = (path for path in folder.rglob("train*.idx") if path.stem[5:].isdigit() or path.stem == "train")
        splits = {path.relative_to(folder).with_suffix("").as_posix() for path in found}
        if extra := splits - set(self.proof["splits"]):
            raise Violation(f"{min(extra)}: a training would read this split, and the proof does not name it")
        self.ids, mark = self.proof["ids"], self.proof["mark"]
        self.kind = f"<u{self.ids['bytes']}"
        pieces = [""] * self.ids["first_of_dictionary"] + [line.rsplit(" ", 1)[0] for line in lines] + [""]
        self.spelled = [piece.removeprefix(mark) for piece in pieces]
        self.starts = [piece.startswith(mark) != (mark == "##") for piece in pieces]
        self.starts[self.ids["unknown"]] = True
        self.named: dict[str, bool] = {}  # whether the documents of a source name a patient

    def lines(self) -> Iterator[tuple[str, tuple, list[bytes], list[bool]]]:
        """The place of each line, its patient, its words, and which of them are learned. Unknown words are empty."""
        return chain.from_iterable(map(self.lines_of, self.proof["splits"]))

    def lines_of(self, split: str) -> Iterator[tuple[str, tuple, list[bytes], list[bool]]]:
        """Those of a split."""
        tokens, at = mapped(self.folder / f"{split}.bin", self.kind), 0
        sizes = self.sizes(split, tokens).tolist()
        marks = mapped(self.folder / f"{split}.predictable", "u1")
        records = chain(self.records(split), [None])
        record = next(records)
        for size in sizes:
            if not record or self.named.setdefault(record["source"], bool(record["patient"])) != bool(
                record["patient"]
            ):
                raise Violation(f"{split}: its documents do not fit their records, or only some have a patient")
            if size == 1:  # </s> alone stands between documents
                record = next(records)
            else:
                line = tokens[at : at + size - 1]
                marked = np.unpackbits(marks[at // 8 : (at + size - 1) // 8 + 1])[at % 8 :][:size].tolist()
                edges = [i for i, token in enumerate(line.tolist()) if not i or self.starts[token]] + [size - 1]
                spans = zip(edges, edges[1:], strict=False)
                words = [b"" if line[i] == self.ids["unknown"] else line[i:j].tobytes() for i, j in spans]
                edges[-1] = size  # the end of the line is of its last word
                learned = [1 in marked[i:j] for i, j in zip(edges, edges[1:], strict=False)]
                patient = (record["patient"],) if record["patient"] else (record["source"], record["id"])
                yield f"{split}.bin, document {record['id']}, from token {at + 1} on", patient, words, learned
            at += size
        if next(records, None):
            raise Violation(f"{split}: its documents do not fit their records")

    def sizes(self, split: str, tokens: np.ndarray) -> np.ndarray:
        """The sizes of the lines. Raises Violation where a training would read others than those that end in </s>."""
        index, width = self.folder / f"{split}.idx", tokens.itemsize
        lines = int(np.fromfile(index, "<u8", 1, offset=18)[0])
        sizes = np.fromfile(index, "<i4", lines, offset=26)
        pointers = np.fromfile(index, "<i8", lines, offset=26 + 4 * lines)
        ends = np.cumsum(sizes, dtype=np.int64)
        same = np.array_equal(np.flatnonzero(tokens == self.ids["end"]) + 1, ends)
        same = same and np.array_equal(pointers, width * (ends - sizes))
        if not same or np.fromfile(index, "u1", 18)[17] != CODES[width]:
            raise Violation(f"{split}.idx: its lines are not those of {split}.bin")
        return sizes

    def records(self, split: str) -> Iterator[dict]:
        """Those of the documents."""
        with open(self.folder / f"{split}.documents.jsonl.zst", "rb") as file:
            with zstandard.ZstdDecompressor().stream_reader(file) as lines:
                yield from map(json.loads, io.TextIOWrapper(lines, "utf-8"))

    def wanted_pieces(self) -> set[tuple[bool, str]]:
        """Each piece, and whether only a word can begin with it; a single character may be anywhere."""
        return {
            (start and len(piece) > 1, piece)
            for start, piece in zip(self.starts, self.spelled, strict=True)
            if piece and not piece.startswith("<unused")
        }

    def pieces_of(self, word: bytes, longest: int) -> Iterator[tuple[bool, str]]:
        """All pieces that a word can have given, as `wanted_pieces` has them."""
        spelled = "".join(self.spelled[token] for token in np.frombuffer(word, self.kind).tolist())
        for first in range(len(spelled)):
            for last in range(first + 1, min(first + longest, len(spelled)) + 1):
                yield first == 0 and last > 1, spelled[first:last]


def runs(words: list[bytes], most: int) -> Iterator[tuple[slice, bytes]]:
    """All runs of 1 to `most` words of a line, and their tokens; none where a word is unknown."""
    for size in range(1, most + 1):
        for first in range(len(words) - size + 1):
            run = words[first : first + size]
            yield slice(first, first + size), b"" if b"" in run else b"".join(run)


def check(folder: Path, passes: int = 1) -> str:
    """Count in so many passes, each with its share of the runs in memory. Raises Violation."""
    data_bin = DataBin(folder)
    rule = data_bin.proof["counts"]
    most, least = rule["ngram_words"], rule["min_patients"]
    pieces = data_bin.wanted_pieces() if rule["counted_pieces"] else set()
    longest = max((len(piece) for _, piece in pieces), default=0)
    for share in range(passes):
        to_learn, of_pieces = set[bytes](), set[bytes]()
        for _, _, words, learned in data_bin.lines():
            for at, run in runs(words, most) if True in learned else ():
                if True in learned[at] and crc32(run) % passes == share:
                    to_learn.add(run)
            of_pieces.update(word for word in words if pieces and crc32(word) % passes == share)
        patients = {run: set[tuple]() for run in to_learn | of_pieces}
        for _, patient, words, _ in data_bin.lines():
            for _, run in runs(words, most):
                if run and run in patients and len(patients[run]) < least:
                    patients[run].add(patient)
        few = {run for run in to_learn if len(patients[run]) < least}
        for place, _, words, learned in data_bin.lines() if few else ():
            for at, run in runs(words, most):
                if True in learned[at] and run in few:
                    found = f"{at.stop - at.start} neighbouring words of {len(patients[run])} patients are learned"
                    raise Violation(f"{place}: {found}")
        for word in of_pieces:
            if len(patients[word]) >= least:
                pieces.difference_update(data_bin.pieces_of(word, longest))
    if pieces:
        raise Violation(f"dict.txt: {min(piece for _, piece in pieces)!r} is in no word of {least} patients")
    said = "each piece of the vocabulary, and " if rule["counted_pieces"] else ""
    return f"{said}each run of 1 to {most} words to learn is of {least} patients or more"


def mapped(path: Path, kind: str) -> np.ndarray:
    """The numbers of a file, read where they are used."""
    return np.asarray(np.memmap(path, kind, "r")) if path.stat().st_size else np.empty(0, kind)


def main(arguments: list[str] | None = None) -> None:
    """The command line; the exit status is 0 where the proof holds, 1 where it does not, 2 where there is none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_bin", type=Path, metavar="DATA_BIN", help="output of binarize --min-patients")
    passes = "number of counts, each with a share of the runs in memory (default: 1)"
    parser.add_argument("--passes", type=int, default=1, metavar="N", help=passes)
    options = parser.parse_args(arguments)
    status, said = 1, f"violation: {options.data_bin}: "
    try:
        print(f"{options.data_bin}: {check(options.data_bin, max(1, options.passes))}")
        return
    except Violation as found:
        said += str(found)
    except OSError as error:
        status, said = 2, f"error: {error.filename}: {error.strerror}; give a data-bin of binarize --min-patients."
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, zstandard.ZstdError) as error:
        said += f"a file of the proof is damaged ({error!r})"
    print(said, file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
