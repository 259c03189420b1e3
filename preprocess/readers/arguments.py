"""The options of a command that reads files in any format."""

import argparse
from pathlib import Path

from alibert_common.cli import at_least
from alibert_common.errors import InputError
from alibert_common.yaml_config import read_yaml
from preprocess.readers.formats import FORMATS, check
from preprocess.readers.options import ENCODINGS, ReadOptions, encoding_named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that `read_options_of` reads."""
    group = parser.add_argument_group(
        "how files are read",
        "Paths are columns (csv, tsv, parquet), fields with dots for nested ones (jsonl), or XPaths below a record "
        "(xml, html; names without a namespace's prefix).",
    )
    add = group.add_argument
    # fmt: off
    add("--read-options", type=Path, metavar="FILE",
        help="YAML file of these options; options of the command line win")
    add("--format", choices=[*FORMATS], help="format of the files (default: by their ending; .xml files need it)")
    add("--text-field", "--text-path", dest="text", action="append", metavar="PATH",
        help="field, column or XPath of the text; repeatable (default: text)")
    add("--record-path", dest="record", metavar="NAME", help="element that is a record (xml)")
    add("--id-field", "--id-path", dest="id", metavar="PATH",
        help="field, column or XPath of the id (default: id, or a number)")
    add("--date-field", "--date-path", dest="date", metavar="PATH",
        help="field, column or XPath of the date (default: date); 14/02/2023 is 14 February")
    add("--patient-field", "--patient-path", dest="patient", metavar="PATH",
        help="field, column or XPath of the patient, so that mix can keep patients apart (default: none)")
    add("--patient-pattern", metavar="REGEX",
        help=r"pattern with one group for the patient in the id of a document, as ^(\d+)/ for folders of patients")
    add("--metadata", action="append", metavar="NAME=PATH",
        help="metadata to keep, for --where; repeatable (default: what the format has; all fields of jsonl)")
    add("--language", help="language of the records to keep, or any (jats, pubmed, theses; default: fr)")
    add("--encoding", type=encoding_named, choices=ENCODINGS,
        help="encoding of text (default: utf-8; pages: what they declare; bdpm: auto). auto: UTF-16 or UTF-32, else "
        "UTF-8, else Windows-1252")
    add("--delimiter", help="character between csv values (default: by the header)")
    add("--one-document-per-file", action="store_const", const=True,
        help="one document per .txt file (default: only in folders; else blank lines separate documents)")
    add("--join-wrapped-lines", action="store_const", const=True,
        help="joining of lines that end at a margin, as in PDF exports (default: off)")
    add("--mesh-descriptors", type=Path, metavar="FILE",
        help="NLM's desc2026.xml, which gives MeSH terms their tree numbers (pubmed)")
    add("--ocr", metavar="COMMAND",
        help="command for scanned pages, from PNG on its input to text on its output: 'tesseract - - -l fra' (pdf)")
    add("--time-limit", type=at_least(1), metavar="SECONDS",
        help="seconds for one file (default: 60; pdf, docx, odt, rtf, email)")
    add("--source", help="name of the source (default: the file's own field, or the file or folder name)")
    add("--licence", help="licence of the texts (default: the file's own field, or empty)")
    add("--on-error", choices=("stop", "skip"),
        help="action for an unreadable record: stop (default), or skip and list it in skipped.tsv")
    add("--skip-unreadable", dest="on_error", action="store_const", const="skip",
        help="same as --on-error skip: leave out files and records that cannot be read, and list them")
    add("--how", dest="read_options", type=Path, help=argparse.SUPPRESS)  # the older name of --read-options
    # fmt: on


def read_options_of(options: argparse.Namespace) -> ReadOptions:
    """The options as given, on top of those of the YAML file. Raises InputError for one that is not known or unfit."""
    settings = read_yaml(options.read_options) if options.read_options else {}
    for name in ReadOptions.__dataclass_fields__:
        value = getattr(options, name, None)
        if value is not None:
            settings[name] = _named(value) if name == "metadata" else str(value) if isinstance(value, Path) else value
    read_options = ReadOptions.from_settings(settings)
    check(read_options)
    return read_options


def _named(arguments: list[str]) -> dict[str, str]:
    named = dict(argument.partition("=")[::2] for argument in arguments)
    for name, path in named.items():
        if not name or not path:
            raise InputError(f"--metadata '{name}{path}': give NAME=PATH, such as journal=Journal/Title.")
    return named
