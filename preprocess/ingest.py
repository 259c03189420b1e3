"""Read source files in any format into documents: one `.jsonl` with id, source, licence, date, text and metadata.

    python -m preprocess.ingest corpus.txt letters/ --output documents.jsonl --source hospital --licence "CC BY 4.0"
    python -m preprocess.ingest baseline/ --format pubmed --output pubmed.jsonl.zst --where "mesh_terms~Neoplasms"

A directory is read file by file, as brat folders are; OUTPUT.report.json says what was read, and with --on-error skip
OUTPUT.skipped.tsv what was not. docs/corpora.md has the command for each corpus.
"""

import argparse
import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import zstandard

from preprocess.documents import Document, write_document
from preprocess.files import InputError, exit_with_sentence, written_whole
from preprocess.readers import How, ReadLog, Skipped, UniqueIds, files_of, read_file
from preprocess.readers.arguments import add_arguments, how_of
from preprocess.readers.log import readable
from preprocess.report import Report
from preprocess.where import Where

PACKED = {
    ".zst": lambda stored: zstandard.ZstdCompressor().stream_writer(stored, closefd=False),
    # neither name nor time in it: the same text is the same bytes
    ".gz": lambda stored: gzip.GzipFile(filename="", mode="wb", fileobj=stored, mtime=0),
}


@dataclass
class IngestReport(Report):
    """The counts of ingest, with the documents of each format."""

    formats: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        formats = "".join(f"\n{'format':>8}  {name}: {count:,} documents" for name, count in self.formats.items())
        return super().__str__() + formats


def ingest(paths: Sequence[Path], output: Path, how: How | None = None, where: Sequence[Where] = ()) -> IngestReport:
    """Write the documents of all `paths` for which every condition of `where` holds to `output`, in order.

    Raises InputError for a missing or empty input, a format without a reader, a record that cannot be read; with
    `on_error` "skip" such records are listed in OUTPUT.skipped.tsv.
    """
    how = how or How()
    report = IngestReport("ingest", settings=how.given() | {"where": [str(one) for one in where]})
    ids = UniqueIds()
    with _skipped_list(output.with_name(output.name + ".skipped.tsv")) as skipped, _text_written(output) as handle:
        log = ReadLog(skipped)
        for document in _documents(paths, how, log):
            report.read.add(document)
            if ids.settle(document):
                report.drop("ids met before, to which a number was added")
            if unmet := next((one for one in where if not one.holds(document)), None):
                report.drop(f"documents not chosen ({unmet})")
                continue
            report.kept.add(document)
            write_document(handle, document)
        if where and not report.kept.documents:
            raise InputError(f"no document of {report.read.documents:,} is chosen by --where; see the fields of one.")
    for reason, count in log.counts.items():
        report.drop(reason, count)
    report.formats = dict(log.documents)
    report.inputs = [one | {"path": readable(one["path"])} for one in log.manifest()]
    return report


def _documents(paths: Sequence[Path], how: How, log: ReadLog) -> Iterator[Document]:
    for path in paths:
        count = 0
        for found in files_of(path, how, log):
            for document in read_file(found.file, found.how, log):
                count += 1
                yield document
        if not count and how.on_error == "stop":
            raise InputError(f"{readable(path)}: no document in it; give one with at least one line of text.")


@contextmanager
def _text_written(output: Path) -> Iterator[IO[str]]:
    """Text that appears under `output` when it is whole, compressed if its ending says so."""
    if output.suffix not in PACKED:
        with written_whole(output) as handle:
            yield handle
        return
    with written_whole(output, "wb") as stored, PACKED[output.suffix](stored) as packed:
        with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as handle:
            yield handle


@contextmanager
def _skipped_list(path: Path) -> Iterator:
    """A function to call with what was skipped; the list of it appears when the block ends, if there is any."""
    count = 0
    with written_whole(path) as handle:
        writer = csv.writer(handle, delimiter="\t", lineterminator="\n")
        writer.writerow(Skipped._fields)

        def add(skipped: Skipped) -> None:
            nonlocal count
            count += 1
            writer.writerow(skipped)

        yield add
    if not count:
        path.unlink()


def command_line() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH",
        help="files, or directories of files (sub-folders included); .txt has a blank line between documents, in a "
        "directory it is one document",
    )  # fmt: skip
    parser.add_argument(
        "--output", required=True, type=Path, help="the .jsonl to write; compressed if it ends in .zst or .gz"
    )
    parser.add_argument(
        "--where", action="append", default=[], type=str, metavar="CONDITION",
        help="keep only documents of which some value of a field is VALUE (FIELD=VALUE) or holds a match of REGEX "
        "(FIELD~REGEX): specialty=cardiologie, mesh_tree~^C04; several conditions must all hold",
    )  # fmt: skip
    add_arguments(parser)
    return parser


def main() -> None:
    """The command line."""
    options = command_line().parse_args()
    where = [Where.of(argument) for argument in options.where]
    ingest(options.paths, options.output, how_of(options), where).finish(options.output)


if __name__ == "__main__":
    exit_with_sentence(main)
