"""JSON: an object a line, or a file that is one object (as E3C's) or an array of them."""

from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.json_value import TooDeepError, parse_json
from preprocess.documents.compression import bare
from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Cut, read_lines
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog, readable
from preprocess.readers.records.record import document_of

LINES = (".jsonl", ".ndjson")  # the endings of files with an object a line
TOO_MUCH = Fault(f"a file of more than {LONGEST // 1_000_000} MB", "write an object a line, as `jq -c '.[]'` does")


def read_json_lines(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document a line; fields that are neither text, id, source, licence nor date are its metadata."""
    for place, number, record in lines_with_values(file, options, log):
        with log.refusing(options, file, place):
            yield document_of(record, options, number, log, keep_rest=True)


def lines_with_values(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[tuple[str, int, object]]:
    """The place, the number and the value of each line that is not blank."""
    for line in read_lines(file, options, log):
        if line.fault or line.text.strip():
            place = f"line {line.number}"
            with log.refusing(options, file, place):
                if line.fault:
                    raise line.fault
                value = _value(line.text)
                yield place, line.number, value


def json_cuts(file: Path, options: ReadOptions, past: int) -> Iterator[Cut]:
    """JSON lines can be divided at any line. Their ids have the number of the line, so no records are counted."""
    assert options.part
    yield Cut(options.part.first, 0)
    yield Cut(past, 0)


def read_json(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """Read a whole file: one document, or one for each item of an array. Raises InputError for no JSON."""
    for number, record in enumerate(whole_values(file, options, log), 1):
        with log.refusing(options, file, f"record {number}"):
            yield document_of(record, options, number, log, keep_rest=True)


def values_of(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[tuple[str, int, object]]:
    """The place, the number and the value of each record: lines by the file's ending, else the whole file."""
    if bare(file).suffix.lower() in LINES:
        yield from lines_with_values(file, options, log)
    else:
        for number, record in enumerate(whole_values(file, options, log), 1):
            yield f"record {number}", number, record


def whole_values(file: Path, options: ReadOptions, log: ReadLog) -> list:
    """The items of a file that is an array, or its one value. Raises InputError for no JSON."""
    lines, size = [], 0
    for line in read_lines(file, options, log):
        size += len(line.text)
        if fault := line.fault or (TOO_MUCH if size > LONGEST else None):
            raise InputError(f"{readable(file)}, line {line.number}: {fault}; {fault.remedy}.")
        lines.append(line.text)
    if not any(line.strip() for line in lines):
        return []
    try:
        value = _value("\n".join(lines))
    except Fault as fault:
        raise InputError(f"{readable(file)}: {fault}; {fault.remedy}.") from None
    return value if isinstance(value, list) else [value]


def _value(text: str) -> object:
    try:
        return parse_json(text)
    except UnicodeEncodeError:
        raise Fault("half a character", "write \\ud800 to \\udfff in pairs only") from None
    except TooDeepError as error:
        raise Fault(str(error), "put the text in a field nearer to the top") from None
    except ValueError as error:
        raise Fault("not JSON", "every record must be a JSON object", str(error)) from None
