"""A sample of lines from document files of any size, drawn file by file on all cores or nodes.

Each copy of a line gets a key in [0, 1), and the copies with the smallest keys are the sample. A key depends on the
seed, the number of the file and the place in the file alone, so the sample is the same for any number of processes.
"""

import math
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass, field
from itertools import chain, compress, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.executors.base import Engine
from alibert_common.files import read_json, write_json, written_whole
from alibert_common.input_log import InputLog
from preprocess.documents.document import Document, Size, document_files, patient_of, read_documents, size_of
from preprocess.documents.long_lines import Cuts, cut_line
from preprocess.documents.patients import PatientTally
from preprocess.documents.shards import shard_name
from preprocess.mixing.reader import Corpus

KEYS_AT_ONCE = 1 << 16  # some 10 MB of lines
LINE_BYTES = 100  # of a stored line, where no manifest counts lines: leaflets have 120, compressed leaflets 20
DEVIATIONS = 10  # of the number of lines below a bound, which is too small once in 10^23
# The files of the lines that were drawn from a file of documents.
LINES, KEYS, PATIENTS = ".lines", ".npy", ".patients.npy"


class WeightedFile(NamedTuple):
    """A file of documents, with the weight of its corpus; `number` counts all files, `known` tells that the size of the
    corpus is known."""

    number: int
    path: Path
    weight: float
    known: bool


class DrawnLines(NamedTuple):
    """The lines in `path` that belong to the sample: their keys, beside it, are `cut` or less."""

    path: Path
    cut: float

    def read(self) -> Iterator[str]:
        """The lines in their order."""
        with open(self.path, encoding="utf-8", newline="\n") as handle:
            for line in compress(handle, self._drawn()):
                yield line.removesuffix("\n")

    def patients(self) -> np.ndarray:
        """(lines,) uint64: the patient of each line, where they were asked for."""
        return load(self.path.with_suffix(PATIENTS))[self._drawn()]

    def _drawn(self) -> np.ndarray:
        return load(self.path.with_suffix(KEYS)) <= self.cut


@dataclass
class Sample:
    """Lines of documents, by files; `read` is the size of all their text, `cuts` what became of its longest lines."""

    files: list[DrawnLines]
    size: int  # lines
    read: Size = field(default_factory=Size)
    cuts: Cuts = field(default_factory=Cuts)
    inputs: list[dict] = field(default_factory=list)
    patients: PatientTally = field(default_factory=PatientTally)  # of all documents, where they were asked for

    def lines(self) -> Iterator[str]:
        """All lines, in their order in the text."""
        return chain.from_iterable(file.read() for file in self.files)


def draw_lines(
    corpora: Iterable[Corpus], limit: int, seed: int, engine: Engine, folder: Path, patients: bool = False
) -> Sample:
    """At most `limit` lines, which lie in `folder`; `folder` also holds the logs of Slurm jobs.

    Every line of a corpus of weight 1 is as likely as any other; one of weight 2.5 counts as two lines or, as often, as
    three (ouBioBERT's amplified vocabulary, Wada et al. 2020, section 2.2). With `patients`, that of each line is kept.
    Raises InputError where only some documents of a source have a patient, if these are asked for.
    """
    files: list[WeightedFile] = []
    copies, known = 0.0, Size()  # of all lines; of the corpora whose size is known
    for corpus in corpora:
        paths, size = document_files(corpus.paths), corpus.size
        is_known = size.documents > 0
        files += (WeightedFile(number, path, corpus.weight, is_known) for number, path in enumerate(paths, len(files)))
        copies += corpus.weight * (size.lines if is_known else size_of(paths) / LINE_BYTES)
        known += size
    while True:
        draw = DrawLines(folder, limit, seed, min(1.0, enough(limit) / copies) if copies else 1.0, patients)
        engine.run("drawing", draw, files, folder / "jobs")
        keys = np.concatenate([np.array(load(draw.file(file, KEYS))) for file in files])  # closes each file
        if len(keys) >= limit or draw.bound == 1:
            break
        copies = len(keys) / draw.bound  # fewer than a manifest says, or than the bytes of files without one let expect
    cut = float(np.partition(keys, limit - 1)[limit - 1]) if len(keys) > limit else 1.0
    sample = Sample(
        [DrawnLines(draw.file(file, LINES), cut) for file in files], int(np.count_nonzero(keys <= cut)), known
    )
    for report in (read_json(draw.done(file)) for file in files):
        sample.read += Size(**report["read"])
        sample.cuts = Cuts(*map(sum, zip(astuple(sample.cuts), report["cuts"].values(), strict=True)))
        sample.inputs += report["inputs"]
        sample.patients.add(report.get("sources", {}))
    if files:
        sample.patients.check(files[0].path)
    return sample


