"""GAD, EU-ADR and ChemProt in BioBERT's form: .tsv files in which only the test set has an id, and names of columns."""

from collections import Counter
from pathlib import Path

from alibert_common.files import read_text
from downstream.data.annotated_text import Labels
from downstream.data.examples import Relation
from downstream.data.readers import tables

TEST_COLUMNS = ["index", "sentence", "label"]


def read(path: Path, labels: Labels, counts: Counter) -> list[Relation]:
    """A sentence a line, its mentions replaced (@GENE$): sentence and label, or index, sentence and label below names.

    Raises InputError as tables.read_relations does.
    """
    first = read_text(path).removeprefix("\ufeff").split("\n")[0].rstrip("\r").split("\t")
    if first == TEST_COLUMNS:
        return tables.read_relations(path, labels, counts, id="index", text="sentence", label="label")
    return tables.read_relations(path, labels, counts, text=1, label=2)
