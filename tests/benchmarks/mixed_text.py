"""Mixed French text of any size, drawn from the corpora of the data folder, in three forms of file.

    python tests/benchmarks/mixed_text.py DATA --megabytes 200 --output text/200

The documents are composed. A real document of the source gives the number of lines, and runs of lines come from
documents drawn at random. Each time that a source has given as many bytes as it holds, a new round begins. A round
spells a third of the rarer words with one other letter, and every number with other digits. So new words keep coming,
and most lines are new. One document in 50 comes a second time later, one in 25 with 5 % of its words edited.

The output holds text.txt (documents apart by blank lines), articles.jsonl and letters.csv: letters of invented patients
(tests/helpers/template_letters.py). A text of more megabytes begins with the documents of a smaller one.
"""

import argparse
import csv
import hashlib
import itertools
import json
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from preprocess.documents.document import read_documents

sys.path += [str(Path(__file__).resolve().parents[1] / folder) for folder in ("campaigns", "helpers")]
from planted_copies import EDITS, edited  # noqa: E402
from template_letters import letter  # noqa: E402

SEED = 1
RUN_LINES = 8  # of one document, one after the other, on average
FREQUENT = 0.75  # share of a source's words that are never spelt otherwise: its most frequent ones
LARGEST_COPIED = 100_000  # characters: novels have no copies
COPIES = {"exact": 0.02, "5 %": 0.04}  # shares of the documents
LATER = 200  # copies wait for so many others of their source at most

# The files, and for each its sources with the share of all bytes that they give.
FILES = {
    "text.txt": {"leaflets": 0.47, "novels": 0.20},
    "articles.jsonl": {"oncology": 0.09, "abstracts": 0.06, "cases": 0.04, "covid": 0.02, "advice": 0.01},
    "letters.csv": {"letters": 0.11},
}
LETTERS = {"letters.jsonl": {"letters": 1.0}}