def enough(limit: int) -> float:
    """How many lines to expect below a bound, so that there are `limit` in practice."""
    return limit + DEVIATIONS * math.sqrt(limit) + DEVIATIONS**2


def keys_of(lines: int, weight: float, generator: np.random.Generator) -> np.ndarray:
    """(lines, copies) random keys in [0, 1) of the copies of each line; a copy with a key of 1 or more is none.

    The weight 2.5 gives three keys. Half of the third are 1 or more, and the other half are uniform in [0, 1) too.
    """
    copies = math.ceil(weight)
    keys = generator.random((lines, copies))
    keys[:, -1] /= weight - (copies - 1)
    return keys


class SmallestKeys:
    """Lines with the `limit` smallest keys of those below `bound`, in the order in which they were added."""

    def __init__(self, limit: int, bound: float):
        self.limit, self.bound = limit, bound
        self.keys = np.empty(0)
        self.lines: list[str] = []
        self.patients = np.empty(0, np.uint64)

    def add(self, lines: list[str], keys: np.ndarray, patients: np.ndarray | None = None) -> None:
        """Add the copies of lines; `keys` is (lines, copies), `patients` (lines,)."""
        rows, columns = np.nonzero(keys < self.bound)
        self.keys = np.concatenate([self.keys, keys[rows, columns]])
        if patients is not None:
            self.patients = np.concatenate([self.patients, patients[rows]])
        self.lines += [lines[row] for row in rows]
        if len(self.keys) > 2 * self.limit:
            self.leave_out()

    def leave_out(self) -> None:
        """Leave out all lines but those with the smallest keys."""
        if len(self.keys) > self.limit:
            kept = self.keys <= np.partition(self.keys, self.limit - 1)[self.limit - 1]
            self.keys, self.lines = self.keys[kept], list(compress(self.lines, kept))
            self.patients = self.patients[kept] if len(self.patients) else self.patients
            self.bound = self.keys.max()


@dataclass(frozen=True)
class DrawLines:
    """Write the lines of a file that have the smallest keys: at most `limit`, below `bound`."""

    folder: Path
    limit: int
    seed: int
    bound: float
    patients: bool = False  # whether those of the lines are written too

    def file(self, file: WeightedFile, suffix: str) -> Path:
        """Where the lines of a file, or their keys, are written."""
        return self.folder / f"below-{self.bound}" / f"{shard_name(file.number)}{suffix}"

    def done(self, file: WeightedFile) -> Path:
        """What was read; written last."""
        return self.file(file, ".json")

    def __call__(self, file: WeightedFile) -> None:
        log, read, cuts = InputLog(), Size(), Cuts()
        generator = np.random.default_rng((self.seed, file.number))
        smallest, documents = SmallestKeys(self.limit, self.bound), read_documents([file.path], log)
        whom = _Patients() if self.patients else None
        lines = _parts(documents, None if file.known else read, cuts, whom)
        while some := list(islice(lines, max(1, KEYS_AT_ONCE // math.ceil(file.weight)))):
            smallest.add(some, keys_of(len(some), file.weight, generator), whom.taken(len(some)) if whom else None)
        smallest.leave_out()
        if self.patients:
            save(self.file(file, PATIENTS), smallest.patients)
        save(self.file(file, KEYS), smallest.keys)
        with written_whole(self.file(file, LINES)) as handle:
            handle.writelines(f"{line}\n" for line in smallest.lines)
        sources = {"sources": asdict(whom.tally)["sources"]} if whom else {}
        report = {"read": asdict(read), "cuts": asdict(cuts), "inputs": log.manifest()}
        write_json(self.done(file), report | sources)


class _Patients:
    """The patients of the lines that were read since they were last taken."""

    def __init__(self) -> None:
        self.tally, self.keys = PatientTally(), array("Q")

    def add(self, document: Document, lines: int) -> None:
        self.keys.extend([self.tally.key(document.id, document.source, patient_of(document))] * lines)

    def taken(self, lines: int) -> np.ndarray:
        """(lines,) uint64: those of the first so many lines."""
        taken = np.array(self.keys[:lines], np.uint64)
        del self.keys[:lines]
        return taken


def _parts(
    documents: Iterable[Document], read: Size | None, cuts: Cuts, whom: _Patients | None = None
) -> Iterator[str]:
    """The lines of documents, which `read` counts; lines too long are cut. `whom` gets the patient of each line."""
    for document in documents:
        if read is not None:
            read.add(document)
        parts = [part for line in document.lines for part in cut_line(line, cuts)]
        if whom:
            whom.add(document, len(parts))
        yield from parts
