"""The formats: for each its reader, the endings of its files, the settings that it heeds."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from preprocess.documents.compression import FORMS, bare
from preprocess.documents.document import Document
from preprocess.readers.conversion.reader import read_office
from preprocess.readers.exchange.fhir import read_fhir
from preprocess.readers.exchange.fhir_binaries import binary_files
from preprocess.readers.exchange.hl7 import read_hl7
from preprocess.readers.lines import Cut
from preprocess.readers.markup.bdpm import DRUGS, read_bdpm, table_name
from preprocess.readers.markup.html_pages import read_html
from preprocess.readers.markup.jats import read_jats
from preprocess.readers.markup.leaflets import read_leaflets
from preprocess.readers.markup.pubmed import read_pubmed
from preprocess.readers.markup.theses import read_theses
from preprocess.readers.markup.xml_records import read_xml
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import ReadLog
from preprocess.readers.records.database import read_database
from preprocess.readers.records.json_lines import json_cuts, read_json, read_json_lines
from preprocess.readers.records.parquet import read_parquet
from preprocess.readers.records.table import read_table, table_cuts
from preprocess.readers.signatures import CERTAIN, kind_of_file
from preprocess.readers.text import read_text, text_cuts


class Format(NamedTuple):
    """The reader of a format, the endings of its files, the settings that change what is read.

    The reader streams the documents of one file. A record that cannot be read goes to `log.refuse`; InputError says
    that the rest of the file cannot be read, or none of it.
    """

    reader: Callable[[Path, ReadOptions, ReadLog], Iterator[Document]]
    suffixes: tuple[str, ...]
    settings: str
    cuts: Callable[[Path, ReadOptions, int], Iterator[Cut]] | None = None  # see preprocess.readers.parts


FORMATS = {
    "text": Format(read_text, (".txt",), "encoding one_document_per_file join_wrapped_lines", text_cuts),
    "jsonl": Format(read_json_lines, (".jsonl", ".ndjson"), "encoding text id date metadata patient", json_cuts),
    "json": Format(read_json, (".json",), "encoding text id date metadata patient"),
    "csv": Format(read_table, (".csv",), "encoding delimiter text id date metadata patient", table_cuts),
    "tsv": Format(read_table, (".tsv",), "encoding delimiter text id date metadata patient", table_cuts),
    "parquet": Format(read_parquet, (".parquet",), "text id date metadata patient"),
    "xml": Format(read_xml, (".xml",), "encoding record text id date metadata patient"),
    "jats": Format(read_jats, (".nxml", ".xml"), "encoding language metadata"),
    "pubmed": Format(read_pubmed, (".xml",), "encoding language metadata mesh_descriptors"),
    "theses": Format(read_theses, (".xml",), "encoding language metadata id date"),
    "html": Format(read_html, (".html", ".htm"), "encoding text id date metadata patient"),
    "pdf": Format(read_office, (".pdf",), "ocr time_limit"),
    "docx": Format(read_office, (".docx", ".docm", ".dotx"), "time_limit"),
    "odt": Format(read_office, (".odt", ".ott"), "time_limit"),
    "rtf": Format(read_office, (".rtf",), "time_limit"),
    "email": Format(read_office, (".eml",), "ocr time_limit"),
    "database": Format(read_database, (), "text id date metadata patient"),
    "hl7": Format(read_hl7, (".hl7",), "encoding ocr time_limit"),
    "fhir": Format(read_fhir, (), "encoding ocr time_limit"),
    "leaflet": Format(read_leaflets, (".html", ".htm"), "encoding"),
    "bdpm": Format(read_bdpm, (".txt",), "encoding"),
}
# What an ending says for certain: .xml says nothing, and of a page or a text it does not say which of the special ones.
OF_SUFFIX = {suffix: name for name, kind in reversed(FORMATS.items()) for suffix in kind.suffixes if suffix != ".xml"}
NOT_TEXT = ("pdf", "docx", "odt", "rtf")
COMMON_SETTINGS = frozenset("format name source licence on_error patient_pattern inside by_name".split())


def format_of(file: Path) -> str:
    """The format that a file's name tells, nothing if it tells none."""
    if table_name(file) and bare(file).suffix.lower() == ".txt":
        return "bdpm"
    name = OF_SUFFIX.get(bare(file).suffix.lower(), "")
    return "" if name == "parquet" and file.suffix in FORMS else name  # it is compressed inside


def format_by_content(file: Path, options: ReadOptions) -> str:
    """The format of a file whose name tells one: another if its first bytes are certain about it. JSON is FHIR unless
    the user named its fields."""
    if file.suffix in FORMS and options.format not in NOT_TEXT:
        return options.format  # a large file, which is read once
    kind = kind_of_file(file)
    fhir = kind == "fhir" and options.format in ("json", "jsonl") and not options.named_paths()
    return kind if kind in CERTAIN or fhir else options.format


def also_reads(file: Path, options: ReadOptions) -> list[Path]:
    """The other files that documents depend on."""
    if options.format == "bdpm":
        return [file.with_name(name) for name in DRUGS if file.with_name(name).is_file()]
    if options.format in ("fhir", "json", "jsonl") and "binary" not in file.name.lower():
        return binary_files(file.parent)
    return [Path(options.mesh_descriptors)] if options.format == "pubmed" and options.mesh_descriptors else []


def check(options: ReadOptions) -> None:
    """Raise InputError for a format that is none, or a setting that it would not heed."""
    if options.format not in ("", *FORMATS):
        raise InputError(f"format '{options.format}': not known; choose one of {', '.join(FORMATS)}.")
    check_settings(options, {options.format} - {""})


def check_settings(options: ReadOptions, formats: Collection[str]) -> None:
    """Raise InputError for a setting that none of these formats uses; without a format there is nothing to check."""
    heeded = COMMON_SETTINGS.union(*(FORMATS[name].settings.split() for name in formats))
    for name in options.changed_settings() if formats else ():
        if name not in heeded:
            raise InputError(
                f"setting '{name}': means nothing for the format '{', '.join(sorted(formats))}'; leave it out, or say "
                "with --format what the files hold."
            )
