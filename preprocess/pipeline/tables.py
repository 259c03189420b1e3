"""The report on a corpus, made of what corpus.json holds."""

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


def page(content: dict) -> Section:
    """The whole report."""
    sections: dict[str, list[Block]] = {
        "Corpus": [table_1(content)],
        "Kept and dropped": [_kept(content), _rules(content)],
        "In tokens": [_splits(content)],
        "How it was made": _made(content),
    }
    return Section("The corpus", [Section(title, blocks) for title, blocks in sections.items()])


def table_1(content: dict) -> Table:
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
    sources = content["sources"]
    sizes = {name: Size(**source["train"]) + Size(**source["valid"]) for name, source in sources.items()}
    used = {name: source["train"]["bytes"] * source["weight"] for name, source in sources.items()}
    whole = sum(sizes.values(), Size())
    rows = [
        [name, source["type"], source["licence"], *_size(sizes[name]), _part(sizes[name].bytes, whole.bytes)]
        + [f"{source['weight']:.4g}", _part(used[name], sum(used.values()))]
        for name, source in sources.items()
    ]
    rows.append(["all", "", "", *_size(whole), share(1.0), "", share(1.0)])
    return Table("Table 1", list(legend), rows, legend)


def _kept(content: dict) -> Table:
    sources = content["sources"].items()
    sizes = {name: {stage: Size(**source[stage]) for stage in STAGES} for name, source in sources}
    sizes["all"] = {stage: sum((own[stage] for own in sizes.values()), Size()) for stage in STAGES}
    rows = [
        [name, title, *_size(own[stage]), _part(own[stage].bytes, own["read"].bytes)]
        for name, own in sizes.items()
        for stage, title in STAGES.items()
    ]
    head = ["source", "after", "documents", "words", "MB", "kept"]
    return Table("By stage", head, rows, {"kept": "share of the bytes that were read"})


def _rules(content: dict) -> Table:
    rows = [[rule["stage"], rule["source"] or "all", rule["rule"], f"{rule['count']:,}"] for rule in content["rules"]]
    return Table("By rule", ["stage", "source", "dropped, changed or noted", "times"], rows)


def _splits(content: dict) -> Table:
    counts = ("documents", "lines", "tokens", "unknowns")
    rows = [
        [name, split["source"] or "all", *(f"{split[count]:,}" for count in counts)]
        for name, split in content["splits"].items()
    ]
    legend = {"split": "its name in the data-bin", "tokens": "subwords, without the ends of lines"}
    return Table("The data-bin", ["split", "source", "documents", "lines", "tokens", "unknown"], rows, legend)


def _made(content: dict) -> list[Block]:
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    stages = ", ".join(f"{stage} {version}" for stage, version in content["stage_versions"].items())
    inputs = [
        [name, *(f"{source['inputs'][size]:,}" for size in ("files", "rows", "bytes")), source["inputs"]["sha256"]]
        for name, source in content["sources"].items()
    ]
    outputs = [[file["path"], f"{file['bytes']:,}", file["sha256"]] for file in content["outputs"]]
    legend = {
        "rows": "of a database",
        "SHA-256": "that of the list of the files' SHA-256, which is in documents/SOURCE/manifest.json",
    }
    return [
        f"{versions}.",
        f"SHA-256 of the settings: {content['settings_sha256']}.",
        f"Versions of the stages: {stages}.",
        Table("Inputs", ["source", "files", "rows", "bytes", "SHA-256"], inputs, legend),
        Table("Outputs", ["file", "bytes", "SHA-256"], outputs),
        "The commands:",
        Code(content["commands"]),
    ]


def _size(size: Size) -> list[str]:
    return [f"{size.documents:,}", f"{size.words:,}", f"{size.bytes / MEGABYTE:,.1f}"]


def _part(part: float, whole: float) -> str:
    return share(part / whole) if whole else ""
