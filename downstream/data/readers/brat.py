"""brat standoff: a folder of .txt files, each beside a .ann file whose T lines give type, offsets and text."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from alibert_common.directories import directory_written_whole
from alibert_common.errors import InputError
from alibert_common.files import files_of, read_text
from downstream.data.annotated_text import AnnotatedText, Entity, Labels

WHERE = re.compile(r"^(\S.*?) +(-?\d+ +-?\d+(?:;-?\d+ +-?\d+)*) *$")  # a type, which may have spaces, and offsets
# What brat needs to open a folder: the types, the four sections, and that entities may overlap.
CONFIGURATION = """[entities]

{types}

[relations]

<OVERLAP> Arg1:<ENTITY>, Arg2:<ENTITY>, <OVL-TYPE>:<ANY>

[events]

[attributes]
"""


def read(path: Path, labels: Labels, counts: Counter, texts: Path | None = None) -> list[AnnotatedText]:
    """One document a .txt file, at any depth of the folder; `path` may also be one .txt file.

    texts: the folder of the .txt files where `path` has only the .ann. A .txt without .ann was never annotated: it is
    left out and counted. Lines of other kinds than T (notes, relations, events, attributes) are counted. Raises
    InputError as `parse_entity` does, and for a .ann without its text.
    """
    if path.is_file() and path.suffix != ".txt":
        raise InputError(f"{path}: a single file of brat is given as its .txt, which lies beside the .ann.")
    home = texts or path
    for annotation in files_of(path, ".ann"):
        if not _counterpart(annotation, path, home, ".txt").is_file():
            place = "beside it" if texts is None else f"in {texts}"
            raise InputError(f"{annotation}: there is no {annotation.stem}.txt {place}; put the text there.")
    documents = []
    for file in files_of(home, ".txt"):
        annotation = _counterpart(file, home, path, ".ann")
        if not annotation.is_file():
            counts["documents without .ann left out"] += 1
            continue
        text = read_text(file)
        name = file.stem if file == home else file.relative_to(home).with_suffix("").as_posix()
        documents.append(AnnotatedText(name, text, _entities(annotation, text, labels, counts)))
    return documents


def _counterpart(file: Path, folder: Path, other: Path, suffix: str) -> Path:
    """What stands in `other` where `file` stands in `folder`, with another suffix."""
    return (other / file.relative_to(folder)).with_suffix(suffix)


def _entities(file: Path, text: str, labels: Labels, counts: Counter) -> list[Entity]:
    entities = []
    for number, line in enumerate(read_text(file).removeprefix("\ufeff").split("\n"), 1):
        line = line.rstrip("\r")
        if not line.startswith("T"):
            counts["annotation lines that are not entities"] += bool(line)
            continue
        label, fragments = parse_entity(line, text, f"{file}, line {number}")
        kept = labels.keep(label, f"{file}, line {number}", counts)
        if kept is not None:
            entities.append(Entity(kept, fragments))
    return entities


def parse_entity(line: str, text: str, place: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Type and fragments of a line `T1<tab>TYPE 3 8;12 15<tab>text`, whose text must stand at these offsets."""
    try:
        _, where, quoted = line.split("\t", 2)
        [(label, offsets)] = WHERE.findall(where)
        fragments = [(int(start), int(end)) for start, end in map(str.split, offsets.split(";"))]
    except ValueError:
        raise InputError(f"{place}: not an entity line of brat (T1<tab>TYPE 3 8<tab>text); mend the line.") from None
    for start, end in fragments:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{place}: offsets {start} {end} lie outside the {len(text)} characters of text; mend them."
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
