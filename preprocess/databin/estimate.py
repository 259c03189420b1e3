"""What binarize will make and need, estimated from a small part of the text: `--dry-run`.

Some megabytes are read, the first documents of up to 20 files spread over all bytes, and encoded in this process. Each
of these files stands for its share of the stored bytes, so the estimate is right as far as they are like the others,
and their first documents like the rest.
"""

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from io import StringIO
from itertools import pairwise
from pathlib import Path
from statistics import mean

from alibert_common.executors.base import Engine
from alibert_common.input_log import InputLog
from preprocess.databin.batches import Block
from preprocess.databin.build import tokenizer_digests
from preprocess.databin.encoded_shards import BYTES_PER_LINE, TextFile, text_files
from preprocess.databin.encoder_pool import Encoding, Worker, worker_of
from preprocess.databin.fairseq_writer import BYTES_PER_ITEM
from preprocess.databin.subword_regularization import Sampling
from preprocess.documents.compression import bare, open_bytes
from preprocess.documents.document import Document, Size, read_documents, size_of, write_document

FILES, TEXT_BYTES = 20, 4_000_000  # a second or two of work
ROUNDS = 4  # of which the last tells how fast it is once the common words are known
JOINED_A_SECOND = 200_000_000  # bytes of a data-bin: docs/results/binarize_speed.md


@dataclass
class Tried:
    """The first documents of a file. `stored` are the bytes that they take in it, `stands_for` those of all text that
    the file stands for."""

    file: TextFile
    stands_for: float
    stored: float = 0.0
    whole: bool = True  # the file holds nothing else
    lines: list[str] = field(default_factory=list)
    size: Size = field(default_factory=Size)
    ids: int = 0  # ends of lines included, all samples together
    samples: int = 1
    ratios: list[float] = field(default_factory=list)  # ids a character, one part of it after the other

    @property
    def share(self) -> float:
        """How many times as much as was tried the text has of this kind."""
        return self.stands_for / self.stored


@dataclass
class Estimate:
    """Bytes, seconds and counts, of all splits and data-bins together."""

    of: str  # what was tried
    text: float
    documents: float
    tokens: float
    error: float | None  # of the tokens, relative: twice the standard error; None where it is unknown
    data_bins: float
    meanwhile: float  # on the disk while they are made, themselves included
    seconds: float
    processes: int
    rate: float  # bytes of text a second in one process
    memory: int  # of one process
    together: int  # of the command and its processes on one machine, with those that read for the processes of a file

    def __str__(self) -> str:
        error = "" if self.error is None else f" ± {self.error:.1%}, if the rest is like what was tried"
        rows = {
            "estimate": self.of,
            "text": f"{_megabytes(self.text)}, {self.documents:,.0f} documents",
            "tokens": f"{self.tokens:,.0f}{error}",
            "disk": f"{_megabytes(self.data_bins)} for the output, {_megabytes(self.meanwhile)} while it is made",
            "time": f"{self.seconds / 60:,.1f} minutes in {self.processes} processes, at {_megabytes(self.rate)} of "
            "text a second in each as in this one",
            "memory": f"{_megabytes(self.memory)} a process, {_megabytes(self.together)} for all on a machine",
        }
        return "\n".join(f"{name:>8}  {words}" for name, words in rows.items())


