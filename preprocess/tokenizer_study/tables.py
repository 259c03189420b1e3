"""The tables of a study, made of study.json: their rows as text, and for each column what it means."""

from typing import NamedTuple

from preprocess.tokenizer_study.measure import ROOM


class Column(NamedTuple):
    """A column; `meaning` is a sentence for the legend, or nothing where the header says it."""

    header: str
    meaning: str = ""


class Cut(NamedTuple):
    """A cell that shows a text in pieces: each its text, and whether it is unknown."""

    pieces: list[tuple[str, bool]]


class Table(NamedTuple):
    """Rows of cells, one a column; the first cell names the row. `language` is that of the title."""

    title: str
    columns: list[Column]
    rows: list[list[str | Cut]]
    language: str = "en"


NAME = Column("tokenizer")
SIGNS = "▁ starts a word, whatever sign the tokenizer itself has; (?) is behind what it does not know"


def share(value: float, digits: int = 1) -> str:
    """0.1234 as 12.3 %."""
    return f"{100 * value:.{digits}f} %"


def text_table(study: dict) -> Table:
    """What becomes of the text: the main table, which is printed too."""
    columns = [
        NAME,
        Column(
            "held out",
            "whether the tokenizer was not trained on this text: yes or NO by the words of the documents of "
            "--trained-on, if all that it was trained on is there; else only by files",
        ),
        Column("tokens"),
        Column("fertility", "tokens for each word between white space (fewer is shorter input)"),
        Column("chars/token", "characters of the raw text, spaces included, for each token"),
        Column("whole words", "share of the words of two letters or more with all their letters in one token"),
        Column("unknown", "share of the tokens that stand for what the tokenizer has no piece for"),
        Column("unknown chars", "share of the characters that are lost so"),
        Column("lone ▁", "share of the tokens that are the sign of a word's start and nothing else"),
        Column("over 512", f"share of the documents of more than {ROOM} tokens, which 512 positions do not hold"),
    ]
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
    return Table("The text in tokens", columns, rows)


def _held_out(tokenizer: dict, seen: dict | None) -> str:
    if tokenizer["trained_on_text"] is None:
        return "not known"
    if tokenizer["trained_on_text"]:
        return "NO"
    if seen and tokenizer["trained_on_compared"]:
        return "NO" if seen["documents"] else "yes"
    return "other files"


def source_table(study: dict) -> Table:
    """Fertility for each source of the documents."""
    names = study["tokenizers"]
    columns = [Column("source", "what the documents say that they come from"), Column("words")]
    columns += [Column(name) for name in names]
    rows = [
        [source, f"{words:,}", *(f"{one['tokens_per_word_of_sources'][source]:.3f}" for one in names.values())]
        for source, words in study["text"]["words_of_sources"].items()
    ]
    return Table("Fertility by source", columns, rows)


def vocabulary_table(study: dict) -> Table:
    """What the vocabularies hold."""
    columns = [
        NAME,
        Column("model"),
        Column("vocabulary", "all ids: rows of a model's embedding"),
        Column("pieces", "of them, what is no special token and no id kept free"),
        Column("used", "share of the pieces that this text uses"),
        Column("twice by boundary", "pieces that are there inside a word and at its start: AliBERT's (MOT, ▁MOT)"),
        Column("twice by case", "pieces more than there would be if capitals were small letters"),
        Column("twice by accents", "pieces more than there would be without accents, which are words in French"),
    ]
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
    return Table("Vocabularies (twice: of pieces of two characters or more)", columns, rows)


def overlap_table(study: dict) -> Table:
    """How much two vocabularies share."""
    meaning = "pieces that both have, and in brackets their share of what either has (Jaccard), signs of words left out"
    names = list(study["tokenizers"])
    rows = [
        [name, *(f"{one['common']:,} ({one['jaccard']:.2f})" for one in row)]
        for name, row in zip(names, study["overlap"], strict=True)
    ]
    return Table("Pieces in common", [Column("tokenizer", meaning), *map(Column, names)], rows)


def speed_table(study: dict) -> Table:
    """How fast each is, and how much faster than the first."""
    columns = [
        NAME,
        Column("tokens/s"),
        Column("MB/s", "megabytes of raw text a second"),
        Column("ratio", "of MB/s to the first tokenizer's; unlike the others it says something on other machines"),
    ]
    rows = [
        [
            name,
            f"{one['tokens_per_second']:,.0f}",
            f"{one['megabytes_per_second']:.2f}",
            f"{one['speed_ratio']:.2f}",
        ]
        for name, one in study["tokenizers"].items()
    ]
    return Table("Speed on one thread", columns, rows)


def category_table(study: dict) -> Table:
    """Terms by category."""
    meaning = "mean pieces a term, and in brackets the share of the terms of which no word is cut"
    columns = [Column("category", meaning), Column("terms"), *map(Column, study["tokenizers"])]
    rows = [
        [category, f"{one['terms']:,}", *(f"{mean:.2f} ({share(whole, 0)})" for mean, whole in one["means"])]
        for category, one in study["categories"].items()
    ]
    return Table("Terms by category", columns, rows)


def term_table(study: dict) -> Table:
    """ouBioBERT's Table 1: what the most tokenizers have comes first."""
    columns = [Column("term", f"✓: no word of it is cut; else its pieces ({SIGNS})"), Column("category")]
    columns += map(Column, study["tokenizers"])
    cut = sorted(study["terms"], key=lambda term: -sum(one["whole"] for one in term["segmentations"]))
    rows = [
        [term["term"], term["category"], *("✓" if one["whole"] else _cut(one) for one in term["segmentations"])]
        for term in cut
    ]
    return Table("Terms", columns, rows)


def sentence_table(study: dict, sentence: dict) -> Table:
    """AliBERT's Figure 1: one sentence, a row for each tokenizer."""
    cut = zip(study["tokenizers"], sentence["segmentations"], strict=True)
    rows = [[name, str(len(one["pieces"])), _cut(one)] for name, one in cut]
    return Table(sentence["sentence"], [NAME, Column("tokens"), Column("pieces", SIGNS)], rows, "fr")


def _cut(one: dict) -> Cut:
    return Cut([(piece, number in one["unknown"]) for number, piece in enumerate(one["pieces"])])
