"""brat standoff: a folder of .txt files, each beside a .ann file of lines `T1<tab>TYPE 3 8<tab>text`, entities at
offsets, and `R1<tab>TYPE Arg1:T1 Arg2:T2`, relations between them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path

from alibert_common.directories import directory_written_whole
from alibert_common.errors import InputError
from alibert_common.files import files_of, read_text
from downstream.data.annotated_text import AnnotatedText, Entity, Labels
from downstream.data.examples import Mention, Relation
from downstream.data.readers.records import distinct, lines_of

WHERE = re.compile(r"^(\S.*?) +(-?\d+ +-?\d+(?:;-?\d+ +-?\d+)*) *$")  # a type, which may have spaces, and offsets
# What brat needs to open a folder: the types, the four sections, and that entities may overlap.
CONFIGURATION = """[entities]

{types}

[relations]

<OVERLAP> Arg1:<ENTITY>, Arg2:<ENTITY>, <OVL-TYPE>:<ANY>

[events]

[attributes]
"""
UNRELATED = "none"  # the label of two entities without an R line


Relations = dict[tuple[str, str], tuple[str, str]]  # type and place of an R line, by the names of its two entities


def read(path: Path, labels: Labels, counts: Counter) -> list[AnnotatedText]:
    """One document a .txt file, at any depth of the folder; `path` may also be one .txt file.

    A .txt without .ann was never annotated: it is left out and counted. Lines of other kinds than T (notes, relations,
    events, attributes) are counted. Raises InputError as `parse_entity` does, and for a .ann without its text.
    """
    documents = []
    for name, file, text in _annotated(path, counts):
        entities = []
        for _, place, line in lines_of(file):
            if not line.startswith("T"):
                counts["annotation lines that are not entities"] += bool(line)
                continue
            label, fragments = parse_entity(line, text, place)
            kept = labels.keep(label, place, counts)
            if kept is not None:
                entities.append(Entity(kept, fragments))
        documents.append(AnnotatedText(name, text, entities))
    return documents


def _annotated(path: Path, counts: Counter) -> Iterator[tuple[str, Path, str]]:
    """(name, its .ann, text) of each document."""
    if path.is_file() and path.suffix != ".txt":
        raise InputError(f"{path}: a single file of brat is given as its .txt, which lies beside the .ann.")
    for annotation in files_of(path, ".ann"):
        if not annotation.with_suffix(".txt").is_file():
            raise InputError(f"{annotation}: there is no {annotation.stem}.txt beside it; put the text there.")
    for file in files_of(path, ".txt"):
        annotation = file.with_suffix(".ann")
        if annotation.is_file():
            name = file.stem if file == path else file.relative_to(path).with_suffix("").as_posix()
            yield name, annotation, read_text(file)
        else:
            counts["documents without .ann left out"] += 1


@distinct
def read_relations(path: Path, labels: Labels, counts: Counter, *, pairs: list[str]) -> Iterator[tuple[str, Relation]]:
    """Every two entities of one line of text whose types are a pair of `pairs`; related as the R lines say, or `none`.

    pairs: types of the first and of the second argument, such as "CHEMICAL GENE". A sentence is a line, so these
    files have a sentence a line; pairs across lines are not made, and relations across lines are counted. Of a pair of
    equal types ("DRUG DRUG") the mention that is first in the text is the first argument; a relation annotated the
    other way has "-reversed" after its type, which the recipe keeps as a type, or renames where order means nothing.
    Discontinuous mentions go from their first to their last character (counted).
    Raises InputError for lines that brat would not write, a name that two entities have, a relation of an
    entity that is not there, and a .ann without its text.
    """
    wanted = [tuple(str(pair).split()) for pair in pairs]
    for pair, types in zip(pairs, wanted, strict=True):
        if len(types) != 2:
            raise InputError(
                f"{path}: {pair!r} under pairs is not two types of entities; write for example CHEMICAL GENE."
            )
    for document, file, text in _annotated(path, counts):
        entities, relations = _annotations(file, text, counts)
        start = 0
        for line in text.split("\n"):
            here = {
                name: Mention(entity.start - start, entity.end - start, entity.label)
                for name, entity in entities.items()
                if start <= entity.start and entity.end <= start + len(line)
            }
            for ends in _candidates(here, wanted):
                kind, place = _pop(relations, ends, here) or (UNRELATED, f"{file}, {' '.join(ends)}")
                label = labels.keep(kind, place, counts, "relations")
                if label is not None:
                    mentions = here[ends[0]], here[ends[1]]
                    yield place, Relation(f"{document}:{'-'.join(ends)}", line, label, mentions, document)
            start += len(line) + 1
        counts["relations across lines, or not of a pair of types"] += len(relations)


def _candidates(entities: dict[str, Mention], wanted: list[tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Names of the entities to pair, first argument first; of equal types, in the order of the text."""
    ordered = sorted(entities, key=lambda name: (entities[name].start, entities[name].end))
    for (rank, first), (other_rank, second) in permutations(enumerate(ordered), 2):
        types = entities[first].label, entities[second].label
        if types in wanted and (types[0] != types[1] or rank < other_rank):
            yield first, second


