"""Readers of annotated text, one file a format. All keep the raw text, and character offsets into it.

A reader of documents (ENTITIES) is called as read(path, labels, counts); so is one of labelled texts or relations, and
one of the other families as read(path, counts), for their items have no labels. What a recipe says of a format beyond
that (which column holds the text) are keyword arguments of the reader: check_settings tells a recipe which. A reader
raises InputError naming file and line for what it cannot use, and counts what it reads past.
"""

import inspect
from collections.abc import Callable

from alibert_common.errors import InputError
from alibert_common.yaml_config import value_as
from downstream.data.readers import (
    bioasq,
    brat,
    candidates,
    ddi,
    hoc,
    iob,
    jsonl,
    pubmedqa,
    sentence_relations,
    squad,
    tables,
)

Readers = dict[str, Callable[..., list]]  # by format
ENTITIES: Readers = {"brat": brat.read, "ddi": ddi.read, "iob": iob.read, "jsonl": jsonl.read}

TEXTS: Readers = {"table": tables.read_texts, "hoc": hoc.read, "pubmedqa": pubmedqa.read, "bioasq": bioasq.read_texts}
RELATIONS: Readers = {
    "table": tables.read_relations, "biobert": sentence_relations.read_biobert, "brat": brat.read_relations,
    "chemprot": sentence_relations.read_chemprot, "ddi": ddi.read_relations, "euadr": sentence_relations.read_euadr,
}  # fmt: skip
PAIRS: Readers = {"table": tables.read_pairs}
CANDIDATES: Readers = {
    "options": tables.read_options, "ranking": tables.read_ranking, "frenchmedmcqa": candidates.read_frenchmedmcqa,
    "refomed": candidates.read_refomed,
}  # fmt: skip
READING: Readers = {"squad": squad.read, "bioasq": bioasq.read_questions}


def check_settings(read: Callable[..., list], settings: dict, place: str) -> None:
    """Raises InputError, naming `place` (the recipe), for a setting that a reader does not have, or misses, and for a
    value of another type than the reader's parameter."""
    parameters = inspect.signature(read).parameters.values()
    known = {parameter.name: parameter for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY}
    for name, value in settings.items():
        if name not in known:
            raise InputError(f"{place}: unknown setting {name!r} of the format; it has {', '.join(known) or 'none'}.")
        value_as(value, known[name].annotation, f"{place}: {name}")
    for name, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and name not in settings:
            raise InputError(f"{place}: the format needs the setting {name!r}; it has {', '.join(known)}.")
    if settings.get("separator") == "":
        raise InputError(f"{place}: separator is ''; give the characters that divide the words of a cell.")
    delimiter = settings.get("delimiter")
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"{place}: delimiter is {delimiter!r}; give the one character that divides cells.")
