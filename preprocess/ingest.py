"""Read source files of any format into documents with id, source, licence, date, text and metadata.

    python -m preprocess.ingest corpus.txt letters/ --output documents --source hospital --licence "CC BY 4.0"
    python -m preprocess.ingest baseline/ --format pubmed --output pubmed --where "mesh_terms~Neoplasms"

A folder is read file by file, or document by document if it is the output of ingest, clean or deduplicate.
manifest.json lists what was read. With --on-error skip, skipped.tsv lists what was not. docs/reference/corpora.md has
the command for each corpus.
"""

import argparse
import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.cli import OptionParser, program
from alibert_common.errors import InputError, exit_with_sentence, readable
from alibert_common.executors.base import ALONE, Engine, add_engine_options, engine_of
from alibert_common.files import written_whole
from alibert_common.output_dir import Work, resumable_directory
from alibert_common.provenance import Stage, identity
from preprocess.documents.document import Document
from preprocess.documents.filters import MetadataFilter
from preprocess.documents.names import check_source_name, is_source_name, unusable_source_name
from preprocess.documents.shards import SHARD_BYTES, Shards, shard_name
from preprocess.documents.stage_report import Report, total
from preprocess.readers import (
    FORMATS,
    InputFile,
    ReadLog,
    ReadOptions,
    Skipped,
    UniqueIds,
    check_settings,
    files_of,
    read_file,
    without_field,
)
from preprocess.readers.arguments import add_arguments, read_options_of
from preprocess.readers.ids import earlier_ids
from preprocess.readers.read_log import WITHOUT_TEXT

VERSION = 1  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("ingest", VERSION, ("lxml", "pyarrow", "zstandard"))
SKIPPED = "skipped.tsv"
OF_FIELDS = ("jsonl", "json", "csv", "tsv", "parquet", "xml", "html")  # formats in which the user may name fields


@dataclass(frozen=True)
class Group:
    """Files that one process reads, one after the other: small ones together, a large one alone."""

    number: int
    path: int  # of which of the paths that the user gave
    files: tuple[InputFile, ...]


@dataclass
class Read:
    """What became of a group."""

    report: Report
    formats: dict[str, int]
    skipped: list[list[str]]

    @classmethod
    def of(cls, path: Path) -> "Read":
        """What the process that read the group wrote down."""
        record = json.loads(path.read_text(encoding="utf-8"))
        return cls(Report.from_json(record["report"]), record["formats"], record["skipped"])


def ingest(
    paths: Sequence[Path],
    output: Path,
    read_options: ReadOptions | None = None,
    where: Sequence[MetadataFilter] = (),
    engine: Engine = ALONE,
) -> dict:
    """Write the documents of all `paths` for which every condition of `where` holds, in order; returns the manifest.

    Raises InputError for a missing or empty input, a format without a reader, a record that cannot be read; with
    `on_error` "skip" such records are listed in skipped.tsv.
    """
    read_options, walked = read_options or ReadOptions(), []
    if read_options.source:
        check_source_name(read_options.source)
    _refuse_inside(output, paths)
    log = ReadLog(lambda skipped: walked.append(list(skipped)))
    files = [list(files_of(path, read_options, log)) for path in paths]
    check_settings(read_options, {found.options.format for some in files for found in some})
    groups = _groups(files)
    settings = read_options.changed_settings() | {"where": [str(one) for one in where]}
    found = [one for group in groups for one in group.files]
    beside = {path for one in found for path in FORMATS[one.options.format].also_reads(one.file, one.options)}
    sources = identity([*(one.file for one in found), *sorted(beside)])
    named = [
        [one.options.default_source, one.options.name] for one in found
    ]  # what documents without a source and an id are called by
    key = {"settings": settings | {"mesh_descriptors": ""}, "inputs": [sources, named, walked]}  # the file is an input
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            parts = _read_groups(work, groups, tuple(where), engine)
            _check(parts, groups, paths, read_options)
            _write_skipped(work.directory / SKIPPED, walked + [row for part in parts for row in part.skipped])
            whole = Report(dropped=dict(log.counts))
            for part in parts:
                whole.add(part.report)
            formats = sum((Counter(part.formats) for part in parts), Counter())
            _check_whole(whole, formats, read_options, where)
            work.manifest = {"settings": settings, "formats": dict(formats)} | asdict(whole)
    return json.loads((output / "manifest.json").read_text(encoding="utf-8"))


