"""The tables of a study, made of what study.json holds."""

from collections.abc import Iterable, Mapping

from alibert_common.report.document import Pieces, Table
from preprocess.tokenizer_study.measure import ROOM

NAME = "tokenizer"
SIGNS = "▁ marks the start of a word, whatever sign the tokenizer uses; (?) follows a piece that it does not know"
# Columns of the text, of the vocabularies and of the speed: {header: (a figure of study.json and its form, meaning)}.
TEXT = {
    "held out": ("{held_out}",
                 "yes: this text is not in the tokenizer's training text; NO: it is. The documents are compared with "
                 "those of --trained-on; otherwise only the files are compared"),
    "tokens": ("{tokens:,}", ""),
    "fertility": ("{tokens_per_word:.3f}", "tokens per word between white space; lower means shorter input"),
    "chars/token": ("{characters_per_token:.2f}", "characters of the raw text, spaces included, per token"),
    "whole words": ("{whole_word_share:.1%}", "share of the words of two or more letters that are inside one token"),
    "unknown": ("{unknown_share:.3%}", "share of the tokens that are the unknown token"),
    "unknown chars": ("{unknown_character_share:.3%}", "share of the characters that the unknown token replaces"),
    "lone ▁": ("{lone_boundary_share:.2%}", "share of the tokens that are only the sign of a word's start"),
    "over 512": ("{too_long_document_share:.1%}",
                 f"share of the documents of more than {ROOM} tokens, too long for a model of 512 positions"),
}  # fmt: skip
VOCABULARIES = {
    "model": ("{model}", ""),
    "vocabulary": ("{vocabulary:,}", "all ids, the rows of a model's embedding"),
    "pieces": ("{pieces:,}", "the ids without special tokens and reserved ids"),
    "used": ("{used:.1%}", "share of the pieces that this text uses"),
    "twice by boundary": ("{twice_by_boundary:,}",
                          "extra pieces that differ only by the start of a word: AliBERT's (MOT, ▁MOT)"),
    "twice by case": ("{twice_by_case:,}", "extra pieces that differ only by case"),
    "twice by accents": ("{twice_by_accents:,}",
                         "extra pieces that differ only by accents; in French these can be other words"),
}  # fmt: skip
SPEED = {
    "tokens/s": ("{tokens_per_second:,.0f}", ""),
    "MB/s": ("{megabytes_per_second:.2f}", "megabytes of raw text per second"),
    "ratio": ("{speed_ratio:.2f}", "MB/s divided by that of the first tokenizer; it depends less on the machine"),
}


def share(value: float, digits: int = 1) -> str:
    """0.1234 as 12.3 %."""
    return f"{100 * value:.{digits}f} %"


def _by_tokenizer(caption: str, figures: Mapping[str, dict], columns: Mapping[str, tuple[str, str]]) -> Table:
    """A row per tokenizer, by its name."""
    rows = [
        [name, *(form.format(**own).replace("%", " %") for form, _ in columns.values())]
        for name, own in figures.items()
    ]
    legend = {NAME: ""} | {header: meaning for header, (_, meaning) in columns.items()}
    return Table(caption, list(legend), rows, legend)


def text(study: dict) -> Table:
    """The tokens of the text: the main table, which the command prints too."""
    seen = study["text"].get("seen_in_training")
    figures = {name: own | {"held_out": _held_out(own, seen)} for name, own in study["tokenizers"].items()}
    return _by_tokenizer("The text in tokens", figures, TEXT)


def _held_out(tokenizer: dict, seen: dict | None) -> str:
    if tokenizer["trained_on_text"] is None:
        return "not known"
    if tokenizer["trained_on_text"]:
        return "NO"
    if seen and tokenizer["trained_on_compared"]:
        return "NO" if seen["documents"] else "yes"
    return "other files"


def sources(study: dict) -> Table:
    """Fertility by source of the documents."""
    tokenizers = study["tokenizers"]
    rows = []
    for source, words in study["text"]["words_of_sources"].items():
        fertilities = [figures["tokens_per_word_of_sources"][source] for figures in tokenizers.values()]
        rows.append([source, f"{words:,}", *map("{:.3f}".format, fertilities)])
    legend = {"source": "the source of the documents"}
    return Table("Fertility by source", ["source", "words", *tokenizers], rows, legend)


def vocabularies(study: dict) -> Table:
    """The content of the vocabularies."""
    figures = {name: own | {"used": own["pieces_used"] / own["pieces"]} for name, own in study["tokenizers"].items()}
    return _by_tokenizer("Vocabularies (twice: pieces of two or more characters)", figures, VOCABULARIES)


def overlap(study: dict) -> Table:
    """Pieces that two vocabularies have in common."""
    meaning = "pieces that both have; in brackets their share of all pieces of the two (Jaccard), without ▁"
    names = list(study["tokenizers"])
    rows = [
        [name, *(f"{pair['common']:,} ({pair['jaccard']:.2f})" for pair in row)]
        for name, row in zip(names, study["overlap"], strict=True)
    ]
    return Table("Pieces in common", [NAME, *names], rows, {NAME: meaning})


def speed(study: dict) -> Table:
    """Tokens and megabytes per second, and the ratio to the first tokenizer."""
    return _by_tokenizer("Speed on one thread", study["tokenizers"], SPEED)


def categories(study: dict) -> Table:
    """Terms by category."""
    meaning = "mean pieces per term; in brackets the share of the terms without a split word"
    rows = [
        [category, f"{row['terms']:,}", *(f"{mean:.2f} ({share(whole, 0)})" for mean, whole in row["means"])]
        for category, row in study["categories"].items()
    ]
    return Table("Terms by category", ["category", "terms", *study["tokenizers"]], rows, {"category": meaning})


def terms(study: dict) -> Table:
    """ouBioBERT's Table 1; terms that most tokenizers do not split come first."""
    ordered = sorted(study["terms"], key=lambda term: -sum(cut["whole"] for cut in term["segmentations"]))
    rows = [
        [term["term"], term["category"], *("✓" if cut["whole"] else _pieces(cut) for cut in term["segmentations"])]
        for term in ordered
    ]
    legend = {"term": f"✓: none of its words is split; otherwise its pieces. {SIGNS}"}
    return Table("Terms", ["term", "category", *study["tokenizers"]], rows, legend)


def sentence(study: dict, sentence: dict) -> Table:
    """AliBERT's Figure 1: one sentence, a row per tokenizer."""
    cuts = zip(study["tokenizers"], sentence["segmentations"], strict=True)
    rows = [[name, str(len(cut["pieces"])), _pieces(cut)] for name, cut in cuts]
    return Table(sentence["sentence"], [NAME, "tokens", "pieces"], rows, language="fr")


def _pieces(cut: dict) -> Pieces:
    return Pieces([(piece, number in cut["unknown"]) for number, piece in enumerate(cut["pieces"])])


def files(caption: str, entries: Iterable[dict]) -> Table:
    """The paths and SHA-256 of files."""
    return Table(caption, ["file", "SHA-256"], [[file["path"], file["sha256"]] for file in entries])
