"""No sentence of a benchmark stays in the training text: lines that hold one go, or the whole document.

A model that has read the sentences it is scored on scores too well. GPT-3's authors cut out what training and test
texts share with 200 characters on both sides, and drop a document that this cuts more than ten times (Brown et al.
2020, appendix C). Here the lines go, which are sentences or paragraphs; and the document when a quarter of its words
stand in such sentences, for then the rest of it is the benchmark's text as well, edited or cut otherwise.

This comes before copies are looked for, as what goes here must not be the original for which a clean document is
dropped; and once more where repeated lines went, for those beside them meet.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from alibert_common.files import read_json, write_json
from preprocess.deduplication.benchmarks import Benchmark, Index, Sentence, index_of, words_of
from preprocess.documents.document import Document
from preprocess.documents.samples import Samples, ShardSamples
from preprocess.documents.shards import shard_name
from preprocess.documents.stage_report import Report

LINES, DOCUMENTS = "lines with a sentence of {}", "documents a quarter of which is of benchmarks"
EMPTY = "documents left without a line"
QUARTER = 0.25  # of the words. Of short letters one common sentence is less; of an edited copy the half is left


def reasons(benchmarks: list[Benchmark]) -> list[tuple[str, str]]:
    """(name, reason) of the rules."""
    lines = "the model is to be scored on this sentence; other words stand in the line too"
    whole = "the rest is the benchmark's text as well, edited or cut otherwise"
    return [(LINES.format(benchmark.name), lines) for benchmark in benchmarks] + [(DOCUMENTS, whole)]


@dataclass(frozen=True)
class Decontaminate:
    """The filter that takes the sentences of benchmarks out. `found` is where each shard leaves what it found."""

    index: Path
    examples: ShardSamples
    found: Path

    @classmethod
    def of(cls, directory: Path, benchmarks: list[Benchmark], sources: Iterable[Path]) -> "Decontaminate":
        """The filter with its files in a directory; `sources` are the names of the shards."""
        index = directory / "benchmarks.json"
        write_json(index, [asdict(benchmark) for benchmark in benchmarks])
        return cls(index, ShardSamples(directory / "examples", tuple(sources)), directory / "found")

    def __call__(self, number: int, documents: Iterable[Document], report: Report) -> Iterator[Document]:
        decontaminator = self.begin()
        for document in documents:
            if decontaminator.clean(document, self.examples.place(number, document), report):
                yield document
        self.save(number, decontaminator)

    def begin(self) -> "Decontaminator":
        """A decontaminator of the documents of a shard."""
        return Decontaminator(index_of(self.index.read_text(encoding="utf-8")), Samples(self.examples.most))

    def save(self, number: int, decontaminator: "Decontaminator") -> None:
        """Write what was found in shard `number`."""
        self.examples.save(number, decontaminator.samples)
        sentences = {name: sorted(numbers) for name, numbers in decontaminator.found.items()}
        write_json(self._file(number), {"left": decontaminator.left, "sentences": sentences})

    def left(self) -> list[int]:
        """The numbers of the shards that have a document left."""
        return [number for number, record in enumerate(self._records()) if record["left"]]

    def sentences(self) -> set[tuple[str, int]]:
        """The sentences that were found in all shards: benchmark and number."""
        by_name = (item for record in self._records() for item in record["sentences"].items())
        return {(name, number) for name, numbers in by_name for number in numbers}

    def _records(self) -> Iterator[dict]:
        return (read_json(self._file(number)) for number in range(len(self.examples.sources)))

    def _file(self, number: int) -> Path:
        return self.found / f"{shard_name(number)}.json"


class Decontaminator:
    """Takes the sentences of benchmarks out of documents; `samples` shows each and where it stood, `found` maps every
    benchmark to the numbers of the sentences that were there, `left` counts the documents with a line left."""

    def __init__(self, index: Index, samples: Samples):
        self.index = index
        self.samples = samples
        self.found: dict[str, set[int]] = {}
        self.left = 0

    def clean(self, document: Document, place: str, report: Report) -> bool:
        """Take the lines out of the document; False when it is to be dropped. `place` tells a person where it is.

        What is left is looked through again: two lines may make a sentence when those between them are gone.
        """
        hits, share = self._find(document.lines)
        if share >= QUARTER:
            report.drop(DOCUMENTS)
            self.samples.add(DOCUMENTS, place, document.text)
            return False
        while hits:
            struck: dict[str, set[int]] = {}
            for sentence, lines in hits:
                struck.setdefault(sentence.benchmark, set()).update(lines)
                self.samples.add(LINES.format(sentence.benchmark), place, sentence.text)
            for name, numbers in struck.items():
                report.drop(LINES.format(name), len(numbers))
            gone = set[int]().union(*struck.values())
            document.lines = [line for number, line in enumerate(document.lines) if number not in gone]
            hits, _ = self._find(document.lines)
        self.left += bool(document.lines)
        if not document.lines:
            report.drop(EMPTY)
        return bool(document.lines)

    def _find(self, lines: list[str]) -> tuple[list[tuple[Sentence, list[int]]], float]:
        """The sentences found, each with its lines, and the share of the words that stand in one."""
        words = [words_of(line) for line in lines]
        line_of = np.repeat(np.arange(len(lines)), [len(line_words) for line_words in words])
        covered = np.zeros(len(line_of), bool)
        hits = []
        for where, sentence in self.index.find(list(chain.from_iterable(words))):
            covered[where] = True
            hits.append((sentence, line_of[where].tolist()))
            self.found.setdefault(sentence.benchmark, set()).add(sentence.number)
        return hits, covered.mean() if hits else 0.0
