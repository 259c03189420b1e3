"""The options of a command that reads files in any format."""

import argparse
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.yaml_config import read_yaml
from preprocess.readers.formats import FORMATS, check
from preprocess.readers.options import ENCODINGS, How, encoding_named

OPTIONS = {
    ("--how",): dict(
        type=Path, metavar="FILE", help="these options as a YAML file; those given beside it count more"
    ),
    ("--format",): dict(
        choices=[*FORMATS],
        help="what the files hold (default: what their ending says: .txt .jsonl .json .csv .tsv .parquet .html "
        ".nxml, all but .parquet also with .gz or .zst; .xml says nothing)",
    ),
    ("--text-field", "--text-path"): dict(
        dest="text", action="append", metavar="PATH",
        help="where the text is; may be given several times (default: the field or column `text`)",
    ),
    ("--record-path",): dict(dest="record", metavar="NAME", help="the element that is a record (xml)"),
    ("--id-field", "--id-path"): dict(
        dest="id", metavar="PATH", help="where a record's id is (default: `id`; records without one are numbered)"
    ),
    ("--date-field", "--date-path"): dict(
        dest="date", metavar="PATH", help="where its date is (default: `date`); 14/02/2023 is the 14th of February"
    ),
    ("--metadata",): dict(
        action="append", metavar="NAME=PATH",
        help="what else to keep, by which a core can be chosen (default: what the format is known to hold; of "
        "jsonl all other fields)",
    ),
    ("--language",): dict(
        help="of records in several languages (jats, pubmed, theses) the one to keep; `any` keeps all (default: fr)"
    ),
    ("--encoding",): dict(
        type=encoding_named, choices=ENCODINGS,
        help="of text (default: utf-8, since a wrong guess spoils every accent; of pages what they say, of bdpm "
        "auto); auto: UTF-8 if the whole file is, else Windows-1252",
    ),
    ("--delimiter",): dict(
        help="between the values of a csv line (default: the one its first line leaves no doubt about)"
    ),
    ("--one-document-per-file",): dict(
        action="store_const", const=True,
        help="a .txt is one document (default: in a folder, as in brat; else a blank line divides documents)",
    ),
    ("--join-wrapped-lines",): dict(
        action="store_const", const=True, help="join lines that end at a margin, as of PDF exports (text; default: off)"
    ),
    ("--mesh-descriptors",): dict(
        type=Path, metavar="FILE", help="NLM's desc2026.xml, to add the tree numbers of MeSH terms, as C04 (pubmed)"
    ),
    ("--source",): dict(help="name of the corpus (default: what a file says, else its or its folder's name)"),
    ("--licence",): dict(
        help="licence of the texts (default: what a file says, else empty, because none can be guessed)"
    ),
    ("--on-error",): dict(
        choices=("stop", "skip"),
        help="a record that cannot be read: stop (default: it is to be looked at), or skip it, count it, and list "
        "it in skipped.tsv",
    ),
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that `how_of` reads."""
    group = parser.add_argument_group(
        "how files are read",
        "Paths are columns (csv, tsv, parquet), fields with dots for nested ones (jsonl), or XPaths below a record "
        "(xml, html; names without a namespace's prefix).",
    )
    for names, settings in OPTIONS.items():
        group.add_argument(*names, **settings)


def how_of(options: argparse.Namespace) -> How:
    """The options as given, on top of those of the YAML file. Raises InputError for one that is not known or unfit."""
    settings = read_yaml(options.how) if options.how else {}
    for name in How.__dataclass_fields__:
        value = getattr(options, name, None)
        if value is not None:
            settings[name] = _named(value) if name == "metadata" else str(value) if isinstance(value, Path) else value
    how = How.of(settings)
    check(how)
    return how


def _named(arguments: list[str]) -> dict[str, str]:
    named = dict(argument.partition("=")[::2] for argument in arguments)
    for name, path in named.items():
        if not name or not path:
            raise InputError(f"--metadata '{name}{path}': give NAME=PATH, such as journal=Journal/Title.")
    return named
