"""The report of a finished corpus: AliBERT's Table 1, what was dropped, and how to make it again."""

import hashlib
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from alibert_common.files import read_json
from alibert_common.input_log import InputLog
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import MANIFEST, Stage, digest_of, identity, stage_version
from alibert_common.report import markdown
from preprocess.documents.document import Size
from preprocess.documents.stage_report import Report, total
from preprocess.mixing.mix_file import split_name
from preprocess.pipeline.config import CorpusFile
from preprocess.pipeline.steps import Step
from preprocess.pipeline.tables import page, table_1
from preprocess.tokenizer_study.report import write_pages

NAME = "report"
VERSION = 4  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("corpus", VERSION)


def write_report(file: CorpusFile, output: Path, steps: list[Step]) -> str:
    """Write corpus.json, corpus.md and corpus.html to `output`/report and return Table 1 for a terminal.

    An up-to-date report is left as it is. Reads every file of the data-bin once, for its hash.
    """
    key = {"settings": file.content, "inputs": identity(step.output for step in steps)}
    with resumable_directory(output / NAME, STAGE, key) as work:
        if work is not None:
            content = gather(file, steps)
            write_pages(work.directory, "corpus", content, page(content))
    return markdown.plain(table_1(read_json(output / NAME / "corpus.json")))


def gather(file: CorpusFile, steps: list[Step]) -> dict:
    """The content of corpus.json, from the manifests of the stages."""
    manifests = {(step.stage, step.source): read_json(step.output / MANIFEST) for step in steps}
    unique, mixed = manifests["deduplicate", ""], manifests["mix", ""]["corpora"]
    kept = Report.from_json(unique).kept
    sources, rules = {}, []
    for source in file.sources:
        read, cleaned = manifests["ingest", source.name], manifests["clean", source.name]
        rules += _rules("ingest", source.name, read) + _rules("clean", source.name, cleaned)
        rules += _rules("pseudonymise", source.name, manifests.get(("pseudonymise", source.name), {}))
        sides = {side: mixed.get(source.name, {}).get(side, asdict(Size())) for side in ("train", "valid")}
        sources[source.name] = {
            "type": source.type,
            "licence": read["settings"].get("licence", ""),
            "inputs": _inputs(read),
            "read": asdict(total(Report.from_json(read).kept)),
            "cleaned": asdict(total(Report.from_json(cleaned).kept)),
            "unique": asdict(kept.get(source.name, Size())),
            **sides,
            "weight": mixed.get(source.name, {}).get("weight", 0.0),
        }
    splits = manifests["binarize", ""]["splits"]
    trained = [name for name, corpus in mixed.items() if corpus["train"]["documents"]]
    names = {split_name(number): name for number, name in enumerate(trained)}
    return {
        "sources": sources,
        "rules": rules + _rules("deduplicate", "", unique),
        "splits": {
            name: {"source": names.get(name, "")} | {key: value for key, value in split.items() if key != "inputs"}
            for name, split in splits.items()
        },
        "settings": file.content,
        "settings_sha256": digest_of(file.content),
        "commands": [str(step) for step in steps],
        "versions": {
            name: version for manifest in manifests.values() for name, version in manifest["versions"].items()
        },
        "stage_versions": {stage: stage_version(manifest) for (stage, _), manifest in manifests.items()},
        "outputs": _hashes([step.output for step in steps if step.stage in ("train_tokenizer", "binarize")]),
    }


def _inputs(read: dict) -> dict:
    """How much a source reads, without names of files: these may name patients, and reports are passed on."""
    files = read["inputs"]
    digest = hashlib.sha256("".join(file["sha256"] + "\n" for file in files).encode()).hexdigest() if files else ""
    rows = read.get("database", {}).get("rows", 0)
    return {"files": len(files), "rows": rows, "bytes": sum(file["bytes"] for file in files), "sha256": digest}


def _rules(stage: str, source: str, manifest: dict) -> list[dict]:
    """What the rules did; a rule without effect is left out."""
    return [
        {"stage": stage, "source": source, "rule": rule, "count": count}
        for rule, count in (manifest.get("noted", {}) | manifest.get("dropped", {})).items()
        if count
    ]


def _hashes(outputs: list[Path]) -> list[dict]:
    """`{"path", "bytes", "sha256"}` of every file."""
    log, files = InputLog(), sorted(file for output in outputs for file in output.rglob("*") if file.is_file())
    size = sum(file.stat().st_size for file in files)
    with tqdm(total=size, unit="B", unit_scale=True, desc="hashing outputs", mininterval=1) as bar:
        for path in files:
            with log.open(path) as handle:
                while part := handle.read(1 << 24):
                    bar.update(len(part))
    return log.manifest()
