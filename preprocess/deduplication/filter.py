"""The last step of deduplicate: every shard is read again and written without what was found in the whole corpus."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from alibert_common.arrays import load
from preprocess.deduplication.decontamination import EMPTY, Decontaminate
from preprocess.deduplication.hashes import Keys
from preprocess.deduplication.repeated_documents import KEPT, NEAR, SAME
from preprocess.deduplication.repeated_lines import Groups, lines_to_drop
from preprocess.documents.document import Document
from preprocess.documents.samples import ShardSamples
from preprocess.documents.stage_report import Report

DROPPED = {SAME: "documents seen before", NEAR: "near-duplicates of an earlier document"}
REPEATED = "lines seen {} times before"


@dataclass(frozen=True)
class DropFound:
    """The filter that leaves out what was found."""

    corpus: Keys
    fates: Path  # .npy: what becomes of every document
    lines: tuple[Groups, ...]
    repeated: str  # the name of the rule that drops lines
    examples: ShardSamples
    again: Decontaminate | None  # looks through what is left of a document with repeated lines

    def __call__(self, number: int, documents: Iterable[Document], report: Report) -> Iterator[Document]:
        samples = self.examples.begin()
        decontaminator = self.again.begin() if self.again else None
        for document, (fate, gone) in zip(documents, self._found(number), strict=True):
            place = self.examples.place(number, document)
            if fate != KEPT:
                report.drop(DROPPED[fate])
                samples.add(DROPPED[fate], place, document.text)
                continue
            for line in gone:
                samples.add(self.repeated, place, document.lines[line])
            report.drop(self.repeated, len(gone))
            document.lines = [line for line_number, line in enumerate(document.lines) if line_number not in gone]
            if gone and decontaminator and not decontaminator.clean(document, place, report):
                continue
            if document.lines:
                yield document
            else:
                report.drop(EMPTY)
        self.examples.save(number, samples)
        if self.again and decontaminator:
            self.again.save(number, decontaminator)

    def _found(self, shard: int) -> Iterator[tuple[int, set[int]]]:
        """For each document of a shard its fate, and the numbers of its lines to drop."""
        fates = load(self.fates)
        for part in range(*self.corpus.shards[shard : shard + 2]):
            gone = lines_to_drop(self.lines, part)
            for number, fate in enumerate(fates[self.corpus.documents(part)].tolist()):
                yield fate, gone.get(number, set())
