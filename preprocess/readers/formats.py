"""The formats: for each its reader, the endings of its files, the settings that it heeds."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from alibert_common.errors import InputError
from preprocess.documents.compression import FORMS, bare
from preprocess.documents.document import Document
from preprocess.readers.bdpm import read_bdpm, table_name, tables_of_drugs
from preprocess.readers.html_pages import read_html
from preprocess.readers.jats import read_jats
from preprocess.readers.json_lines import read_json, read_json_lines
from preprocess.readers.leaflets import read_leaflets
from preprocess.readers.options import ReadOptions
from preprocess.readers.parquet import read_parquet
from preprocess.readers.pubmed import file_of_descriptors, read_pubmed
from preprocess.readers.read_log import ReadLog
from preprocess.readers.table import read_table
from preprocess.readers.text import read_text
from preprocess.readers.theses import read_theses
from preprocess.readers.xml_records import read_xml


class Reader(Protocol):
    """Streams the documents of one file. A record that cannot be read goes to `log.refuse`; InputError says that the
    rest of the file cannot be read, or none of it."""

    def __call__(self, file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]: ...


class Format(NamedTuple):
    """What reads a format, which files of a folder are of it, and which settings change what is read."""

    reader: Reader
    suffixes: tuple[str, ...]
    settings: frozenset[str]
    also_reads: Callable[[Path, ReadOptions], list[Path]] = (
        lambda file, options: []
    )  # other files that documents depend on


def _settings(names: str) -> frozenset[str]:
    return frozenset(names.split())


FORMATS = {
    "text": Format(read_text, (".txt",), _settings("encoding one_document_per_file join_wrapped_lines")),
    "jsonl": Format(read_json_lines, (".jsonl", ".ndjson"), _settings("encoding text id date metadata")),
    "json": Format(read_json, (".json",), _settings("encoding text id date metadata")),
    "csv": Format(read_table, (".csv",), _settings("encoding delimiter text id date metadata")),
    "tsv": Format(read_table, (".tsv",), _settings("encoding delimiter text id date metadata")),
    "parquet": Format(read_parquet, (".parquet",), _settings("text id date metadata")),
    "xml": Format(read_xml, (".xml",), _settings("encoding record text id date metadata")),
    "jats": Format(read_jats, (".nxml", ".xml"), _settings("encoding language metadata")),
    "pubmed": Format(
        read_pubmed, (".xml",), _settings("encoding language metadata mesh_descriptors"), file_of_descriptors
    ),
    "theses": Format(read_theses, (".xml",), _settings("encoding language metadata id date")),
    "html": Format(read_html, (".html", ".htm"), _settings("encoding text id date metadata")),
    "leaflet": Format(read_leaflets, (".html", ".htm"), _settings("encoding")),
    "bdpm": Format(read_bdpm, (".txt",), _settings("encoding"), tables_of_drugs),
}
# What an ending says for certain: .xml says nothing, and of a page or a text it does not say which of the special ones.
OF_SUFFIX = {suffix: name for name, one in reversed(FORMATS.items()) for suffix in one.suffixes if suffix != ".xml"}
COMPRESSED = ("text", "jsonl", "json", "csv", "tsv", "xml", "jats", "pubmed", "theses", "html", "leaflet", "bdpm")
COMMON_SETTINGS = _settings("format name source licence on_error")


def format_of(file: Path) -> str:
    """The format that a file's name tells, nothing if it tells none."""
    if table_name(file) and bare(file).suffix.lower() == ".txt":
        return "bdpm"
    name = OF_SUFFIX.get(bare(file).suffix.lower(), "")
    return name if name in COMPRESSED or file.suffix not in FORMS else ""


def check(options: ReadOptions) -> None:
    """Raise InputError for a format that is none, or a setting that it would not heed."""
    if options.format and options.format not in FORMATS:
        raise InputError(f"format '{options.format}': not known; choose one of {', '.join(FORMATS)}.")
    if options.format:
        check_settings(options, {options.format})


def check_settings(options: ReadOptions, formats: Collection[str]) -> None:
    """Raise InputError for a setting that none of these formats uses; without a format there is nothing to check."""
    heeded = COMMON_SETTINGS.union(*(FORMATS[name].settings for name in formats))
    for name in options.changed_settings() if formats else ():
        if name not in heeded:
            raise InputError(
                f"setting '{name}': means nothing for the format '{', '.join(sorted(formats))}'; leave it out, or say "
                "with --format what the files hold."
            )
