"""JSON: an object a line, or a file that is one object (as E3C's) or an array of them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.json_value import TooDeepError, parse_json
from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Fault, read_lines
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import ReadLog, readable
from preprocess.readers.record import InvalidRecord, document_of

HALF = re.compile(r"\\u[dD][89a-fA-F]")
TOO_MUCH = Fault(f"a file of more than {LONGEST // 1_000_000} MB", "write an object a line, as `jq -c '.[]'` does")


def read_json_lines(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document a line; fields that are neither text, id, source, licence nor date are its metadata."""
    for line in read_lines(file, options, log):
        if line.fault:
            _refuse(file, options, log, f"line {line.number}", line.fault)
        elif line.text.strip():
            try:
                record = _value(line.text)
            except InvalidRecord as unfit:
                _refuse(file, options, log, f"line {line.number}", unfit.fault)
                continue
            yield from _document(file, options, log, f"line {line.number}", record, line.number)


def read_json(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """The same of a whole file: one document, or one for each item of an array. Raises InputError for no JSON."""
    lines, size = [], 0
    for line in read_lines(file, options, log):
        size += len(line.text)
        fault = line.fault or (TOO_MUCH if size > LONGEST else None)
        if fault:
            raise InputError(f"{readable(file)}, line {line.number}: {fault}; {fault.remedy}.")
        lines.append(line.text)
    if not any(line.strip() for line in lines):
        return
    try:
        value = _value("\n".join(lines))
    except InvalidRecord as unfit:
        raise InputError(f"{readable(file)}: {unfit.fault}; {unfit.fault.remedy}.") from None
    for number, record in enumerate(value if isinstance(value, list) else [value], 1):
        yield from _document(file, options, log, f"record {number}", record, number)


def _document(
    file: Path, options: ReadOptions, log: ReadLog, place: str, record: object, number: int
) -> Iterator[Document]:
    try:
        if not isinstance(record, dict):
            raise InvalidRecord("not a JSON object", 'every record must be one, such as {"text": "..."}')
        yield document_of(record, options, number, keep_rest=True, log=log)
    except InvalidRecord as unfit:
        _refuse(file, options, log, place, unfit.fault)


def _refuse(file: Path, options: ReadOptions, log: ReadLog, place: str, fault: Fault) -> None:
    log.refuse(options, file, place, fault.reason, fault.remedy, fault.detail)


def _value(text: str) -> object:
    try:
        value = parse_json(text)
        if HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRecord("half a character", "write \\ud800 to \\udfff in pairs only") from None
    except TooDeepError as error:
        raise InvalidRecord(str(error), "put the text in a field nearer to the top") from None
    except ValueError as error:
        raise InvalidRecord("not JSON", "every record must be a JSON object", str(error)) from None
    return value
