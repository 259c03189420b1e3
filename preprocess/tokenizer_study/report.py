"""The report of a study, made of what study.json holds."""

from collections.abc import Mapping
from pathlib import Path

from alibert_common.files import write_json, write_text
from alibert_common.report import html, markdown
from alibert_common.report.document import Block, Picture, Section
from preprocess.tokenizer_study import tables


def write_pages(directory: Path, name: str, content: dict, page: Section) -> None:
    """Write `content` as `name`.json, and the page as `name`.md and `name`.html."""
    write_json(directory / f"{name}.json", content)
    for ending, text in (("md", markdown.render(page)), ("html", html.render(page))):
        write_text(directory / f"{name}.{ending}", text)


def warnings(study: dict) -> list[str]:
    """What a reader must know before trusting a value."""
    path, seen = study["text"]["path"], study["text"].get("seen_in_training")
    better = (
        "its values are better here than on unseen text. Hold documents out with `python -m preprocess.mix` instead."
    )
    trained = [name for name, tokenizer in study["tokenizers"].items() if tokenizer["trained_on_text"]]
    sentences = [f"{name} was trained on {path}: {better}" for name in trained]
    if seen and seen["documents"]:
        sentences.append(f"{seen['documents']:,} documents of {path} are also in {', '.join(seen['paths'])}: {better}")
    return sentences


def report(study: dict, pictures: Mapping[str, bytes] | None = None) -> Section:
    """The whole report. pictures: PNG files by name, of `pictures.draw`."""
    shown = pictures or {}
    sections = [
        Section("Text", [*_text(study), *_picture(study, shown, "fertility.png", "Fertility and whole words")]),
        Section(
            "Vocabularies",
            [tables.vocabularies(study), tables.overlap(study)]
            + _picture(study, shown, "overlap.png", "Share of pieces in common (darker is more)"),
        ),
        Section("Speed", [tables.speed(study)]),
    ]
    if study["terms"]:
        drawn = _picture(study, shown, "terms.png", "Pieces per term, by category")
        sections.append(Section("Medical terms", [tables.categories(study), tables.terms(study), *drawn]))
    if study["sentences"]:
        cut = [tables.sentence(study, sentence) for sentence in study["sentences"]]
        sections.append(Section("Sentences in pieces", [f"{tables.SIGNS}.", *cut]))
    return Section("Tokenizer study", [*sections, Section("How it was made", _made(study))])


def _text(study: dict) -> list[Block]:
    text = study["text"]
    size = ", ".join(f"{text[name]:,} {name}" for name in ("documents", "lines", "words", "characters"))
    blocks: list[Block] = [f"{text['path']}: {size}."]
    if (whole := text["whole"])["documents"] > text["documents"]:
        of = f"{whole['documents']:,} documents of {whole['bytes'] / 1e6:,.0f} MB"
        blocks.append(f"These documents are drawn at random from {of}, and all values of this section are theirs.")
    if seen := text.get("seen_in_training"):  # held-out documents share phrases with others
        parts = [f"{seen[name]:,} of the {text[name]:,} {name}" for name in ("documents", "lines")]
        where = ", ".join(seen["paths"])
        blocks.append(f"The training text ({where}) also contains, word for word: {' and '.join(parts)}.")
    blocks += [f"Warning: {warning}" for warning in warnings(study)]
    return [*blocks, tables.text(study), *([tables.sources(study)] if len(text["words_of_sources"]) > 1 else [])]


def _picture(study: dict, pictures: Mapping[str, bytes], file: str, title: str) -> list[Block]:
    caption = f"{title} of {', '.join(study['tokenizers'])}. The values are in a table of this section."
    return [Picture(pictures[file], caption, caption, file)] if file in pictures else []


def _made(study: dict) -> list[Block]:
    versions = ", ".join(f"{name} {version}" for name, version in study["versions"].items())
    return [
        f"Made by `python -m preprocess.compare_tokenizers` with {versions}. study.json holds all values unrounded.",
        tables.files("Input files", [*study["text"]["inputs"], *study["settings"]["inputs"]]),
        tables.files("Tokenizers (tokenizer.json)", study["tokenizers"].values()),
    ]
