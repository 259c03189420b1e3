"""JSON lines: one object a line."""

import json
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from preprocess.documents import Document
from preprocess.readers.fields import Unfit, document_of
from preprocess.readers.how import How
from preprocess.readers.lines import read_lines
from preprocess.readers.log import ReadLog

HALF = re.compile(r"\\u[dD][89a-fA-F]")
DEEPEST = 100  # levels of a record: Python's own reader and writer of JSON fail near 1,000, wherever they are called


def read_json_lines(file: Path, how: How, log: ReadLog) -> Iterator[Document]:
    """A document a line; fields that are neither text, id, source, licence nor date are its metadata."""
    for line in read_lines(file, how, log):
        if not line.fault and not line.text.strip():
            continue
        fault = line.fault
        try:
            if not fault:
                yield document_of(_record(line.text), how, line.number, keep_rest=True)
        except Unfit as unfit:
            fault = unfit.fault
        if fault:
            log.refuse(how, file, f"line {line.number}", fault.reason, fault.remedy, fault.detail)


def _record(text: str) -> dict:
    if HALF.search(text) and _half_character(text):
        raise Unfit("half a character", "write \\ud800 to \\udfff in pairs only")
    if text.count("[") + text.count("{") > DEEPEST and _depth(text) > DEEPEST:
        raise Unfit(f"more than {DEEPEST} levels of brackets", "put the text in a field nearer to the top")
    try:
        record = json.loads(text)
    except ValueError as error:
        raise Unfit("not JSON", "every line must be a JSON object", str(error)) from None
    if not isinstance(record, dict):
        raise Unfit("not a JSON object", 'every line must be one, such as {"text": "..."}')
    return record


def _half_character(text: str) -> bool:
    """Whether a JSON escape spells what UTF-8 cannot."""
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False  # found again, and named, when it is read
    return False


def _depth(text: str) -> int:
    """An upper bound: brackets inside of texts count too."""
    return max(accumulate((1 if c in "[{" else -1) for c in text if c in "[]{}"))
