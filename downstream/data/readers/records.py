"""What readers of items share: JSON whose errors name their place, and items that each have an id of their own."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from alibert_common.errors import InputError
from alibert_common.files import read_text
from downstream.data.examples import Candidates, LabelledText, ReadingQuestion, Relation, ScoredPair

Item = TypeVar("Item", LabelledText, Relation, ScoredPair, Candidates, ReadingQuestion)
P = ParamSpec("P")

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # as it is written; two make a character, one cannot be written again
SURROGATES = re.compile("[\ud800-\udfff]")
KINDS = {str: "a text", list: "a list", dict: "an object", int: "a whole number"}


def json_of(file: Path) -> Any:
    """The content of a JSON file. Raises InputError naming the line where it is broken, or a key that stands twice."""
    return _parse(read_text(file).removeprefix("\ufeff"), file, f"{file}")


def lines_of(file: Path) -> Iterator[tuple[int, str, str]]:
    """(number, place, text) of each line; the place names file and line for an error."""
    name = str(file)
    for number, line in enumerate(read_text(file).removeprefix("\ufeff").split("\n"), 1):
        yield number, f"{name}, line {number}", line.rstrip("\r")


def json_lines(file: Path) -> Iterator[tuple[int, str, dict]]:
    """(number, place, object) of each line that is not blank. Raises InputError for a line that is no object."""
    for number, place, line in lines_of(file):
        if line.strip():
            record = _parse(line, file, place, number)
            if not isinstance(record, dict):
                raise InputError(f"{place}: not an object; write one in braces on each line.")
            yield number, place, record


def _parse(text: str, file: Path, place: str, first_line: int = 1) -> object:
    def as_dict(pairs: list[tuple[str, object]]) -> dict:
        [(key, times), *_] = Counter(key for key, _ in pairs).most_common(1) or [("", 0)]
        if times > 1:
            raise InputError(f"{place}: the key {key!r} stands {times} times in one object; keep one of them.")
        return dict(pairs)

    try:
        content = json.loads(text, object_pairs_hook=as_dict)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise InputError(f"{file}, line {line}: not JSON ({error.msg}); correct it, or fetch the file again.") from None
    except InputError:
        raise
    except RecursionError:
        raise InputError(f"{place}: thousands of nested brackets; correct it, or fetch the file again.") from None
    except ValueError:  # Python's limit, which keeps a long one from taking forever
        raise InputError(f"{place}: a number of thousands of digits; correct it, or fetch the file again.") from None
    if SURROGATE.search(text) and SURROGATES.search(json.dumps(content, ensure_ascii=False)):
        raise InputError(f"{place}: half of a character (\\ud800 to \\udfff); correct it, or fetch the file again.")
    return content


def field(record: object, key: str, kind: type, place: str):
    """`record[key]`. Raises InputError naming `place` if the record is no object, or the key missing or no `kind`."""
    if not isinstance(record, dict) or type(record.get(key)) is not kind:
        raise InputError(f"{place}: the key {key!r} is missing or not {KINDS[kind]}; correct the record.")
    return record[key]


def texts(record: object, key: str, place: str) -> list[str]:
    """`record[key]`, a list of texts. Raises InputError as `field` does."""
    values = field(record, key, list, place)
    if not all(isinstance(value, str) for value in values):
        raise InputError(f"{place}: the key {key!r} holds something other than texts; correct the record.")
    return values


def distinct(items: Callable[P, Iterator[tuple[str, Item]]]) -> Callable[P, list[Item]]:
    """Make a reader of a generator of (place, item) pairs, whose last argument by position is `counts`.

    An item that comes twice is kept, as "ID (2)", of the same group, since splits must not divide the two; and counted.
    Raises InputError naming both places if two items that differ have one id: predictions are kept by id.
    """

    @wraps(items)
    def read(*args: Any, **settings: Any) -> list[Item]:
        seen: dict[str, tuple[str, Item]] = {}
        for place, item in items(*args, **settings):
            first_place, first = seen.get(item.id, (place, item))
            if item != first:
                raise InputError(
                    f"{place}: the id {item.id!r} is that of another item ({first_place}); give each an id of its own."
                )
            if item.id in seen:
                args[-1]["items that stand in the files twice"] += 1
                names = (f"{item.id} ({number})" for number in itertools.count(2))
                item = replace(item, id=next(name for name in names if name not in seen), group=item.group or item.id)
            seen[item.id] = place, item
        return [item for _, item in seen.values()]

    return read
