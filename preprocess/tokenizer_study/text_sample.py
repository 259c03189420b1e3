"""The documents that a study measures on: drawn at random from a held-out text of any size, then read by blocks."""

import heapq
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from alibert_common.executors.base import Engine
from alibert_common.files import read_json, write_json
from alibert_common.input_log import InputLog
from preprocess.documents.document import SHARD_SUFFIX, Document, Size, document_files, read_documents
from preprocess.documents.shards import in_parts, shard_name, written_shard

BLOCK_CHARACTERS = 1_000_000  # a second of one tokenizer


@dataclass
class TextSample:
    """The drawn documents, in files of one block each, and their size; `whole` is that of all text.

    Words are separated by white space.
    """

    path: Path
    blocks: list[Path] = field(default_factory=list)
    size: Size = field(default_factory=Size)
    whole: Size = field(default_factory=Size)
    characters: int = 0
    sources: dict[str, int] = field(default_factory=dict)  # their words
    inputs: list[dict] = field(default_factory=list)

    def count(self, document: Document) -> Document:
        """Count one drawn document, and return it."""
        words = self.size.words
        self.size.add(document)
        self.characters += sum(map(len, document.lines))
        self.sources[document.source] = self.sources.get(document.source, 0) + self.size.words - words
        return document

    def describe(self) -> dict:
        """For study.json."""
        counts = asdict(self.size) | {"characters": self.characters, "words_of_sources": self.sources}
        return {"path": str(self.path), "inputs": self.inputs, "whole": asdict(self.whole)} | counts


def draw_documents(path: Path, limit: int, seed: int, engine: Engine, folder: Path) -> TextSample:
    """Documents until they have `limit` bytes, each as likely as any other; in `folder`, in the order of the text.

    Raises InputError for text that cannot be read.
    """
    files = list(enumerate(document_files([path])))
    draw, sample = DrawDocuments(folder / "drawn", limit, seed), TextSample(path)
    engine.run("drawing", draw, files, folder)
    reports = [read_json(draw.done(file)) for file in files]
    keys = np.concatenate([report["keys"] for report in reports])
    sizes = np.concatenate([report["sizes"] for report in reports])
    order = np.argsort(keys)
    last = int(np.searchsorted(np.cumsum(sizes[order]), limit))
    cut = keys[order[min(last, len(order) - 1)]]
    for report in reports:
        sample.whole += Size(**report["whole"])
        sample.inputs += report["inputs"]
    drawn = (
        document
        for file, report in zip(files, reports, strict=True)
        for document, key in zip(read_documents([draw.shard(file)]), report["keys"], strict=True)
        if key <= cut
    )
    for number, block in enumerate(in_parts(map(sample.count, drawn), BLOCK_CHARACTERS)):
        sample.blocks.append(folder / (shard_name(number) + SHARD_SUFFIX))
        with written_shard(sample.blocks[-1]) as shard:
            for document in block:
                shard.write(document)
    return sample


@dataclass(frozen=True)
class DrawDocuments:
    """Write the documents of a file that have the smallest random keys, until they have `limit` bytes."""

    folder: Path
    limit: int
    seed: int

    def shard(self, file: tuple[int, Path]) -> Path:
        """The drawn documents of a file."""
        return self.folder / (shard_name(file[0]) + SHARD_SUFFIX)

    def done(self, file: tuple[int, Path]) -> Path:
        """Their keys and bytes, and what was read; written last."""
        return self.folder / f"{shard_name(file[0])}.json"

    def __call__(self, file: tuple[int, Path]) -> None:
        log, whole = InputLog(), Size()
        drawn = sorted(self._drawn(file, log, whole), key=lambda kept: kept[1])
        with written_shard(self.shard(file)) as shard:
            for *_, document in drawn:
                shard.write(document)
        report = {"keys": [-key for key, *_ in drawn], "sizes": [size for _, _, size, _ in drawn]}
        write_json(self.done(file), report | {"whole": asdict(whole), "inputs": log.manifest()})

    def _drawn(self, file: tuple[int, Path], log: InputLog, whole: Size) -> list[tuple[float, int, int, Document]]:
        """(-key, number, bytes, document) of the drawn documents; a heap, so the one with the largest key is first."""
        generator = np.random.default_rng((self.seed, file[0]))
        kept: list[tuple[float, int, int, Document]] = []
        held = 0
        for number, document in enumerate(read_documents([file[1]], log)):
            before = whole.bytes
            whole.add(document)
            heapq.heappush(kept, (-generator.random(), number, whole.bytes - before, document))
            held += whole.bytes - before
            while held - kept[0][2] >= self.limit:
                held -= heapq.heappop(kept)[2]
        return kept
