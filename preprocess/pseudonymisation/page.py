"""A page on which a person checks drawn identifiers and what replaced them. It shows real identifiers."""

from collections.abc import Mapping
from pathlib import Path

from alibert_common.files import write_text
from alibert_common.report import html
from alibert_common.report.document import Block, Section, Table
from preprocess.documents.samples import Samples
from preprocess.pseudonymisation.documents import Replaced
from preprocess.pseudonymisation.spans import LABELS

WARNING = "This page shows real identifiers of patients. Delete it when you have checked them."
HEAD = ["kind", "before", "identifier", "after", "replaced by"]
PART = "␟"  # between the parts of a sample
LONGEST = 45  # characters of a part


def add_sample(samples: Samples, document: str, found: Replaced) -> None:
    """Add an identifier to the samples of its kind."""
    parts = (found.before, found.text[:LONGEST], found.after, found.other[:LONGEST])
    text = PART.join(" ".join(part.split()) for part in parts)
    samples.add(found.label, document, text)


def write_page(file: Path, samples: Samples, counts: Mapping[str, int], most: int) -> None:
    """Write the page with `most` identifiers, of each kind about as many."""
    found = [[label, f"{counts[label]:,}"] for label in LABELS if counts.get(label)]
    rows = [
        [label, *text.split(PART)] for label in LABELS for _, (_, text) in sorted(samples.kept.get(label, {}).items())
    ]
    blocks: list[Block] = [WARNING, Table("Found", ["kind", "number"], found), Table("Drawn", HEAD, rows[:most])]
    write_text(file, html.render(Section("Pseudonymisation", blocks)))
