"""JSON lines, a document each, in one of two forms; "id" if wanted.

Offsets into a text: {"text": ..., "entities": [{"start": 0, "end": 4, "label": ...}]}. Or tagged tokens, as Hugging
Face's `datasets` exports DrBenchmark and as LinkBERT's form of BLURB has them: {"tokens": [...], "ner_tags": [...]}.
"""

from collections import Counter
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import files_of
from downstream.data.annotated_text import AnnotatedText, Entity, Labels
from downstream.data.examples import RowId
from downstream.data.readers.columns import word_of
from downstream.data.readers.records import json_lines, json_of
from downstream.data.readers.tags import FRENCH, Token, rebuild

INFO = "dataset_info.json"  # `datasets` writes it: Dataset.info.write_to_directory(folder)


def read(
    path: Path, labels: Labels, counts: Counter, *, spacing: str = FRENCH, patient: str | None = None
) -> list[AnnotatedText]:
    """One document a line; blank lines are passed over. Offsets count characters, the end is excluded.

    spacing: how tokens are joined (see tags.py). patient: the key of the patient. Tags are names (B-ANAT), or numbers
    whose names are in a dataset_info.json beside the file. Raises InputError for what is neither form, offsets outside
    the text, tags that are more or fewer than the tokens, a missing patient, and bad labels.
    """
    documents = []
    for file in files_of(path, ".jsonl"):
        names = _tag_names(file.with_name(INFO))
        for number, place, record in json_lines(file):
            name = str(record["id"]) if "id" in record else RowId(f"{file.stem}-{number}")
            if "ner_tags" in record:
                documents.append(rebuild(name, [_tagged(record, names, place)], labels, counts, spacing))
            else:
                documents.append(AnnotatedText(name, *_annotated(record, labels, counts, place)))
            if patient is not None:
                documents[-1].patient = word_of(record.get(patient), f"{place}: the key {patient!r}")
    return documents


def _refusal(place: str) -> InputError:
    return InputError(
        f'{place}: not a document; write {{"text": "...", "entities": [{{"start": 0, "end": 4, "label": "..."}}]}} or '
        '{"tokens": ["..."], "ner_tags": ["..."]}.'
    )


def _annotated(record: dict, labels: Labels, counts: Counter, place: str) -> tuple[str, list[Entity]]:
    try:
        text, spans = record["text"], [(span["start"], span["end"], span["label"]) for span in record["entities"]]
    except (KeyError, TypeError):
        raise _refusal(place) from None
    if not isinstance(text, str) or not {tuple(map(type, span)) for span in spans} <= {(int, int, str)}:
        raise _refusal(place)
    entities = []
    for start, end, label in spans:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{place}: offsets {start} {end} lie outside the {len(text)} characters of text; correct them."
            )
        label = labels.keep(label, place, counts)
        if label is not None:
            entities.append(Entity(label, ((start, end),)))
    return text, entities


def _tagged(record: dict, names: list[str], place: str) -> list[Token]:
    tokens, tags = record.get("tokens"), record["ner_tags"]
    if not isinstance(tokens, list) or not isinstance(tags, list):
        raise _refusal(place)
    if not all(isinstance(token, str) and token.strip() for token in tokens):
        raise InputError(f"{place}: a token that is empty, or no text; correct the line.")
    if len(tokens) != len(tags):
        raise InputError(f"{place}: {len(tokens)} tokens but {len(tags)} tags; correct the line.")
    named: list[Token] = []
    for token, tag in zip(tokens, tags, strict=True):
        if not isinstance(tag, str) and (type(tag) is not int or not 0 <= tag < len(names)):
            raise InputError(
                f"{place}: the tag {tag!r} has no name; export names, or put the {INFO} that lists them beside the "
                "file."
            )
        named.append(Token(token, tag if isinstance(tag, str) else names[tag], place))
    return named


def _tag_names(info: Path) -> list[str]:
    """The names of ner_tags in the order of their numbers; none without the file."""
    if not info.is_file():
        return []
    content = json_of(info)
    try:
        feature = content["features"]["ner_tags"]
        inner = feature[0] if isinstance(feature, list) else feature["feature"]  # [ClassLabel] or Sequence(ClassLabel)
        return [str(name) for name in inner.get("names", [])]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise InputError(
            f"{info}: no names of ner_tags in it; export it again with `datasets`, or remove it."
        ) from None
