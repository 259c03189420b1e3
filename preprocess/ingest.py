"""Read source files of any format into documents with id, source, licence, date, text and metadata.

    python -m preprocess.ingest corpus.txt letters/ --output documents --source hospital --licence "CC BY 4.0"
    python -m preprocess.ingest baseline/ --format pubmed --output pubmed --where "mesh_terms~Neoplasms"

A folder is read file by file, or document by document if it is the output of ingest, clean or deduplicate.
manifest.json lists what was read. With --on-error skip, skipped.tsv lists what was not. docs/reference/corpora.md has
the command for each corpus.
"""

import argparse
import csv
import hashlib
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.cli import OptionParser, command_parser
from alibert_common.errors import InputError, exit_with_sentence, readable
from alibert_common.executors.base import ALONE, Engine, add_engine_options, engine_of
from alibert_common.files import read_json, read_text, write_json, write_text, written_whole
from alibert_common.output_dir import Work, resumable_directory
from alibert_common.provenance import MANIFEST, Stage, identity, read_manifest
from preprocess.documents.document import Document
from preprocess.documents.filters import MetadataFilter
from preprocess.documents.names import check_source_name
from preprocess.documents.shards import SHARD_BYTES, divided, shard_name, write_shards
from preprocess.documents.stage_report import Report, total
from preprocess.readers import InputFile, ReadLog, ReadOptions, check_settings, files_of, read_file
from preprocess.readers.arguments import add_arguments, read_options_of
from preprocess.readers.formats import FORMATS, also_reads
from preprocess.readers.ids import UniqueIds, earlier_ids
from preprocess.readers.parts import in_parts
from preprocess.readers.read_log import WITHOUT_DOCUMENT, WITHOUT_TEXT, Skipped, without_field

VERSION = 2  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("ingest", VERSION, ("lxml", "pyarrow", "zstandard"))
SKIPPED, REPORTS = "skipped.tsv", "reports"
OF_LANGUAGES = [name for name, kind in FORMATS.items() if "language" in kind.settings.split()]
OF_FIELDS = [name for name, kind in FORMATS.items() if "text" in kind.settings.split()]  # the user may name fields


@dataclass(frozen=True)
class Group:
    """Files that one process reads, one after the other: small ones together, a large one alone."""

    number: int
    path: int  # the number of the user's path that holds them
    files: tuple[InputFile, ...]
    checksum: bool = False  # nothing but that of a file, of which other groups read the parts


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
    read_options, skipped = read_options or ReadOptions(), list[Sequence[str]]()
    if read_options.source:
        check_source_name(read_options.source)
    _refuse_inside(output, paths)
    log = ReadLog(skipped.append)
    files = [list(files_of(path, read_options, log)) for path in paths]
    every = [file for own in files for file in own]
    check_settings(read_options, {file.options.format for file in every})
    settings = read_options.changed_settings() | {"where": [str(condition) for condition in where]}
    beside = {path for file in every for path in also_reads(file.file, file.options)}
    inputs = [*(file.file for file in every), *sorted(beside)]
    sources = identity(inputs)
    # the names of documents without a source and an id
    named = [
        [file.options.default_source, file.options.name]
        # a folder of one file of its own name, and this file
        + ["folder"] * (file.inside and file.options.name == file.options.default_source)
        for file in every
    ]
    key = {"settings": settings | {"mesh_descriptors": ""}, "inputs": [sources, named, skipped]}  # the file is an input
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            parts = in_parts(every, SHARD_BYTES, engine, work.scratch)
            groups = _groups(files, parts)
            _begin_anew_if_divided_otherwise(work, groups)
            records = _read_groups(work, groups, tuple(where), engine)
            _refuse_changed(inputs, sources)
            _check(records, groups, paths, read_options)
            _write_skipped(work.directory / SKIPPED, skipped + [row for record in records for row in record["skipped"]])
            whole = Report(dropped=dict(log.counts))
            for record in records:
                whole.add(Report.from_json(record["report"]))
            formats = sum((Counter(record["formats"]) for record in records), Counter())
            for _ in _files_without_document(records, groups):
                whole.drop(WITHOUT_DOCUMENT)
            _check_whole(whole, formats, read_options, where)
            work.manifest = {"settings": settings, "formats": dict(formats)} | asdict(whole)
    return read_manifest(output / MANIFEST)


