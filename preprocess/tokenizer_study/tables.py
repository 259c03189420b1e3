"""The tables of a study, made of what study.json holds."""

from collections.abc import Iterable

from alibert_common.report.document import Pieces, Table
from preprocess.tokenizer_study.measure import ROOM

NAME = "tokenizer"
SIGNS = "▁ marks the start of a word, whatever sign the tokenizer uses; (?) follows a piece that it does not know"


def share(value: float, digits: int = 1) -> str:
    """0.1234 as 12.3 %."""
    return f"{100 * value:.{digits}f} %"


def text(study: dict) -> Table:
    """The tokens of the text: the main table, which the command prints too."""
    legend = {
        NAME: "",
        "held out": "yes: this text is not in the tokenizer's training text; NO: it is. The documents are compared "
        "with those of --trained-on; otherwise only the files are compared",
        "tokens": "",
        "fertility": "tokens per word between white space; lower means shorter input",
        "chars/token": "characters of the raw text, spaces included, per token",
        "whole words": "share of the words of two or more letters that are inside one token",
        "unknown": "share of the tokens that are the unknown token",
        "unknown chars": "share of the characters that the unknown token replaces",
        "lone ▁": "share of the tokens that are only the sign of a word's start",
        "over 512": f"share of the documents of more than {ROOM} tokens, too long for a model of 512 positions",
    }
    rows = [
        [
            name,
            _held_out(one, study["text"].get("seen_in_training")),
            f"{one['tokens']:,}",
            f"{one['tokens_per_word']:.3f}",
            f"{one['characters_per_token']:.2f}",
            share(one["whole_word_share"]),
            share(one["unknown_share"], 3),
            share(one["unknown_character_share"], 3),
            share(one["lone_boundary_share"], 2),
            share(one["too_long_document_share"]),
        ]
        for name, one in study["tokenizers"].items()
    ]
    return Table("The text in tokens", list(legend), rows, legend)


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
    names = study["tokenizers"]
    rows = [
        [source, f"{words:,}", *(f"{one['tokens_per_word_of_sources'][source]:.3f}" for one in names.values())]
        for source, words in study["text"]["words_of_sources"].items()
    ]
    return Table("Fertility by source", ["source", "words", *names], rows, {"source": "the source of the documents"})


def vocabularies(study: dict) -> Table:
    """The content of the vocabularies."""
    legend = {
        NAME: "",
        "model": "",
        "vocabulary": "all ids, the rows of a model's embedding",
        "pieces": "the ids without special tokens and reserved ids",
        "used": "share of the pieces that this text uses",
        "twice by boundary": "extra pieces that differ only by the start of a word: AliBERT's (MOT, ▁MOT)",
        "twice by case": "extra pieces that differ only by case",
        "twice by accents": "extra pieces that differ only by accents; in French these can be other words",
    }
    rows = [
        [
            name,
            one["model"],
            f"{one['vocabulary']:,}",
            f"{one['pieces']:,}",
            share(one["pieces_used"] / one["pieces"]),
            *(f"{one[f'twice_by_{difference}']:,}" for difference in ("boundary", "case", "accents")),
        ]
        for name, one in study["tokenizers"].items()
    ]
    return Table("Vocabularies (twice: pieces of two or more characters)", list(legend), rows, legend)


def overlap(study: dict) -> Table:
    """Pieces that two vocabularies have in common."""
    meaning = "pieces that both have; in brackets their share of all pieces of the two (Jaccard), without ▁"
    names = list(study["tokenizers"])
    rows = [
        [name, *(f"{one['common']:,} ({one['jaccard']:.2f})" for one in row)]
        for name, row in zip(names, study["overlap"], strict=True)
    ]
    return Table("Pieces in common", [NAME, *names], rows, {NAME: meaning})


def speed(study: dict) -> Table:
    """Tokens and megabytes per second, and the ratio to the first tokenizer."""
    legend = {
        NAME: "",
        "tokens/s": "",
        "MB/s": "megabytes of raw text per second",
        "ratio": "MB/s divided by that of the first tokenizer; it depends less on the machine",
    }
    rows = [
        [name, f"{one['tokens_per_second']:,.0f}", f"{one['megabytes_per_second']:.2f}", f"{one['speed_ratio']:.2f}"]
        for name, one in study["tokenizers"].items()
    ]
    return Table("Speed on one thread", list(legend), rows, legend)


def categories(study: dict) -> Table:
    """Terms by category."""
    meaning = "mean pieces per term; in brackets the share of the terms without a split word"
    rows = [
        [category, f"{one['terms']:,}", *(f"{mean:.2f} ({share(whole, 0)})" for mean, whole in one["means"])]
        for category, one in study["categories"].items()
    ]
    return Table("Terms by category", ["category", "terms", *study["tokenizers"]], rows, {"category": meaning})


def terms(study: dict) -> Table:
    """ouBioBERT's Table 1; terms that most tokenizers do not split come first."""
    ordered = sorted(study["terms"], key=lambda term: -sum(one["whole"] for one in term["segmentations"]))
    rows = [
        [term["term"], term["category"], *("✓" if one["whole"] else _pieces(one) for one in term["segmentations"])]
        for term in ordered
    ]
    legend = {"term": f"✓: none of its words is split; otherwise its pieces. {SIGNS}"}
    return Table("Terms", ["term", "category", *study["tokenizers"]], rows, legend)


def sentence(study: dict, one: dict) -> Table:
    """AliBERT's Figure 1: one sentence, a row per tokenizer."""
    cut = zip(study["tokenizers"], one["segmentations"], strict=True)
    rows = [[name, str(len(pieces["pieces"])), _pieces(pieces)] for name, pieces in cut]
    return Table(one["sentence"], [NAME, "tokens", "pieces"], rows, language="fr")


def _pieces(one: dict) -> Pieces:
    return Pieces([(piece, number in one["unknown"]) for number, piece in enumerate(one["pieces"])])


def files(caption: str, entries: Iterable[dict]) -> Table:
    """The paths and SHA-256 of files."""
    return Table(caption, ["file", "SHA-256"], [[one["path"], one["sha256"]] for one in entries])