def _refuse_inside(output: Path, paths: Sequence[Path]) -> None:
    """Raise InputError for an output that the next reading of the same folder would take for text."""
    for path in map(Path, paths):
        if path.is_dir() and path.resolve() in (output.resolve(), *output.resolve().parents):
            raise InputError(
                f"{readable(output)}: lies in {readable(path)}, which is to be read as text; give another --output."
            )


def _groups(files: list[list[InputFile]]) -> list[Group]:
    """Neighbouring files of one path, of some SHARD_BYTES together."""
    groups: list[Group] = []
    for path, found in enumerate(files):
        part: list[InputFile] = []
        size = 0
        for one in found:
            bytes_of = one.file.stat().st_size
            if part and size + bytes_of > SHARD_BYTES:
                groups.append(Group(len(groups), path, tuple(part)))
                part, size = [], 0
            part.append(one)
            size += bytes_of
        if part:
            groups.append(Group(len(groups), path, tuple(part)))
    return groups


def _read_groups(work: Work, groups: list[Group], where: tuple[MetadataFilter, ...], engine: Engine) -> list[Read]:
    """Read all groups; again those that have ids of an earlier one, and so on until no two documents share an id."""
    read = ReadGroup(work.directory, work.scratch / "reports", where)
    shared = True
    while shared:
        engine.run("reading", read, groups, work.scratch / "jobs")
        shared = _note_earlier_ids(read, groups)
    return [Read.of(read.done(group)) for group in groups]


def _note_earlier_ids(read: "ReadGroup", groups: list[Group]) -> bool:
    """Have those groups read again that did not know of ids in earlier ones; whether there are any."""
    shared = False
    for group, before in zip(groups, earlier_ids([read.ids(group) for group in groups]), strict=True):
        known = load(read.before(group)) if read.before(group).exists() else before[:, :0]
        if not np.array_equal(known, before):
            read.done(group).unlink()  # first: a kill in between has it read once more in vain
            save(read.before(group), before)
            shared = True
    return shared


@dataclass(frozen=True)
class ReadGroup:
    """Read a group of files and write its shards. Ids are unique in it, and in earlier ones as far as it knows."""

    directory: Path
    reports: Path
    where: tuple[MetadataFilter, ...]

    def done(self, group: Group) -> Path:
        """What was read; written last."""
        return self.reports / f"{shard_name(group.number)}.json"

    def ids(self, group: Group) -> Path:
        """The ids that it has."""
        return self.reports / f"{shard_name(group.number)}.ids.npy"

    def before(self, group: Group) -> Path:
        """Those of them that earlier groups have; without the file, none are known."""
        return self.reports / f"{shard_name(group.number)}.before.npy"

    def __call__(self, group: Group) -> None:
        skipped: list[list[str]] = []
        log, report = ReadLog(lambda one: skipped.append(list(one))), Report()
        for older in self.directory.glob(f"{shard_name(group.number)}-*"):
            older.unlink()  # of a reading that did not know of earlier ids, and may have chosen more
        ids = UniqueIds(load(self.before(group))) if self.before(group).exists() else UniqueIds()
        with Shards(self.directory, group.number) as shards:
            for document in self._chosen(group, log, report, ids):
                report.count_kept(document)
                shards.write(document)
        for reason, count in log.counts.items():
            report.drop(reason, count)
        for what, count in log.notes.items():
            report.note(what, count)
        ids.save(self.ids(group))
        report.inputs = log.manifest()
        with written_whole(self.done(group)) as handle:
            content = {"report": asdict(report), "formats": dict(log.documents), "skipped": skipped}
            json.dump(content, handle, ensure_ascii=False)

    def _chosen(self, group: Group, log: ReadLog, report: Report, ids: UniqueIds) -> Iterator[Document]:
        for found in group.files:
            for document in read_file(found.file, found.options, log):
                report.count_read(document)
                if ids.make_unique(document):
                    report.note("ids met before, to which a number was added")
                if unmet := next((one for one in self.where if not one.holds(document)), None):
                    report.drop(f"documents not chosen ({unmet})")
                else:
                    yield document


