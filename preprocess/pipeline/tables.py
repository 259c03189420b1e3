"""The report on a corpus as tables."""

import hashlib

from preprocess.documents.document import Size
from preprocess.tokenizer_study.markdown import markdown
from preprocess.tokenizer_study.report import Section
from preprocess.tokenizer_study.tables import Column, Table, share

MEGABYTE = 1_000_000
STAGES = {
    "read": "ingest",
    "cleaned": "clean",
    "unique": "deduplicate",
    "train": "mix: training",
    "valid": "mix: validation",
}


def page(found: dict) -> str:
    """corpus.md, of what corpus.json holds."""
    sections = [
        Section("Corpus", [], [table_1(found)], []),
        Section("Kept and dropped", [], [_kept(found), _rules(found)], []),
        Section("In tokens", [], [_splits(found)], []),
        _made(found),
    ]
    return markdown("The corpus", sections) + "\n".join(["```", *found["commands"], "```", ""])


def table_1(found: dict) -> Table:
    """As Table 1 of AliBERT: what the model is trained on and validated with, by source."""
    columns = [
        Column("source"),
        Column("type"),
        Column("licence"),
        Column("documents", "what the model is trained on, and what is set apart for validation"),
        Column("words", "what white space separates"),
        Column("MB", "millions of bytes of UTF-8 text"),
        Column("share", "of the bytes"),
        Column("weight", "how often training uses each document in an epoch"),
        Column("share of training", "of the bytes that training reads in an epoch"),
    ]
    sizes = {name: Size(**one["train"]) + Size(**one["valid"]) for name, one in found["sources"].items()}
    used = {name: one["train"]["bytes"] * one["weight"] for name, one in found["sources"].items()}
    whole = sum(sizes.values(), Size())
    rows = [
        [name, one["type"], one["licence"], *_size(sizes[name]), _part(sizes[name].bytes, whole.bytes)]
        + [f"{one['weight']:.4g}", _part(used[name], sum(used.values()))]
        for name, one in found["sources"].items()
    ]
    return Table("Table 1", columns, [*rows, ["all", "", "", *_size(whole), share(1.0), "", share(1.0)]])


def _kept(found: dict) -> Table:
    columns = [
        Column("source"),
        Column("after"),
        Column("documents"),
        Column("words"),
        Column("MB"),
        Column("kept", "of the bytes that were read"),
    ]
    sizes = {name: {stage: Size(**one[stage]) for stage in STAGES} for name, one in found["sources"].items()}
    sizes["all"] = {stage: sum((own[stage] for own in sizes.values()), Size()) for stage in STAGES}
    rows = [
        [name, title, *_size(own[stage]), _part(own[stage].bytes, own["read"].bytes)]
        for name, own in sizes.items()
        for stage, title in STAGES.items()
    ]
    return Table("By stage", columns, rows)


def _rules(found: dict) -> Table:
    columns = [Column("stage"), Column("source"), Column("dropped, changed or noted"), Column("times")]
    rows = [[one["stage"], one["source"] or "all", one["rule"], f"{one['count']:,}"] for one in found["rules"]]
    return Table("By rule", columns, rows)


def _splits(found: dict) -> Table:
    columns = [
        Column("split", "as in the data-bin"),
        Column("source"),
        Column("documents"),
        Column("lines"),
        Column("tokens", "pieces of the tokenizer, the ends of lines not among them"),
        Column("unknown"),
    ]
    counts = ("documents", "lines", "tokens", "unknowns")
    rows = [
        [name, split["source"] or "all", *(f"{split[count]:,}" for count in counts)]
        for name, split in found["splits"].items()
    ]
    return Table("The data-bin", columns, rows)


def _made(found: dict) -> Section:
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    inputs = [
        [name, f"{len(files):,}", f"{sum(file['bytes'] for file in files):,}", _hash_of(files)]
        for name, files in ((name, one["inputs"]) for name, one in found["sources"].items())
    ]
    outputs = [[file["path"], f"{file['bytes']:,}", file["sha256"]] for file in found["outputs"]]
    sha = Column("SHA-256", "of several files: of the list of theirs, which is in corpus.json")
    sentences = [
        f"{versions}.",
        f"SHA-256 of the settings: {found['settings_sha256']}.",
        f"Versions of the stages: {', '.join(f'{stage} {one}' for stage, one in found['stage_versions'].items())}.",
        "The commands are at the end.",
    ]
    tables = [
        Table("Inputs", [Column("source"), Column("files"), Column("bytes"), sha], inputs),
        Table("Outputs", [Column("file"), Column("bytes"), Column("SHA-256")], outputs),
    ]
    return Section("How it was made", sentences, tables, [])


def _hash_of(files: list[dict]) -> str:
    return hashlib.sha256("".join(file["sha256"] + "\n" for file in files).encode()).hexdigest()


def _size(size: Size) -> list[str]:
    return [f"{size.documents:,}", f"{size.words:,}", f"{size.bytes / MEGABYTE:,.1f}"]


def _part(one: float, whole: float) -> str:
    return share(one / whole) if whole else ""
