"""From every format that a French biomedical corpus comes in to documents.

`files_of` lists the files that a path stands for, each with how to read it; `read_file` reads one of them. Both are
plain functions of values that can be sent to another process.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from preprocess.documents.compression import CHUNK, FORMS, open_bytes
from preprocess.documents.document import PATIENT, Document
from preprocess.readers.folders import InputFile, files_of
from preprocess.readers.formats import FORMATS, check, check_settings, format_by_content
from preprocess.readers.ids import UniqueIds
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import WITHOUT_DOCUMENT, WITHOUT_PATIENT, WITHOUT_TEXT, CommandError, ReadLog, Skipped

__all__ = [
    "FORMATS", "InputFile", "ReadLog", "ReadOptions", "Skipped", "UniqueIds", "check", "check_settings", "files_of",
    "read_file",
]  # fmt: skip


def read_file(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """Stream the documents of one file, as `files_of` gives it. `source` and `licence` of `options` are those of all.

    A record without text is counted, and a file, not a part, without a document. With on_error "skip", a file that
    cannot be read, or not to its end, is listed; without it, what was streamed before InputError is raised is not to be
    kept.
    """
    count = number = 0
    try:
        if options.by_name and (kind := format_by_content(file, options)) != options.format:
            log.note(f"files that hold {kind}, whatever their names say")
            options = options.with_changes(format=kind)
        if options.on_error == "skip" and file.suffix in FORMS and not options.part:
            _check_whole(file)
        for document in FORMATS[options.format].reader(file, options, log):
            number += 1
            if not document.lines:
                log.count(f"{WITHOUT_TEXT} ({options.format})")
                continue
            count += 1
            document.source = options.source or document.source
            document.licence = options.licence or document.licence
            if options.patient_pattern:
                _set_patient(document, options.patient_pattern, log)
            yield document
    except CommandError:
        raise
    except (InputError, OSError) as error:
        if options.on_error == "stop":
            raise
        log.skip_file(file, error, number)
    log.documents[options.format] += count
    if not count and not options.part:
        log.count(WITHOUT_DOCUMENT)


def _check_whole(file: Path) -> None:
    """Raise InputError for a compressed file of which some bits are wrong: that is known at its end only, and what came
    out before may be other text than what went in. Of a file that is cut short, the part that is there is good."""
    try:
        with open_bytes(file) as handle:
            while handle.read(CHUNK):
                pass
    except InputError as error:
        if not isinstance(error.__context__, EOFError):
            raise


def _set_patient(document: Document, pattern: str, log: ReadLog) -> None:
    """Take the patient from the id of a document, where --patient-pattern finds one."""
    if (found := re.search(pattern, document.id)) and found[1]:
        document.metadata = document.metadata | {PATIENT: found[1]}
    elif not document.metadata.get(PATIENT):
        log.note(WITHOUT_PATIENT)