def _check(parts: list[Read], groups: list[Group], paths: Sequence[Path], read_options: ReadOptions) -> None:
    """Raise InputError when a path gave no document."""
    reports = [Report() for _ in paths]
    for part, group in zip(parts, groups, strict=True):
        reports[group.path].add(part.report)
    for report, path in zip(reports, paths, strict=True):
        if read_options.on_error == "stop" and not total(report.read).documents:
            raise InputError(f"{readable(path)}: {_why_nothing(report, read_options)}.")


def _why_nothing(report: Report, read_options: ReadOptions) -> str:
    empty = sum(count for reason, count in report.dropped.items() if reason.startswith(WITHOUT_TEXT))
    if empty and read_options.named_paths():
        return f"no text in its {empty:,} records; say where it is with --text-field or --text-path"
    if read_options.record and not empty:
        return f"no element '{read_options.record}' in it; name the one that is a record with --record-path"
    return "no document in it; give one with at least one line of text"


def _check_whole(
    whole: Report, formats: Counter[str], read_options: ReadOptions, where: Sequence[MetadataFilter]
) -> None:
    """Raise InputError when a field that the user named is nowhere, and when nothing was chosen."""
    records = sum(formats[name] + whole.dropped.get(f"{WITHOUT_TEXT} ({name})", 0) for name in OF_FIELDS)
    for path in read_options.named_paths() if records else ():
        if whole.noted.get(without_field(path), 0) >= records:
            raise InputError(
                f"'{path}': no record has it; check --text-field, --id-field, --date-field and --metadata against one."
            )
    if where and not whole.kept:
        raise InputError(
            f"no document of {total(whole.read).documents:,} is chosen by --where; check field and value (a column or "
            "an element is a field if --metadata NAME=PATH keeps it)."
        )


def _write_skipped(path: Path, rows: list[list[str]]) -> None:
    if not rows:
        return
    with written_whole(path) as handle:
        writer = csv.writer(handle, delimiter="\t", lineterminator="\n")
        writer.writerow(Skipped._fields)
        writer.writerows(rows)


def command_line() -> OptionParser:
    """The options of the command."""
    parser = OptionParser(
        program("python -m preprocess.ingest"),
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH",
        help="files, or folders with their sub-folders; in a folder a .txt file is one document, else blank lines "
        "separate documents",
    )  # fmt: skip
    parser.add_argument("--output", required=True, type=Path, help="folder to write")
    parser.add_argument(
        "--where", action="append", default=[], type=str, metavar="CONDITION",
        help="filter on a field, as specialty=cardiologie (whole value) or mesh_tree~^C04 (regular expression); "
        "repeatable, and all must hold",
    )  # fmt: skip
    add_arguments(parser)
    add_engine_options(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """As the options say."""
    where = [MetadataFilter.parse(argument) for argument in options.where]
    manifest = ingest(options.paths, options.output, read_options_of(options), where, engine_of(options))
    for source in manifest["kept"]:
        if not is_source_name(source):
            print(f"warning: {unusable_source_name(source)}", file=sys.stderr)
    for name, count in manifest["formats"].items():
        print(f"{'format':>8}  {name}: {count:,} documents")
    print(f"{Report.from_json(manifest)}\n{'output':>8}  {options.output}")


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