def _refuse_inside(output: Path, paths: Sequence[Path]) -> None:
    """Raise InputError for an output that the next reading of the same folder would take for text."""
    for path in map(Path, paths):
        if path.is_dir() and path.resolve() in (output.resolve(), *output.resolve().parents):
            raise InputError(
                f"{readable(output)}: lies in {readable(path)}, which is to be read as text; give another --output."
            )


def _refuse_changed(inputs: list[Path], sources: list[list]) -> None:
    """Raise InputError for a file that is another than at the start: its parts were read at different times."""
    for file, before in zip(inputs, sources, strict=True):
        if identity([file]) != [before]:
            raise InputError(f"{readable(file)}: changed while it was read; run the same command again.")


def _begin_anew_if_divided_otherwise(work: Work, groups: list[Group]) -> None:
    """Forget what an earlier run has read in other groups: a file was out of reach then, or is now."""
    note = work.scratch / "groups.txt"
    found = [[(str(file), options.part) for file, options, _ in group.files] for group in groups]
    divided_as = hashlib.sha256(repr(found).encode("utf-8", "surrogatepass")).hexdigest()
    if note.exists() and read_text(note) != divided_as:
        if (work.scratch / REPORTS).exists():
            shutil.rmtree(work.scratch / REPORTS)
        for written in filter(Path.is_file, work.directory.iterdir()):
            written.unlink()
    write_text(note, divided_as)


def _groups(files: list[list[InputFile]], parts: list[list[InputFile]]) -> list[Group]:
    """Neighbouring files of one path, of some SHARD_BYTES together; of a large one, its parts and its checksum."""
    groups, following = list[Group](), iter(parts)
    for path, own in enumerate(files):
        with_parts = [(file, next(following)) for file in own]
        for some in divided(with_parts, lambda pair: _size(*pair), SHARD_BYTES):
            together = tuple(file for file, _ in some)
            alone = some[0][1] if len(some[0][1]) > 1 else []
            groups += [Group(len(groups) + number, path, (part,)) for number, part in enumerate(alone)]
            groups.append(Group(len(groups), path, together, checksum=bool(alone)))
    return groups


def _size(file: InputFile, parts: list[InputFile]) -> int:
    """The bytes of a file; so many for one in parts that it is with no other."""
    return file.file.stat().st_size if len(parts) == 1 else sys.maxsize


def _read_groups(work: Work, groups: list[Group], where: tuple[MetadataFilter, ...], engine: Engine) -> list[dict]:
    """Read all groups; again those that have ids of an earlier one, and so on until no two documents share an id.

    Returns the record of every group: what `ReadGroup.done` holds.
    """
    read = ReadGroup(work.directory, work.scratch / REPORTS, where)
    shared = True
    while shared:
        # A checksum takes longer than a part.
        _run(read, sorted(groups, key=lambda group: not group.checksum), engine, work.scratch / "jobs")
        shared = _note_earlier_ids(read, groups)
    return [read_json(read.done(group)) for group in groups]


def _run(read: "ReadGroup", groups: list[Group], engine: Engine, logs: Path) -> None:
    """Read the groups. Of several that cannot be read, the first one tells its InputError, whichever was met first."""
    sentence = ""
    for group in groups:
        read.fault(group).unlink(missing_ok=True)  # of an earlier run
    while groups:
        try:
            engine.run("reading", read, groups, logs)
            break
        except InputError:
            failed = next((group for group in groups if read.fault(group).exists()), None)
            if not failed:
                raise
            sentence = read_text(read.fault(failed))
            groups = [group for group in groups if group.number < failed.number and not read.done(group).exists()]
    if sentence:
        raise InputError(sentence)


def _note_earlier_ids(read: "ReadGroup", groups: list[Group]) -> bool:
    """Have those groups read again that did not know of ids in earlier ones; whether there are any."""
    shared = False
    for group, before in zip(groups, earlier_ids([read.ids(group) for group in groups]), strict=True):
        file = read.ids(group, "before")
        if not np.array_equal(load(file) if file.exists() else before[:, :0], before):
            read.done(group).unlink()  # first: a kill in between has it read once more in vain
            save(file, before)
            shared = True
    return shared


