"""What became of a hostile file: a document, a row of skipped.tsv or a count in the manifest; else it is a fault."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hostile.given import FORBIDDEN

from alibert_common.errors import readable
from alibert_common.provenance import MANIFEST, read_manifest
from preprocess.documents.document import SHARD_SUFFIX, Document, read_documents

LONGEST = 60  # characters of a reason in the table


@dataclass
class Outcome:
    """One output of ingest: how many files became what, the reasons of its rows, and faults."""

    files: int = 0
    read: int = 0
    refused: int = 0
    counted: int = 0  # as empty, as a pipe, as a link to what is read without it
    reasons: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def files_below(folder: Path) -> list[Path]:
    """All hostile files, links and pipes among them; a link to a folder is none."""
    return sorted(path for path in folder.rglob("*") if path.is_symlink() and not path.is_dir() or not path.is_dir())


def documents_of(output: Path) -> list[Document]:
    """All documents of an output; none where it has no shard."""
    return [*read_documents([output])] if any(output.glob(f"*{SHARD_SUFFIX}")) else []


def rows_of(output: Path) -> list[dict[str, str]]:
    """The rows of skipped.tsv; none where there is no such file."""
    if not (output / "skipped.tsv").exists():
        return []
    with open(output / "skipped.tsv", encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file, delimiter="\t")]


def check(folder: Path, output: Path) -> Outcome:
    """Compare an output with the files of the folder that was read."""
    outcome, documents, rows = Outcome(), documents_of(output), rows_of(output)
    texts = ["".join(f"{document.id} {document.text}".split()) for document in documents]
    of_file = Counter(row["file"] for row in rows)
    outcome.reasons.update(row["reason"] for row in rows)
    for path in files_below(folder):
        expected, name, number = path.name.partition(".")[0].split("_")
        mark = f"repere{name}{number}"
        read = any(mark in text or f"{expected}_{name}_{number}" in text for text in texts)
        refused = of_file[readable(path)] > 0
        outcome.files += 1
        outcome.read += read
        outcome.refused += refused
        outcome.counted += not read and not refused
        if fault := _fault(expected, read, refused):
            outcome.faults.append(f"{readable(path)}: {fault}")
    dropped = read_manifest(output / MANIFEST).get("dropped", {})
    counts = sum(count for reason, count in dropped.items() if not reason.startswith("skipped"))
    if outcome.counted > counts:
        outcome.faults.append(f"{folder}: {outcome.counted} files are no document and no row, but {counts} are counted")
    outcome.faults += _other_faults(documents, rows)
    return outcome


def _fault(expected: str, read: bool, refused: bool) -> str:
    if expected == "read" and not read:
        return "no document, though its text can be read"
    return "a document, though it has no text" if expected == "refused" and read else ""


def _other_faults(documents: list[Document], rows: list[dict[str, str]]) -> Iterator[str]:
    for document in documents:
        for secret in FORBIDDEN:
            if secret in document.text:
                yield f"document {document.id}: holds the text of another file"
    for row in rows:
        if not row["place"] or not row["reason"] or "Traceback" in row["reason"] or "\n" in row["reason"]:
            yield f"{row['file']}: its row is '{row['place']}', '{row['reason'][:LONGEST]}'"


def reasons_in(outcome: Outcome) -> str:
    """The three most frequent reasons, cut short, for a cell of a table."""
    cells = [f"{reason[:LONGEST]} ({count})" for reason, count in outcome.reasons.most_common(3)]
    return "; ".join(cells).replace("|", "/").replace("\n", " ")
