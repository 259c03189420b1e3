"""A large file in parts that are read independently, each from the start of a record to that of another.

A file is cut into chunks of bytes. Each is scanned by itself: from which of its lines on are the records its own, how
many are they, how many lines has it? In a table nothing tells whether a line break is in a quoted value. So its chunks
begin with the first likely row, and are scanned again where the chunk before ends elsewhere. With the sums over earlier
chunks, a part knows the numbers of its lines and records: documents, ids and errors are those of one reading.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from operator import itemgetter
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from alibert_common.files import read_json, write_json
from preprocess.documents.compression import CHUNK, FORMS, frames, open_part
from preprocess.documents.shards import divided, shard_name
from preprocess.readers.folders import InputFile
from preprocess.readers.formats import FORMATS
from preprocess.readers.lines import can_be_divided
from preprocess.readers.options import Part
from preprocess.readers.records.parquet import row_groups
from preprocess.readers.records.table import top_of

CERTAIN = 8  # likely rows, one after the other: by now reading is in step, and from the first of them on it was
PACKED = 3  # bytes of text in a byte of zstandard


@dataclass(frozen=True)
class Chunk:
    """Some bytes of a file, as they are stored.

    Its own records begin with line `first`, 0 where that is not known. Line 1 is the one that goes on where it starts.
    """

    file: InputFile
    numbers: tuple[int, int]  # of the file, of the chunk in it
    start: int
    end: int
    first: int = 0


@dataclass(frozen=True)
class Scan:
    """The line ends in a chunk, the lines from which its own records are and those of the next chunk, None for the end
    of the file, and the number of its own records. Lines are counted as those of Chunk."""

    lines: int
    first: int | None
    next: int | None
    records: int


@dataclass(frozen=True)
class ScanChunk:
    """Write the Scan of a chunk, an empty one where the file cannot be read."""

    folder: Path

    def done(self, chunk: Chunk) -> Path:
        """The file of the Scan."""
        return self.folder / f"{shard_name(*chunk.numbers, chunk.first)}.json"

    def found(self, chunk: Chunk) -> Scan | None:
        """The Scan that was written."""
        content = read_json(self.done(chunk))
        return Scan(**content) if content else None

    def __call__(self, chunk: Chunk) -> None:
        try:
            write_json(self.done(chunk), asdict(scan(chunk)))
        except (InputError, OSError):  # which the reading of the whole file will meet in its order
            write_json(self.done(chunk), {})


def scan(chunk: Chunk) -> Scan:
    """Find and count the records of a chunk. Raises InputError for a damaged file."""
    file, options = chunk.file
    lines = 0
    with open_part(file, chunk.start, chunk.end) as handle:
        while data := handle.read(CHUNK):
            lines += data.count(b"\n")
    if not lines and not chunk.first:  # inside a long line, which one chunk is enough to read to its end
        return Scan(0, None, None, 0)
    begin, past = chunk.first or 2, lines + 2  # a record that begins in line 1 or above is none of the chunk
    part = Part(begin, start=chunk.start, skip=begin - 1)
    first, before, run = chunk.first or None, 0, CERTAIN if chunk.first else 0
    cuts = FORMATS[options.format].cuts
    for cut in cuts(file, options.with_changes(part=part), past) if cuts else ():
        if run < CERTAIN:
            run = run + 1 if cut.likely else 0
            first, before = (first, before) if run > 1 else (cut.line, cut.records)
        if cut.line is None or cut.line >= past:
            return Scan(lines, first, cut.line, cut.records - before)
    raise AssertionError("the last cut is the end of the file")


def in_parts(files: Sequence[InputFile], size: int, engine: Engine, scratch: Path) -> list[list[InputFile]]:
    """The parts of each file, some `size` bytes of text each; the file itself where it is smaller or stays whole."""
    scan = ScanChunk(scratch / "parts")
    chunks: list[list[Chunk]] = []
    corrected = [_chunks(number, file, size) for number, file in enumerate(files)]
    while chunks != corrected:
        chunks = corrected
        engine.run("dividing", scan, [chunk for own in chunks for chunk in own], scratch / "jobs")
        corrected = [[chunk for chunk, _ in _corrected(own, scan)] for own in chunks]
    found = [list(_parts(_corrected(own, scan))) for own in chunks]
    parts = [own or list(_of_row_groups(file, size)) for file, own in zip(files, found, strict=True)]
    return [own if len(own) > 1 else [file] for file, own in zip(files, parts, strict=True)]


def _chunks(number: int, file: InputFile, size: int) -> list[Chunk]:
    """The chunks of a file of lines that is large enough and can be divided."""
    path, options = file
    stored = path.stat().st_size
    size = size // PACKED if path.suffix in FORMS else size
    whole = options.format == "text" and options.one_document_per_file
    if stored <= size or whole or not FORMATS[options.format].cuts:
        return []
    try:
        if not can_be_divided(path, options):
            return []
        first = 1
        if options.format in ("csv", "tsv"):
            top = top_of(path, options)
            first = top.below if top else 0
        if path.suffix in FORMS:
            found = divided(frames(path) if path.suffix == ".zst" else [], lambda frame: frame[1] - frame[0], size)
            starts = [some[0][0] for some in found]
        else:
            count = -(-stored // size)
            starts = [stored * part // count for part in range(count)]
    except (InputError, OSError):
        return []
    if len(starts) < 2 or not first:
        return []
    chunks = [Chunk(file, (number, part), *places) for part, places in enumerate(pairwise([*starts, stored]))]
    return [replace(chunks[0], first=first), *chunks[1:]]


def _corrected(chunks: list[Chunk], scan: ScanChunk) -> Iterator[tuple[Chunk, Scan]]:
    """Each chunk with its Scan, and with the `first` that follows from the chunk before; none if one cannot be read."""
    scans = [found for chunk in chunks if (found := scan.found(chunk))]
    if len(scans) < len(chunks):
        return
    first = scans[0].first if scans else None
    for chunk, found in zip(chunks, scans, strict=True):
        if first is None or first > found.lines + 1:  # all of it belongs to a record that began above
            found = replace(found, first=first, next=first, records=0)
        elif found.first != first:
            chunk = replace(chunk, first=first)
        yield chunk, found
        first = None if found.next is None else found.next - found.lines


def _parts(scanned: Iterator[tuple[Chunk, Scan]]) -> Iterator[InputFile]:
    lines = records = 0
    for chunk, found in scanned:
        if found.first is not None and found.first != found.next:
            last = None if found.next is None else lines + found.next - 1
            part = Part(lines + found.first, last, records, chunk.start, found.first - 1)
            yield _part(chunk.file, part)
        lines += found.lines
        records += found.records


def _of_row_groups(file: InputFile, size: int) -> Iterator[InputFile]:
    groups = row_groups(file.file) if file.options.format == "parquet" else []
    first = records = 0
    for some in divided(groups, itemgetter(1), size) if sum(map(itemgetter(1), groups)) > size else ():
        yield _part(file, Part(first, first + len(some) - 1, records))
        first += len(some)
        records += sum(map(itemgetter(0), some))


def _part(file: InputFile, part: Part) -> InputFile:
    return file._replace(options=file.options.with_changes(part=part))