@dataclass(frozen=True)
class ReadGroup:
    """Read a group of files and write its shards. Ids are unique in it, and in earlier ones as far as it knows."""

    directory: Path
    reports: Path
    where: tuple[MetadataFilter, ...]

    def done(self, group: Group) -> Path:
        """The record of the group (`report`, `formats`, `skipped`); written last."""
        return self.reports / f"{shard_name(group.number)}.json"

    def ids(self, group: Group, kind: str = "ids") -> Path:
        """Its ids; with "before", those that earlier groups have as well, none where there is no file."""
        return self.reports / f"{shard_name(group.number)}.{kind}.npy"

    def fault(self, group: Group) -> Path:
        """The sentence of what cannot be read in it."""
        return self.reports / f"{shard_name(group.number)}.fault"

    def __call__(self, group: Group) -> None:
        try:
            self._read(group)
        except InputError as error:
            write_text(self.fault(group), str(error))
            raise

    def _read(self, group: Group) -> None:
        skipped: list[Skipped] = []
        log, report = ReadLog(skipped.append), Report()
        for older in self.directory.glob(f"{shard_name(group.number)}-*"):
            older.unlink()  # of a reading that did not know of earlier ids, and may have chosen more
        before = self.ids(group, "before")
        ids = UniqueIds(load(before)) if before.exists() else UniqueIds()
        if group.checksum:
            log.read_through(group.files[0].file)
        else:
            write_shards(self.directory, group.number, self._chosen(group, log, report, ids))
        report.add(Report(dropped=dict(log.counts), noted=dict(log.notes), inputs=log.manifest()))
        ids.save(self.ids(group))
        record = {"report": asdict(report), "formats": dict(log.documents), "skipped": skipped}
        write_json(self.done(group), record)

    def _chosen(self, group: Group, log: ReadLog, report: Report, ids: UniqueIds) -> Iterator[Document]:
        for document in (item for file in group.files for item in read_file(file.file, file.options, log)):
            report.count_read(document)
            if ids.make_unique(document):
                report.note("ids met before, to which a number was added")
            if unmet := next((condition for condition in self.where if not condition.holds(document)), None):
                report.drop(f"documents not chosen ({unmet})")
            else:
                report.count_kept(document)
                yield document


def _files_without_document(records: list[dict], groups: list[Group]) -> Iterator[Path]:
    """Of the files in parts, those of which no part gave a document."""
    documents = Counter[tuple[int, Path]]()
    for record, group in zip(records, groups, strict=True):
        file = group.path, group.files[0].file
        documents[file] += sum(record["formats"].values())
        if group.checksum and not documents[file]:
            yield file[1]


def _check(records: list[dict], groups: list[Group], paths: Sequence[Path], read_options: ReadOptions) -> None:
    """Raise InputError when a path gave no document."""
    reports = [Report() for _ in paths]
    for record, group in zip(records, groups, strict=True):
        reports[group.path].add(Report.from_json(record["report"]))
    for report, path in zip(reports, paths, strict=True):
        if read_options.on_error == "stop" and not total(report.read).documents:
            raise InputError(f"{readable(path)}: {_why_nothing(report, read_options)}.")


def _why_nothing(report: Report, read_options: ReadOptions) -> str:
    other = sum(report.dropped.get(f"{WITHOUT_TEXT} ({name})", 0) for name in OF_LANGUAGES)
    if other and read_options.language != "any":
        return f"no text in the language '{read_options.language}' in its {other:,} records; say which with --language"
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


def _write_skipped(path: Path, rows: Sequence[Sequence[str]]) -> None:
    if rows:
        with written_whole(path) as handle:
            csv.writer(handle, delimiter="\t", lineterminator="\n").writerows([Skipped._fields, *rows])


def command_line() -> OptionParser:
    """The options of the command."""
    parser = command_parser("preprocess.ingest", __doc__)
    add = parser.add_argument
    # fmt: off
    add("paths", nargs="+", type=Path, metavar="PATH",
        help="files, or folders with their sub-folders; in a folder a .txt file is one document, else blank lines "
        "separate documents")
    add("--output", required=True, type=Path, help="folder to write")
    add("--where", action="append", default=[], type=str, metavar="CONDITION",
        help="filter on a field, as specialty=cardiologie (whole value) or mesh_tree~^C04 (regular expression); "
        "repeatable, and all must hold")
    # fmt: on
    add_arguments(parser)
    add_engine_options(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    where = [MetadataFilter.parse(argument) for argument in options.where]
    manifest = ingest(options.paths, options.output, read_options_of(options), where, engine_of(options))
    for source in manifest["kept"]:
        try:
            check_source_name(source)
        except InputError as error:
            print(f"warning: {error}", file=sys.stderr)
    for name, count in manifest["formats"].items():
        print(f"{'format':>8}  {name}: {count:,} documents")
    print(f"{Report.from_json(manifest)}\n{'output':>8}  {options.output}")


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
