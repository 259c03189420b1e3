"""Read source files of any format into documents with id, source, licence, date, text and metadata.

    python -m preprocess.ingest corpus.txt letters/ --output documents --source hospital --licence "CC BY 4.0"
    python -m preprocess.ingest baseline/ --format pubmed --output pubmed --where "mesh_terms~Neoplasms"
    python -m preprocess.ingest --database postgresql+psycopg://host/omop --table note --output notes

A folder is read file by file, or document by document if it is the output of ingest, clean or deduplicate.
manifest.json lists what was read. A file that cannot be read is an error, unless --skip-unreadable leaves it out and
lists it in skipped.tsv. docs/reference/corpora.md has the formats and the command for each corpus.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from alibert_common.cli import OptionParser, command_parser
from alibert_common.errors import InputError, exit_with_sentence, readable
from alibert_common.executors.base import ALONE, Engine, add_engine_options, engine_of
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import MANIFEST, Stage, identity, read_manifest
from preprocess.documents.filters import MetadataFilter
from preprocess.documents.names import check_source_name
from preprocess.documents.shards import SHARD_BYTES
from preprocess.documents.stage_report import Report
from preprocess.ingestion.checks import check_paths, check_whole, files_without_document
from preprocess.ingestion.groups import Group, begin_anew_if_divided_otherwise, groups_of
from preprocess.ingestion.notes_table import NotesTable
from preprocess.ingestion.read_group import read_groups
from preprocess.ingestion.unreadable import SKIPPED, listing_unreadable, refuse_made_with_skips, refuse_unreadable
from preprocess.readers import InputFile, ReadLog, ReadOptions, check_settings, files_of
from preprocess.readers.arguments import add_arguments, read_options_of
from preprocess.readers.formats import also_reads
from preprocess.readers.parts import in_parts
from preprocess.readers.read_log import WITHOUT_DOCUMENT, Skipped, write_skipped
from preprocess.readers.records.database import PASSWORD, USER, Database

VERSION = 3  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("ingest", VERSION, ("hl7", "lxml", "pyarrow", "pypdfium2", "zstandard"))


def ingest(
    paths: Sequence[Path],
    output: Path,
    read_options: ReadOptions | None = None,
    where: Sequence[MetadataFilter] = (),
    engine: Engine = ALONE,
    database: Database | None = None,
) -> dict:
    """Write the documents of all `paths`, then of the `database`, for which every condition of `where` holds, in order.

    Returns the manifest. Raises InputError for a missing or empty input, a format without a reader, a record that
    cannot be read, and after all is read for the files of a folder that cannot; with `on_error` "skip" these are listed
    in skipped.tsv.
    """
    read_options, skipped = read_options or ReadOptions(), list[Skipped]()
    if read_options.source:
        check_source_name(read_options.source)
    _refuse_inside(output, paths)
    log = ReadLog(skipped.append)
    files = [list(files_of(path, read_options, log)) for path in paths]
    every = [file for own in files for file in own]
    check_settings(read_options, {file.options.format for file in every})
    settings = read_options.changed_settings() | {"where": [str(condition) for condition in where]}
    inputs = [*(file.file for file in every), *sorted({path for file in every for path in also_reads(*file)})]
    sources = identity(inputs)
    # What is skipped is read in the same way without --skip-unreadable, and the mesh file is an input.
    asked = {name: value for name, value in settings.items() if name != "on_error"} | {"mesh_descriptors": ""}
    rows = NotesTable.of(database, read_options)
    key = {"settings": asked, "inputs": [sources, list(map(_named, every)), skipped, *rows.key]}
    refuse_made_with_skips(output, read_options)
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            parts = [listing_unreadable(own) for own in in_parts(every, SHARD_BYTES, engine, work.scratch)]
            groups = groups_of(files, parts, SHARD_BYTES)
            groups += rows.groups(work.scratch / "chunks", len(groups), len(paths))
            begin_anew_if_divided_otherwise(work, groups)
            records = read_groups(work, groups, tuple(where), engine)
            _refuse_changed(inputs, sources)
            rows.refuse_changed()
            unread = skipped + [Skipped(*row) for record in records for row in record["skipped"]]
            refuse_unreadable(unread, len(every) + len(skipped), output, read_options)
            check_paths(records, groups, [*paths, *rows.names], read_options)
            write_skipped(work.directory / SKIPPED, unread)
            whole, formats = _added_up(records, groups, log)
            check_whole(whole, formats, read_options, where)
            work.manifest = {"settings": settings, "formats": dict(formats)} | rows.manifest | asdict(whole)
    return read_manifest(output / MANIFEST)


def _added_up(records: list[dict], groups: list[Group], log: ReadLog) -> tuple[Report, Counter[str]]:
    """The report on all groups and on the files that were not read, and the number of documents of each format."""
    whole = Report(dropped=dict(log.counts))
    for record in records:
        whole.add(Report.from_json(record["report"]))
    for _ in files_without_document(records, groups):
        whole.drop(WITHOUT_DOCUMENT)
    return whole, sum((Counter(record["formats"]) for record in records), Counter())


def _named(file: InputFile) -> list[str]:
    """What the documents of a file without a source and an id are named after."""
    names = [file.options.default_source, file.options.name]
    # a folder of one file of its own name, and this file
    return names + ["folder"] * (file.options.inside and names[0] == names[1])


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


def command_line() -> OptionParser:
    """The options of the command."""
    parser = command_parser("preprocess.ingest", __doc__)
    add = parser.add_argument
    # fmt: off
    add("paths", nargs="*", type=Path, metavar="PATH",
        help="files, or folders with their sub-folders; in a folder a .txt file is one document, else blank lines "
        "separate documents")
    add("--output", required=True, type=Path, help="folder to write")
    add("--database", metavar="URL",
        help=f"SQLAlchemy URL of a database with notes; user and password are in {USER} and {PASSWORD}")
    add("--table", help="table or view of the notes, as schema.name (default: note)")
    add("--query", help="SELECT in place of a table (default: none)")
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
    if not options.paths and not options.database:
        raise InputError("nothing to read; give files, folders or a --database.")
    if not options.database and (options.query or options.table):
        raise InputError("--table and --query are for --database; give its URL too.")
    if options.query and options.table:
        raise InputError("--table and --query name the notes twice; give one of them.")
    database = (
        Database(options.database, options.table or Database.table, options.query or "") if options.database else None
    )
    manifest = ingest(options.paths, options.output, read_options_of(options), where, engine_of(options), database)
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
