"""What is checked when all files are read: paths without text, fields that no record has."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from alibert_common.errors import InputError, readable
from preprocess.documents.filters import MetadataFilter
from preprocess.documents.stage_report import Report, total
from preprocess.ingestion.groups import Group
from preprocess.readers import ReadOptions
from preprocess.readers.formats import FORMATS
from preprocess.readers.read_log import WITHOUT_PATIENT, WITHOUT_TEXT, without_field

OF_LANGUAGES = [name for name, kind in FORMATS.items() if "language" in kind.settings.split()]
OF_FIELDS = [name for name, kind in FORMATS.items() if "text" in kind.settings.split()]  # the user may name fields


def files_without_document(records: list[dict], groups: list[Group]) -> Iterator[Path]:
    """Of the files in parts, those of which no part gave a document."""
    documents = Counter[tuple[int, Path]]()
    for record, group in zip(records, groups, strict=True):
        file = group.path, group.files[0].file
        documents[file] += sum(record["formats"].values())
        if group.checksum and not documents[file]:
            yield file[1]


def check_paths(records: list[dict], groups: list[Group], paths: Sequence[Path], read_options: ReadOptions) -> None:
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


def check_whole(
    whole: Report, formats: Counter[str], read_options: ReadOptions, where: Sequence[MetadataFilter]
) -> None:
    """Raise InputError when a field that the user named is nowhere, and when nothing was chosen."""
    records = sum(formats[name] + whole.dropped.get(f"{WITHOUT_TEXT} ({name})", 0) for name in OF_FIELDS)
    for path in read_options.named_paths() if records else ():
        if whole.noted.get(without_field(path), 0) >= records:
            raise InputError(
                f"'{path}': no record has it; check --text-field, --id-field, --date-field, --patient-field and "
                "--metadata against one."
            )
    if read_options.patient_pattern and whole.noted.get(WITHOUT_PATIENT, 0) >= sum(formats.values()) > 0:
        raise InputError(
            f"--patient-pattern '{read_options.patient_pattern}': finds no patient in the id of any document; an id is "
            "a path below the folder that is named, without its ending."
        )
    if where and not whole.kept:
        raise InputError(
            f"no document of {total(whole.read).documents:,} is chosen by --where; check field and value (a column or "
            "an element is a field if --metadata NAME=PATH keeps it)."
        )
