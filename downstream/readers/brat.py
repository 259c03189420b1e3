"""brat standoff: a folder of .txt files, each beside a .ann file whose T lines give type, offsets and text."""

from collections import Counter
from pathlib import Path

from downstream.documents import Document, Entity, Labels
from downstream.files import InputError, files_of, read_text


def read(path: Path, labels: Labels, counts: Counter) -> list[Document]:
    """One document a .txt file, at any depth of the folder; `path` may also be one .txt file.

    A .txt without .ann was never annotated: it is left out and counted. Lines of other kinds than T (notes,
    relations, events, attributes) are counted. Raises InputError as `_parse` does, and for a .ann without its text.
    """
    if path.is_file() and path.suffix != ".txt":
        raise InputError(f"{path}: a single file of brat is given as its .txt, which lies beside the .ann.")
    for annotation in files_of(path, ".ann"):
        if not annotation.with_suffix(".txt").is_file():
            raise InputError(f"{annotation}: there is no {annotation.stem}.txt beside it; put the text there.")
    documents = []
    for file in files_of(path, ".txt"):
        annotation = file.with_suffix(".ann")
        if not annotation.is_file():
            counts["documents without .ann left out"] += 1
            continue
        text = read_text(file)
        name = file.stem if file == path else file.relative_to(path).with_suffix("").as_posix()
        documents.append(Document(name, text, _entities(annotation, text, labels, counts)))
    return documents


def _entities(file: Path, text: str, labels: Labels, counts: Counter) -> list[Entity]:
    entities = []
    for number, line in enumerate(read_text(file).split("\n"), 1):
        line = line.rstrip("\r")
        if not line.startswith("T"):
            counts["annotation lines that are not entities"] += bool(line)
            continue
        label, fragments = _parse(line, text, f"{file}, line {number}")
        label = labels.keep(label, f"{file}, line {number}", counts)
        if label is not None:
            entities.append(Entity(label, fragments))
    return entities


def _parse(line: str, text: str, place: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Type and fragments of a line `T1<tab>TYPE 3 8;12 15<tab>text`, whose text must stand at these offsets.

    brat writes a line break inside an entity as a space, and joins fragments by one.
    """
    try:
        _, where, quoted = line.split("\t")
        label, offsets = where.split(" ", 1)
        pairs = [tuple(map(int, pair.split())) for pair in offsets.split(";")]
        fragments = [(start, end) for start, end in pairs]
    except ValueError:
        raise InputError(f"{place}: not an entity line of brat (T1<tab>TYPE 3 8<tab>text); mend the line.") from None
    for start, end in fragments:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{place}: offsets {start} {end} lie outside the {len(text)} characters of text; mend them."
            )
    found = " ".join(text[start:end] for start, end in fragments)
    if found.replace("\n", " ").replace("\r", " ") != quoted.replace("\n", " ").replace("\r", " "):
        raise InputError(
            f"{place}: the offsets point to {found!r} but the line says {quoted!r}; the text was changed after it was "
            "annotated, or re-encoded: use the .txt file that was annotated."
        )
    return label, tuple(sorted(fragments))
