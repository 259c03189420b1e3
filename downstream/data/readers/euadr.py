"""EU-ADR in BioBERT's ten folds, as JSON lines (train_0.json, test_0.json): one gene and one disease a sentence."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import files_of
from downstream.data.annotated_text import Labels
from downstream.data.examples import Relation
from downstream.data.readers.records import distinct, field, json_lines


def read(path: Path, labels: Labels, counts: Counter) -> list[Relation]:
    """A sentence a line, its mentions replaced by @GENE$ and @DISEASE$ already; labels are positive and negative.

    Raises InputError for a line with several relations: nothing in the sentence would tell them apart.
    """
    return distinct(_items(path, labels, counts), counts)


def _items(path: Path, labels: Labels, counts: Counter) -> Iterator[tuple[str, Relation]]:
    for file in files_of(path, ".json", ".jsonl"):
        for number, record in json_lines(file):
            place = f"{file}, line {number}"
            relations = field(record, "relation", list, place)
            if len(relations) != 1:
                raise InputError(f"{place}: {len(relations)} relations in a sentence; give each a line of its own.")
            label = labels.keep(field(relations[0], "relation_type", str, place), place, counts, "relations")
            if label is not None:
                yield place, Relation(field(record, "id", str, place), field(record, "text", str, place), label)
