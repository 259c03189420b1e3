"""A study in the order in which it is read, whatever form the report has."""

from typing import NamedTuple

from preprocess.tokenizer_study.tables import (
    Table,
    category_table,
    overlap_table,
    sentence_table,
    source_table,
    speed_table,
    term_table,
    text_table,
    vocabulary_table,
)


class Picture(NamedTuple):
    """A file beside the report; `text` says what it shows to who cannot see it."""

    file: str
    text: str


class Section(NamedTuple):
    """A heading, sentences, tables and pictures."""

    title: str
    sentences: list[str]
    tables: list[Table]
    pictures: list[Picture]


def warnings(study: dict) -> list[str]:
    """What a reader must know before believing a figure."""
    path, seen = study["text"]["path"], study["text"].get("seen_in_training")
    better = "figures here are better than on text not seen; set documents apart with `python -m preprocess.mix`."
    trained = [name for name, one in study["tokenizers"].items() if one["trained_on_text"]]
    found = [f"{name} was trained on {path}: its {better}" for name in trained]
    if seen and seen["documents"]:
        found.append(f"{seen['documents']:,} documents of {path} are in {', '.join(seen['paths'])} too: {better}")
    return found


def sections(study: dict) -> list[Section]:
    """The whole report; what was not asked for is left out."""
    found = [_of_text(study), _of_vocabularies(study), Section("Speed", [], [speed_table(study)], [])]
    if study["terms"]:
        found.append(_of_terms(study))
    if study["sentences"]:
        tables = [sentence_table(study, sentence) for sentence in study["sentences"]]
        found.append(Section("Sentences in pieces", [], tables, []))
    return [*found, _made(study)]


def _of_text(study: dict) -> Section:
    text = study["text"]
    size = ", ".join(f"{text[name]:,} {name}" for name in ("documents", "lines", "words", "characters"))
    tables = [text_table(study)]
    if len(text["words_of_sources"]) > 1:
        tables.append(source_table(study))
    seen = f"Fertility and whole words of {_names(study)}: the figures of the table above, one mark a tokenizer."
    sentences = [f"{text['path']}: {size}.", *_seen(text), *(f"Warning: {one}" for one in warnings(study))]
    return Section("Text", sentences, tables, [Picture("fertility.png", seen)])


def _seen(text: dict) -> list[str]:
    """How much of the text the training text has too; documents set apart have phrases in common with others."""
    if not (seen := text.get("seen_in_training")):
        return []
    parts = [f"{seen[name]:,} of the {text[name]:,} {name}" for name in ("documents", "lines")]
    return [f"In the training text ({', '.join(seen['paths'])}) too, word by word: {' and '.join(parts)}."]


def _of_vocabularies(study: dict) -> Section:
    seen = f"Share of pieces in common of {_names(study)}: the figures in brackets of the table above, darker is more."
    return Section("Vocabularies", [], [vocabulary_table(study), overlap_table(study)], [Picture("overlap.png", seen)])


def _of_terms(study: dict) -> Section:
    seen = f"Pieces a term, by category, of {_names(study)}: the figures of the first table of this section."
    return Section("Medical terms", [], [category_table(study), term_table(study)], [Picture("terms.png", seen)])


def _made(study: dict) -> Section:
    versions = ", ".join(f"{name} {version}" for name, version in study["versions"].items())
    files = [*study["text"]["inputs"], *study["settings"]["inputs"]]
    sentences = [
        f"By `python -m preprocess.compare_tokenizers`, {versions}; study.json holds all figures unrounded.",
        "SHA-256 of the files: " + "; ".join(f"{file['path']} {file['sha256']}" for file in files) + ".",
        "SHA-256 of tokenizer.json: "
        + "; ".join(f"{one['path']} {one['sha256']}" for one in study["tokenizers"].values())
        + ".",
    ]
    return Section("How it was made", sentences, [], [])


def _names(study: dict) -> str:
    return ", ".join(study["tokenizers"])
