"""The report on a corpus, made of what corpus.json holds."""

import hashlib

from alibert_common.report.document import Block, Code, Section, Table
from preprocess.documents.document import Size
from preprocess.tokenizer_study.tables import share

MEGABYTE = 1_000_000
STAGES = {
    "read": "ingest",
    "cleaned": "clean",
    "unique": "deduplicate",
    "train": "mix: training",
    "valid": "mix: validation",
}


def page(found: dict) -> Section:
    """The whole report."""
    sections: dict[str, list[Block]] = {
        "Corpus": [table_1(found)],
        "Kept and dropped": [_kept(found), _rules(found)],
        "In tokens": [_splits(found)],
        "How it was made": _made(found),
    }
    return Section("The corpus", [Section(title, blocks) for title, blocks in sections.items()])


def table_1(found: dict) -> Table:
    """AliBERT's Table 1: training and validation text by source."""
    legend = {
        "source": "",
        "type": "",
        "licence": "",
        "documents": "those for training and for validation",
        "words": "parts between white space",
        "MB": "millions of bytes of UTF-8 text",
        "share": "of the bytes of all sources",
        "weight": "number of uses of each document in a training epoch",
        "share of training": "of the bytes that training reads in an epoch",
    }
    sizes = {name: Size(**one["train"]) + Size(**one["valid"]) for name, one in found["sources"].items()}
    used = {name: one["train"]["bytes"] * one["weight"] for name, one in found["sources"].items()}
    whole = sum(sizes.values(), Size())
    rows = [
        [name, one["type"], one["licence"], *_size(sizes[name]), _part(sizes[name].bytes, whole.bytes)]
        + [f"{one['weight']:.4g}", _part(used[name], sum(used.values()))]
        for name, one in found["sources"].items()
    ]
    rows.append(["all", "", "", *_size(whole), share(1.0), "", share(1.0)])
    return Table("Table 1", list(legend), rows, legend)


def _kept(found: dict) -> Table:
    sizes = {name: {stage: Size(**one[stage]) for stage in STAGES} for name, one in found["sources"].items()}
    sizes["all"] = {stage: sum((own[stage] for own in sizes.values()), Size()) for stage in STAGES}
    rows = [
        [name, title, *_size(own[stage]), _part(own[stage].bytes, own["read"].bytes)]
        for name, own in sizes.items()
        for stage, title in STAGES.items()
    ]
    head = ["source", "after", "documents", "words", "MB", "kept"]
    return Table("By stage", head, rows, {"kept": "share of the bytes that were read"})


def _rules(found: dict) -> Table:
    rows = [[one["stage"], one["source"] or "all", one["rule"], f"{one['count']:,}"] for one in found["rules"]]
    return Table("By rule", ["stage", "source", "dropped, changed or noted", "times"], rows)


def _splits(found: dict) -> Table:
    counts = ("documents", "lines", "tokens", "unknowns")
    rows = [
        [name, split["source"] or "all", *(f"{split[count]:,}" for count in counts)]
        for name, split in found["splits"].items()
    ]
    legend = {"split": "its name in the data-bin", "tokens": "subwords, without the ends of lines"}
    return Table("The data-bin", ["split", "source", "documents", "lines", "tokens", "unknown"], rows, legend)


def _made(found: dict) -> list[Block]:
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    inputs = [
        [name, f"{len(one['inputs']):,}", f"{sum(file['bytes'] for file in one['inputs']):,}", _hash_of(one["inputs"])]
        for name, one in found["sources"].items()
    ]
    outputs = [[file["path"], f"{file['bytes']:,}", file["sha256"]] for file in found["outputs"]]
    legend = {"SHA-256": "that of the list of the files' SHA-256, which is in corpus.json"}
    return [
        f"{versions}.",
        f"SHA-256 of the settings: {found['settings_sha256']}.",
        f"Versions of the stages: {', '.join(f'{stage} {one}' for stage, one in found['stage_versions'].items())}.",
        Table("Inputs", ["source", "files", "bytes", "SHA-256"], inputs, legend),
        Table("Outputs", ["file", "bytes", "SHA-256"], outputs),
        "The commands:",
        Code(found["commands"]),
    ]


def _hash_of(files: list[dict]) -> str:
    return hashlib.sha256("".join(file["sha256"] + "\n" for file in files).encode()).hexdigest()


def _size(size: Size) -> list[str]:
    return [f"{size.documents:,}", f"{size.words:,}", f"{size.bytes / MEGABYTE:,.1f}"]


def _part(one: float, whole: float) -> str:
    return share(one / whole) if whole else ""
