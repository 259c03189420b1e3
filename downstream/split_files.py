"""Splits that folders do not tell apart: which documents of a folder a recipe's split has.

A recipe writes such a split as `PATH @ RULE`, or with several rules that must all hold:

    brat_raw @ SUGGESTED_SPLIT.tsv = dev         the documents that a list gives to this part
    standoff/train @ seed 1 = 0..0.1             a tenth of the documents, drawn by a hash of their ids
    cases @ list.txt = train 2021 @ seed 1 = 0.1..1

A drawn share does not depend on the order of documents, nor on which others there are. What belongs to one document
(`group` of an item, else its `id`) is never divided.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from downstream.files import InputError, read_text

DRAWN = re.compile(r"seed (\d+) = (\d(?:\.\d+)?)\.\.(\d(?:\.\d+)?)")
LISTED = re.compile(r"(?!seed )(\S.*?) += +(\S.*)")


class Listed(NamedTuple):
    """The documents that a list gives to a part; `file` stands below the folder of the data."""

    file: str
    part: str


class Drawn(NamedTuple):
    """The documents whose draw lies between two shares, the second excluded."""

    seed: int
    first: float
    last: float


class Source(NamedTuple):
    """Where a split is read, below the folder of the data, and which of the documents there it has."""

    path: str
    rules: tuple[Listed | Drawn, ...]


def parse(split: str, place: str) -> Source:
    """The source that a recipe's split names; `place` names file and key for an error."""
    path, *rules = (part.strip() for part in split.split(" @ "))
    return Source(path, tuple(_rule(rule, f"{place}: {split!r}") for rule in rules))


def _rule(rule: str, place: str) -> Listed | Drawn:
    if drawn := DRAWN.fullmatch(rule):
        seed, first, last = int(drawn[1]), float(drawn[2]), float(drawn[3])
        if first < last <= 1:
            return Drawn(seed, first, last)
    elif listed := LISTED.fullmatch(rule):
        return Listed(*listed.groups())
    raise InputError(f"{place} is no split; write PATH, PATH @ LIST.tsv = PART, or PATH @ seed 1 = 0..0.1.")


def refuse_overlap(splits: Mapping[str, str], place: str) -> None:
    """Raise InputError if two splits that name the same path, one at least with a rule, can share a document."""
    sources = {name: parse(split, place) for name, split in splits.items()}
    for (one, first), (other, second) in combinations(sources.items(), 2):
        if first.path != second.path or not (first.rules or second.rules):
            continue
        if not any(_disjoint(left, right) for left in first.rules for right in second.rules):
            raise InputError(f"{place}: {one} and {other} can have documents in common; write rules that part them.")


def _disjoint(one: Listed | Drawn, other: Listed | Drawn) -> bool:
    if isinstance(one, Listed) and isinstance(other, Listed):
        return one.file == other.file and one.part != other.part
    if isinstance(one, Drawn) and isinstance(other, Drawn):
        return one.seed == other.seed and (one.last <= other.first or other.last <= one.first)
    return False


def chosen(items: list, source: Source, root: Path, counts: Counter) -> list:
    """The items of a split among those read from its path; lists are looked up below `root`.

    Documents that a list names but the folder lacks are counted. Raises InputError as `read_list` does, for a document
    that a list leaves out, and for a part that no document has.
    """
    for rule in source.rules:
        if isinstance(rule, Drawn):
            items = [item for item in items if rule.first <= draw(document_of(item), rule.seed) < rule.last]
        else:
            items = _in_part(items, root / rule.file, rule.part, counts)
    return items


def document_of(item: object) -> str:
    """The id of the document that an item is of."""
    return getattr(item, "group", "") or item.id


def draw(document: str, seed: int) -> float:
    """A number from 0 to 1 (excluded), as good as uniform: the first 53 bits of a SHA-256, which a float holds."""
    digest = hashlib.sha256(f"{seed} {document}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def _in_part(items: list, file: Path, part: str, counts: Counter) -> list:
    parts = read_list(file)
    known = sorted(set().union(*parts.values()))
    if part not in known:
        raise InputError(f"{file}: no document of a part {part!r} in it; it has {', '.join(known)}.")
    documents = {document_of(item) for item in items}
    strangers = sorted(documents - parts.keys())
    if strangers:
        raise InputError(f"{file}: no part for {len(strangers)} documents (first: {strangers[0]}); add their lines.")
    named = {document for document, own in parts.items() if part in own}
    if named - documents:
        counts[f"documents of {file.name} that are not there"] += len(named - documents)
    return [item for item in items if document_of(item) in named]


def read_list(file: Path) -> dict[str, set[str]]:
    """The parts of each document, from lines DOCUMENT<tab>PART; any further column names another part it is in.

    The document's name may have the suffix .txt, as in DEFT's list. Raises InputError for a line without part and a
    document on two lines.
    """
    parts: dict[str, set[str]] = {}
    for number, line in enumerate(read_text(file).removeprefix("\ufeff").split("\n"), 1):
        document, *own = (cell.strip() for cell in line.split("\t"))
        document = document.removesuffix(".txt")
        if not line.strip():
            continue
        if not document or not any(own):
            raise InputError(f"{file}, line {number}: a document and its part are needed, with a tab between them.")
        if document in parts:
            raise InputError(f"{file}, line {number}: {document} is on an earlier line; keep one of them.")
        parts[document] = set(filter(None, own))
    return parts