def estimate(
    tokenizer: Path, splits: dict[str, list[Path]], engine: Engine, sampling: Sampling | None = None
) -> Estimate:
    """What `binarize` will make of the same arguments. Raises InputError as it does; writes nothing."""
    encoding = Encoding(tokenizer, " ".join(tokenizer_digests(tokenizer).values()), sampling)
    worker, files = worker_of(encoding), text_files(splits, sampling is not None, engine)
    tried, start = _spread(files), time.perf_counter()
    for one in tried:
        _read(one, TEXT_BYTES // len(tried))
    reading = time.perf_counter() - start
    rounds = [_encode(worker, tried, number) for number in range(ROUNDS)]
    rate = sum(one.size.bytes for one in tried) / (reading + ROUNDS * rounds[-1])
    return _scaled(tried, files, worker, engine, rate)


def _spread(files: list[TextFile]) -> list[Tried]:
    """All files, or FILES of them that lie at equal distances in the stored bytes."""
    total = size_of(file.path for file in files)
    if len(files) <= FILES:
        return [Tried(file, size_of([file.path])) for file in files]
    hit: Counter[int] = Counter()
    end, step = 0, total / FILES
    for file in files:
        begin, end = end, end + size_of([file.path])
        hit[file.number] += math.floor(end / step + 0.5) - math.floor(begin / step + 0.5)
    return [Tried(file, hit[file.number] * step) for file in files if hit[file.number]]


def _read(tried: Tried, limit: int) -> None:
    """Take documents until they have `limit` bytes of text."""
    path, stored = tried.file.path, 0
    for document in read_documents([path]):
        if tried.size.bytes >= limit:
            tried.whole = False
            break
        tried.size.add(document)
        tried.lines += document.lines
        stored += _written(document, path)
    tried.stored = size_of([path]) if tried.whole else stored * _packed(path)


def _written(document: Document, file: Path) -> int:
    """The bytes of a document in a file that is not compressed."""
    if bare(file).suffix.lower() != ".jsonl":
        return len(document.text.encode()) + 2  # a line end and a blank line
    handle = StringIO()
    write_document(handle, document)
    return len(handle.getvalue().encode())


def _packed(file: Path) -> float:
    """Bytes stored for each byte of content: of the first megabyte stored, as it is read."""
    log, stored, content = InputLog(), 0, 0
    with open_bytes(file, log) as handle:
        while data := handle.read1(1 << 16):  # type: ignore[attr-defined]
            if stored and log.bytes_read > stored:
                break
            stored, content = log.bytes_read, content + len(data)
    return stored / content if bare(file) != file else 1.0


def _encode(worker: Worker, tried: list[Tried], number: int) -> float:
    """Encode part `number` of ROUNDS of each file; the seconds it took."""
    start = time.perf_counter()
    for one in tried:
        begin, end = (part * len(one.lines) // ROUNDS for part in (number, number + 1))
        if lines := one.lines[begin:end]:
            encoded = worker.work(Block(lines, [0] * len(lines)), one.file.drawn, one.file.number, number)
            ids = sum(len(block.ids) for block in encoded)
            one.ids += ids
            one.ratios.append(ids / sum(map(len, lines)))
            one.samples = len(encoded)
    return time.perf_counter() - start


def _scaled(tried: list[Tried], files: list[TextFile], worker: Worker, engine: Engine, rate: float) -> Estimate:
    """From what was tried to the whole."""
    text = sum(one.share * one.size.bytes for one in tried)
    ids = sum(one.share * one.ids for one in tried)
    lines = sum(one.share * one.samples * one.size.lines for one in tried)
    separators = sum(one.share * one.samples * one.size.documents for one in tried)
    wide = worker.encoder.dtype.itemsize
    data_bins = (ids + separators) * wide + (lines + separators) * BYTES_PER_ITEM
    processes = engine.workers * max(1, min(engine.jobs, len(files)))
    most = sorted((file.workers + (file.workers > 1) for file in files), reverse=True)[: engine.workers]
    memory = _memory(worker)
    tried_bytes = sum(one.size.bytes for one in tried)
    return Estimate(
        of=f"from the first documents of {len(tried)} of {len(files):,} files, {_megabytes(tried_bytes)} of text",
        text=text,
        documents=sum(one.share * one.size.documents for one in tried),
        tokens=ids - lines,
        error=_error(tried, spread=len(tried) < len(files)),
        data_bins=data_bins,
        meanwhile=data_bins + ids * wide + lines * BYTES_PER_LINE,
        seconds=text / rate / processes + data_bins / JOINED_A_SECOND,
        processes=processes,
        rate=rate,
        memory=memory,
        together=memory * (1 + sum(most)),
    )


def _error(tried: list[Tried], spread: bool) -> float | None:
    """Twice the standard error of the tokens, relative to them.

    Of files that are `spread` over others, tokens a byte are off as those of neighbours differ; where each file stands
    for itself, as those of the parts that were read of it do. What was read to its end is not off.
    """
    unsure = [one for one in tried if spread or not one.whole]
    if len(tried) < 2 if spread else any(len(one.ratios) < 2 for one in unsure):
        return None
    tokens, total = {}, sum(one.share * one.ids for one in tried)
    for one in unsure:
        own = [other.ids / other.stored for other in tried] if spread else one.ratios
        off = _deviation(own) / mean(own) / (1 if spread else math.sqrt(len(own)))
        tokens[one.file.number] = off * one.share * one.ids / total
    return 2 * math.hypot(*tokens.values())


def _deviation(values: list[float]) -> float:
    """By the differences of neighbours: that sources of different kinds follow one another does not count."""
    return math.sqrt(mean((one - other) ** 2 for one, other in pairwise(values)) / 2)


def _memory(worker: Worker) -> int:
    """The most that this process had, and what its cache of words may still take."""
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    return peak + worker.spare_cache


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e7 else f"{count / 1e6:,.1f} MB"
