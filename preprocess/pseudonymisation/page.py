"""A page on which a person checks drawn identifiers and what replaced them. It shows real identifiers."""

from collections.abc import Mapping
from pathlib import Path

from alibert_common.files import write_text
from alibert_common.report import html
from alibert_common.report.document import Block, Section, Table
from preprocess.documents.samples import Samples
from preprocess.pseudonymisation.documents import Replaced
from preprocess.pseudonymisation.spans import LABELS

WARNING = (
    "This page shows real identifiers of patients. Delete it when you have checked them. It shows what was found, and "
    "not what was missed: read some pseudonymised documents, too."
)
HEAD = ["kind", "before", "identifier", "after", "replaced by"]
KINDS = {
    "SECU": "social security number (NIR)", "IPP": "number of the patient in the hospital", "NDA": "number of a stay",
    "MAIL": "e-mail address", "TEL": "telephone", "DATE_NAISSANCE": "date of birth", "ADRESSE": "street",
    "ZIP": "postcode", "VILLE": "town", "HOPITAL": "hospital", "NOM": "surname", "PRENOM": "first name",
}  # fmt: skip
PART = "␟"  # between the parts of a sample
LONGEST = 45  # characters of a part


def page_of(output: Path) -> Path:
    """The page for an output: beside it, so that nobody passes it on with the text."""
    return output.with_name(f"{output.name}.check.html")


def add_sample(samples: Samples, document: str, found: Replaced) -> None:
    """Add an identifier to the samples of its kind."""
    parts = (found.before, found.text[:LONGEST], found.after, found.other[:LONGEST])
    text = PART.join(" ".join(part.replace(PART, " ").split()) for part in parts)
    samples.add(found.label, document, text)


def write_page(file: Path, samples: Samples, counts: Mapping[str, int], most: int) -> None:
    """Write the page with `most` identifiers, of each kind about as many."""
    found = [[label, f"{counts[label]:,}"] for label in LABELS if counts.get(label)]
    drawn = {label: [text for _, (_, text) in sorted(samples.kept.get(label, {}).items())] for label in LABELS}
    shares = shared_out(most, {label: len(texts) for label, texts in drawn.items()})
    rows = [[label, *text.split(PART)] for label in LABELS for text in drawn[label][: shares[label]]]
    counted = Table("Identifiers that were found", ["kind", "number"], found, KINDS)
    blocks: list[Block] = [WARNING, counted, Table("Examples, chosen at random", HEAD, rows)]
    write_text(file, html.render(Section("Pseudonymisation", blocks)))


def shared_out(most: int, there: Mapping[str, int]) -> dict[str, int]:
    """How many of each kind are shown: `most` together, as evenly as what is there allows."""
    shares, left = dict.fromkeys(there, 0), most
    while left > 0 and (open_kinds := [kind for kind in there if shares[kind] < there[kind]]):
        for kind in open_kinds[:left]:
            shares[kind] += 1
        left -= len(open_kinds[:left])
    return shares
