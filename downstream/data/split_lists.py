"""Splits that folders do not tell apart: a list says which documents of a folder a recipe's split has.

A recipe writes such a split as `PATH @ LIST = PART`: `brat_raw @ SUGGESTED_SPLIT.tsv = dev`.
"""

import os.path
import re
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path, PurePath
from typing import NamedTuple

from alibert_common.errors import InputError
from alibert_common.files import read_text

LISTED = re.compile(r"(\S.*?) +@ +(\S.*?) += +(\S.*)")


class SplitSource(NamedTuple):
    """The path of a split below the folder of the data; and the list there, and the part in it, that it is."""

    path: str
    list: str = ""
    part: str = ""


def parse(split: str, place: str) -> SplitSource:
    """The source that a recipe's split names; `place` names file and key for an error."""
    if " @ " not in split:
        return SplitSource(split)
    listed = LISTED.fullmatch(split)
    if not listed or " @ " in listed[3]:
        raise InputError(f"{place}: {split!r} is no split; write PATH, or PATH @ LIST.tsv = PART.")
    return SplitSource(*listed.groups())


def refuse_overlap(splits: Mapping[str, str], place: str) -> None:
    """Raise InputError if two splits can share a document: one's path holds the other's, and no list parts them."""
    sources = {name: parse(split, place) for name, split in splits.items()}
    for (one, first), (other, second) in combinations(sources.items(), 2):
        apart = first.path == second.path and first.list == second.list and first.part != second.part
        if not apart and (_holds(first.path, second.path) or _holds(second.path, first.path)):
            raise InputError(
                f"{place}: {one} and {other} can have documents in common; take two paths, none in the other, or two "
                "parts of one list."
            )


def _holds(folder: str, path: str) -> bool:
    """Whether the path is the folder or in it; folders are read at any depth."""
    return PurePath(os.path.normpath(path)).is_relative_to(os.path.normpath(folder))


def in_part(items: list, source: SplitSource, root: Path, document_of: Callable[..., str], counts: Counter) -> list:
    """The items of a split among those read from its path; the list is looked up below `root`.

    Documents that the list names but the folder lacks are counted. Raises InputError as read_list does, for a document
    that the list leaves out, and for a part that no document has.
    """
    if not source.list:
        return items
    file = root / source.list
    parts = read_list(file)
    known = sorted(set().union(*parts.values()))
    if source.part not in known:
        raise InputError(f"{file}: no document of a part {source.part!r} in it; it has {', '.join(known)}.")
    documents = {document_of(item) for item in items}
    strangers = sorted(documents - parts.keys())
    if strangers:
        raise InputError(f"{file}: no part for {len(strangers)} documents (first: {strangers[0]}); add their lines.")
    named = {document for document, own in parts.items() if source.part in own}
    if named - documents:
        counts[f"documents of {file.name} that are not there"] += len(named - documents)
    return [item for item in items if document_of(item) in named]


def read_list(file: Path, what: str = "part") -> dict[str, set[str]]:
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
            raise InputError(f"{file}, line {number}: a document and its {what} are needed, with a tab between them.")
        if document in parts:
            raise InputError(f"{file}, line {number}: {document} is on an earlier line; keep one of them.")
        parts[document] = set(filter(None, own))
    return parts