def corpora(data: Path) -> dict[str, list[list[str]]]:
    """The real documents by source, each as its lines."""
    files = {
        "leaflets": ["fr_raw/bdpm_notices.txt"], "novels": ["fr_general/eltec_fra_romans.txt"],
        "cases": ["fr_raw/pamj_cas_cliniques.txt"], "covid": ["fr_raw/tico19_fr.txt"],
        "advice": ["fr_raw/mesconseilscovid.txt"],
    }  # fmt: skip
    found = {
        name: [document.lines for document in read_documents(data / path for path in paths)]
        for name, paths in files.items()
    }
    texts = sorted((data / "fr_ner/fracco/brat_raw").glob("*.txt"))
    found["oncology"] = [list(filter(None, file.read_text(encoding="utf-8").split("\n"))) for file in texts]
    with open(data / "fr_cls/morfitt/train.tsv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    found["abstracts"] = [row["abstract"].strip().replace(". ", ".\n").split("\n") for row in rows]
    return found


class Spelling(dict):
    """The words of one round of a source as they are written, looked up by the real ones."""

    def __init__(self, turn: int, frequent: frozenset[str]):
        super().__init__()
        self.turn, self.frequent = turn, frequent

    def __missing__(self, word: str) -> str:
        draw = hashlib.blake2b(f"{self.turn} {word}".encode(), digest_size=16).digest()
        written = word
        if any(map(str.isdigit, word)):
            new = zip(word, itertools.cycle(draw), strict=False)
            written = "".join(str(number % 10) if sign in "0123456789" else sign for sign, number in new)
        elif len(word) > 3 and word not in self.frequent and word.isalpha() and draw[0] % 3 == 0:
            place = 1 + draw[1] % (len(word) - 2)
            written = word[:place] + "abcdefghijklmnopqrstuvwxyz"[draw[2] % 26] + word[place + 1 :]
        return self.setdefault(word, written)


def frequent_words(documents: list[list[str]]) -> frozenset[str]:
    """The most frequent words, which make up the share FREQUENT of the text."""
    counts = Counter(word for lines in documents for line in lines for word in line.split(" "))
    left, found = FREQUENT * counts.total(), []
    for word, count in counts.most_common():
        if left <= 0:
            break
        left -= count
        found.append(word)
    return frozenset(found)


def composed(documents: list[list[str]], seed: str) -> Iterator[list[str]]:
    """New documents without end, as lines. The first round keeps the real spelling."""
    draw, frequent = random.Random(seed), frequent_words(documents)
    size = sum(len(line) + 1 for lines in documents for line in lines)
    given, spelling = 0, Spelling(0, frequent)
    while True:
        if given // size != spelling.turn:
            spelling = Spelling(given // size, frequent)
        count, lines = len(draw.choice(documents)), []
        while len(lines) < count:
            source = draw.choice(documents)
            start, length = draw.randrange(len(source)), 1 + int(draw.expovariate(1 / RUN_LINES))
            lines += source[start : start + min(length, count - len(lines))]
        if spelling.turn:
            lines = [" ".join(map(spelling.__getitem__, line.split(" "))) for line in lines]
        given += sum(len(line) + 1 for line in lines)
        yield lines


def with_copies(documents: Iterable[list[str]], seed: str, made: Counter) -> Iterator[list[str]]:
    """The documents, and copies of some of them later; `made` counts the copies of each kind."""
    draw, rng = random.Random(seed), np.random.default_rng(list(seed.encode()))
    waiting: list[tuple[int, list[str]]] = []
    for number, lines in enumerate(documents):
        yield lines
        while waiting and waiting[0][0] <= number:
            yield waiting.pop(0)[1]
        chosen = draw.random()
        kind = "exact" if chosen < COPIES["exact"] else "5 %" if chosen < sum(COPIES.values()) else None
        if kind and sum(map(len, lines)) < LARGEST_COPIED:
            copy = lines if kind == "exact" else edited_lines(lines, 0.05, rng)
            made[kind] += 1
            waiting.append((number + draw.randrange(1, LATER), copy))
            waiting.sort(key=lambda one: one[0])


def edited_lines(lines: list[str], rate: float, rng: np.random.Generator) -> list[str]:
    """A copy with that share of its words replaced, deleted or followed by another, all of them its own words."""
    words = " \n ".join(lines).split(" ")
    copy = edited(words, rate, EDITS, [word for word in words if word != "\n"], rng) or words
    return [line for line in " ".join(copy).replace("\n ", "\n").replace(" \n", "\n").split("\n") if line.strip()]


def documents_of(name: str, real: dict[str, list[list[str]]], made: Counter) -> Iterator[list[str]]:
    """The documents of one source, without end."""
    if name == "letters":
        return (letter(number, SEED).lines for number in itertools.count())
    seed = f"{SEED} {name}"
    return with_copies(composed(real[name], seed), seed, made)


def interleaved(shares: dict[str, float], sources: dict[str, Iterator], bytes_: int) -> Iterator[tuple[str, list[str]]]:
    """(source, document) until all have their share of so many bytes, always of the source that is furthest behind."""
    given = dict.fromkeys(shares, 0)
    while sum(given.values()) < bytes_ * sum(shares.values()):
        name = min(given, key=lambda one: given[one] / shares[one])
        lines = next(sources[name])
        given[name] += len("\n".join(lines).encode()) + 1
        yield name, lines


def write_text(data: Path, output: Path, megabytes: float, files: dict[str, dict[str, float]] = FILES) -> dict:
    """Write the files and made.json into the folder, unless it is there; return what made.json holds."""
    if not output.exists():
        work, made = output.with_name(f".{output.name}.partial"), Counter()
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        real, counts = corpora(data), Counter()
        for file, shares in files.items():
            sources = {name: documents_of(name, real, made) for name in shares}
            with open(work / file, "w", encoding="utf-8", newline="") as handle:
                write = WRITERS[Path(file).suffix](handle)
                for name, lines in interleaved(shares, sources, int(megabytes * 1e6)):
                    write(f"{name}-{counts[name]}", lines)
                    counts[name] += 1
        record = {"megabytes": megabytes, "seed": SEED, "documents": counts, "copies": made}
        (work / "made.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
        work.rename(output)
    return json.loads((output / "made.json").read_text(encoding="utf-8"))


def text_writer(handle):
    """Documents apart by blank lines."""
    return lambda name, lines: handle.write("\n".join(lines) + "\n\n")


def json_writer(handle):
    """An object a line."""
    return lambda name, lines: handle.write(
        json.dumps({"id": name, "text": "\n".join(lines)}, ensure_ascii=False) + "\n"
    )


def csv_writer(handle):
    """A row for each document, which may run over several lines."""
    writer = csv.writer(handle)
    writer.writerow(["id", "text"])
    return lambda name, lines: writer.writerow([name, "\n".join(lines)])


WRITERS = {".txt": text_writer, ".jsonl": json_writer, ".csv": csv_writer}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("--megabytes", type=float, required=True, help="size of the text")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    parser.add_argument("--letters", action="store_true", help="letters alone, in letters.jsonl (default: off)")
    options = parser.parse_args()
    files = LETTERS if options.letters else FILES
    print(json.dumps(write_text(options.data, options.output, options.megabytes, files)))


if __name__ == "__main__":
    main()