def _pop(relations: Relations, ends: tuple[str, str], entities: dict[str, Mention]) -> tuple[str, str] | None:
    """The annotated relation of two entities, taken out of `relations`, or None."""
    first, second = ends
    if ends not in relations and entities[first].label == entities[second].label:
        backwards = relations.pop((second, first), None)
        return backwards and (f"{backwards[0]}-reversed", backwards[1])
    return relations.pop(ends, None)


def _annotations(file: Path, text: str, counts: Counter) -> tuple[dict[str, Mention], Relations]:
    """Entities by their name T1, and relations by those of their ends."""
    entities: dict[str, Mention] = {}
    relations: Relations = {}
    lines = list(lines_of(file))
    for _, place, line in lines:
        if line.startswith("T"):
            label, fragments = parse_entity(line, text, place)
            counts["discontinuous mentions (hull)"] += len(fragments) > 1
            name = line.split("\t")[0]
            if name in entities:
                raise InputError(f"{place}: {name} names another entity too; give each a name of its own.")
            entities[name] = Mention(fragments[0][0], fragments[-1][1], label)
    for _, place, line in lines:
        if line.startswith("R"):
            label, arguments = _parse(line, place)
            if not set(arguments) <= entities.keys():
                raise InputError(f"{place}: the entity {' or '.join(arguments)} has no T line; correct the relation.")
            counts["second relations of one pair left out"] += arguments in relations
            relations.setdefault(arguments, (label, place))
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
            f"{place}: not a relation line of brat (R1<tab>TYPE Arg1:T1 Arg2:T2); correct the line."
        ) from None
    return label, (first, second)


def parse_entity(line: str, text: str, place: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Type and fragments of a line `T1<tab>TYPE 3 8;12 15<tab>text`, whose text must stand at these offsets."""
    try:
        _, where, quoted = line.split("\t", 2)
        [(label, offsets)] = WHERE.findall(where)
        fragments = [(int(start), int(end)) for start, end in map(str.split, offsets.split(";"))]
    except ValueError:
        raise InputError(f"{place}: not an entity line of brat (T1<tab>TYPE 3 8<tab>text); correct the line.") from None
    for start, end in fragments:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{place}: offsets {start} {end} lie outside the {len(text)} characters of text; correct them."
            )
    if _quoted(text, fragments) != _one_line(quoted):
        raise InputError(
            f"{place}: the offsets point to {_quoted(text, fragments)!r} but the line says {quoted!r}; the text was "
            "changed after it was annotated, re-encoded or given other line ends: use the .txt that was annotated."
        )
    return label, tuple(sorted(fragments))


def _quoted(text: str, fragments: Iterable[tuple[int, int]]) -> str:
    """brat joins fragments by a space, and writes a line break inside an entity as one."""
    return _one_line(" ".join(text[start:end] for start, end in fragments))


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")


def write(documents: Iterable[AnnotatedText], folder: Path) -> None:
    """Write ID.txt and ID.ann for each document, and an annotation.conf, so that brat opens the folder as it is.

    `read` gives the same documents back. Raises InputError for a folder that holds something, for an id that cannot
    name a file in it or that two documents have, and for a type with white space.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"{folder}: there is something already; give a new folder.")
    types: set[str] = set()
    with directory_written_whole(folder) as aside:
        for document in documents:
            parts = document.id.split("/")
            text = aside / f"{document.id}.txt"
            if any(not part or part.startswith(".") for part in parts) or text.exists():
                raise InputError(
                    f"{folder}: the id {document.id!r} of a document is no file name, or not its own alone."
                )
            text.parent.mkdir(parents=True, exist_ok=True)
            text.write_bytes(document.text.encode())
            lines = [_line(number, entity, document) for number, entity in enumerate(document.entities, 1)]
            text.with_suffix(".ann").write_bytes("".join(lines).encode())
            types.update(entity.label for entity in document.entities)
        configuration = CONFIGURATION.format(types="\n".join(sorted(types)))
        (aside / "annotation.conf").write_text(configuration, encoding="utf-8")


def _line(number: int, entity: Entity, document: AnnotatedText) -> str:
    if entity.label.split() != [entity.label]:
        raise InputError(f"{document.id}: type {entity.label!r} has a space, which ends a type in brat; write jsonl.")
    offsets = ";".join(f"{start} {end}" for start, end in entity.fragments)
    return f"T{number}\t{entity.label} {offsets}\t{_quoted(document.text, entity.fragments)}\n"
