"""Relations in brat standoff: lines `R1<tab>TYPE Arg1:T1 Arg2:T2` between the entities of the .ann beside a .txt."""

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from alibert_common.files import files_of, read_text
from downstream.data.annotated_text import Labels
from downstream.data.examples import Mention, Relation
from downstream.data.readers.brat import parse_entity
from downstream.data.readers.records import distinct

UNRELATED = "none"  # the label of two entities without an R line


class Annotated(NamedTuple):
    """The type of an R line, and where that stands."""

    label: str
    place: str


Annotations = tuple[dict[str, Mention], dict[tuple[str, str], Annotated]]  # by T1, and by (T1, T2)


def read(path: Path, labels: Labels, counts: Counter, *, pairs: list[str]) -> list[Relation]:
    """Every two entities of one line of text whose types are a pair of `pairs`; related as the R lines say, or `none`.

    pairs: types of the first and of the second argument, such as "CHEMICAL GENE". A sentence is a line, so these
    files have a sentence a line; pairs across lines are not made, and relations across lines are counted. Of a pair of
    equal types ("DRUG DRUG") the mention that is first in the text is the first argument; a relation annotated the
    other way has "-reversed" after its type, which the recipe keeps as a type, or renames where order means nothing.
    Discontinuous mentions go from their first to their last character (counted).

    Raises InputError for lines that brat would not write, a name that two entities have, a relation of an
    entity that is not there, and a .ann without its text.
    """
    wanted = [_two_types(pair, path) for pair in pairs]
    for annotation in files_of(path, ".ann"):
        if not annotation.with_suffix(".txt").is_file():
            raise InputError(f"{annotation}: there is no {annotation.stem}.txt beside it; put the text there.")

    def items() -> Iterator[tuple[str, Relation]]:
        for file in files_of(path, ".txt"):
            if file.with_suffix(".ann").is_file():
                name = file.stem if file == path else file.relative_to(path).with_suffix("").as_posix()
                yield from _pairs_of(file, name, wanted, labels, counts)
            else:
                counts["documents without .ann left out"] += 1

    return distinct(items(), counts)


def _two_types(pair: str, path: Path) -> tuple[str, str]:
    types = str(pair).split()
    if len(types) != 2:
        raise InputError(f"{path}: {pair!r} under pairs is not two types of entities; write for example CHEMICAL GENE.")
    return types[0], types[1]


def _pairs_of(
    file: Path, document: str, wanted: list[tuple[str, str]], labels: Labels, counts: Counter
) -> Iterator[tuple[str, Relation]]:
    annotation, text = file.with_suffix(".ann"), read_text(file)
    entities, relations = _annotations(annotation, text, counts)
    start = 0
    for line in text.split("\n"):
        here = {name: _moved(one, start) for name, one in entities.items() if _inside(one, start, start + len(line))}
        for first, second in _candidates(here, wanted):
            relation = _pop(relations, first, second, here) or Annotated(UNRELATED, f"{annotation}, {first} {second}")
            label = labels.keep(relation.label, relation.place, counts, "relations")
            if label is not None:
                item = Relation(f"{document}:{first}-{second}", line, label, (here[first], here[second]), document)
                yield relation.place, item
        start += len(line) + 1
    counts["relations across lines, or not of a pair of types"] += len(relations)


def _inside(mention: Mention, start: int, end: int) -> bool:
    return start <= mention.start and mention.end <= end


def _moved(mention: Mention, start: int) -> Mention:
    return Mention(mention.start - start, mention.end - start, mention.label)


def _candidates(entities: dict[str, Mention], wanted: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Names of the entities to pair, first argument first; of equal types, in the order of the text."""
    ordered = sorted(entities, key=lambda name: (entities[name].start, entities[name].end))
    for (rank, first), (other_rank, second) in permutations(enumerate(ordered), 2):
        types = entities[first].label, entities[second].label
        if types in wanted and (types[0] != types[1] or rank < other_rank):
            yield first, second


def _pop(
    relations: dict[tuple[str, str], Annotated], first: str, second: str, entities: dict[str, Mention]
) -> Annotated | None:
    """The annotated relation of two entities, taken out of `relations`, or None."""
    if (first, second) not in relations and entities[first].label == entities[second].label:
        found = relations.pop((second, first), None)
        return found and Annotated(f"{found.label}-reversed", found.place)
    return relations.pop((first, second), None)


def _annotations(file: Path, text: str, counts: Counter) -> Annotations:
    entities: dict[str, Mention] = {}
    relations: dict[tuple[str, str], Annotated] = {}
    raw = read_text(file).removeprefix("\ufeff").split("\n")
    lines = [(f"{file}, line {number}", line.rstrip("\r")) for number, line in enumerate(raw, 1)]
    for place, line in lines:
        if line.startswith("T"):
            label, fragments = parse_entity(line, text, place)
            counts["discontinuous mentions (hull)"] += len(fragments) > 1
            name = line.split("\t")[0]
            if name in entities:
                raise InputError(f"{place}: {name} names another entity too; give each a name of its own.")
            entities[name] = Mention(fragments[0][0], fragments[-1][1], label)
    for place, line in lines:
        if line.startswith("R"):
            label, arguments = _parse(line, place)
            if not set(arguments) <= entities.keys():
                raise InputError(f"{place}: the entity {' or '.join(arguments)} has no T line; mend the relation.")
            counts["second relations of one pair left out"] += arguments in relations
            relations.setdefault(arguments, Annotated(label, place))
        elif line and not line.startswith("T"):
            counts["annotation lines that are neither entities nor relations"] += 1
    return entities, relations


def _parse(line: str, place: str) -> tuple[str, tuple[str, str]]:
    """Type and entities of a line `R1<tab>TYPE Arg1:T1 Arg2:T2`; the names of the arguments do not matter."""
    try:
        _, content = line.rstrip("\t ").split("\t")
        label, first, second = content.split()
        (_, first), (_, second) = first.split(":"), second.split(":")
    except ValueError:
        raise InputError(
            f"{place}: not a relation line of brat (R1<tab>TYPE Arg1:T1 Arg2:T2); mend the line."
        ) from None
    return label, (first, second)
