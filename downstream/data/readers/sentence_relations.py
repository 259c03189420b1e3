"""Relations in files of a sentence a line: BioBERT's tables of GAD, its JSON lines of EU-ADR, SciBERT's of ChemProt."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import files_of, read_text
from downstream.data.annotated_text import Labels
from downstream.data.examples import Mention, Relation
from downstream.data.readers import tables
from downstream.data.readers.records import distinct, field, json_lines

TEST_COLUMNS = ["index", "sentence", "label"]
FIRST = re.compile(r"<< (.+?) >>")
SECOND = re.compile(r"\[\[ (.+?) \]\]")


def read_biobert(path: Path, labels: Labels, counts: Counter) -> list[Relation]:
    """GAD, EU-ADR and ChemProt as .tsv, their mentions replaced (@GENE$): sentence and label; or, in test sets, index,
    sentence and label below names of columns.

    Raises InputError as tables.read_relations does.
    """
    first = read_text(path).removeprefix("\ufeff").split("\n")[0].rstrip("\r").split("\t")
    if first == TEST_COLUMNS:
        return tables.read_relations(path, labels, counts, id="index", text="sentence", label="label")
    return tables.read_relations(path, labels, counts, text=1, label=2)


@distinct
def read_euadr(path: Path, labels: Labels, counts: Counter) -> Iterator[tuple[str, Relation]]:
    """One of ten folds (train_0.json, test_0.json): one gene and one disease a sentence.

    They are replaced by @GENE$ and @DISEASE$ already; labels are positive and negative. Raises InputError for a line
    with several relations: nothing in the sentence would tell them apart.
    """
    for file in files_of(path, ".json", ".jsonl"):
        for _, place, record in json_lines(file):
            relations = field(record, "relation", list, place)
            if len(relations) != 1:
                raise InputError(f"{place}: {len(relations)} relations in a sentence; give each a line of its own.")
            label = labels.keep(field(relations[0], "relation_type", str, place), place, counts, "relations")
            if label is not None:
                yield place, Relation(field(record, "id", str, place), field(record, "text", str, place), label)


@distinct
def read_chemprot(path: Path, labels: Labels, counts: Counter) -> Iterator[tuple[str, Relation]]:
    """A pair of mentions a line, first << >>, then [[ ]], as offsets into the sentence without these signs.

    The 13 labels are ChemProt's relation types; there are no unrelated pairs. The files do not say which mention is the
    chemical and which the protein: both are ENTITY. Nor do they say the document: the group is the sentence. Raises
    InputError for a sentence in which each pair of signs does not stand exactly once.
    """
    for file in files_of(path, ".txt", ".jsonl"):
        for number, place, record in json_lines(file):
            label = labels.keep(field(record, "label", str, place), place, counts, "relations")
            if label is not None:
                text, mentions = _without_signs(field(record, "text", str, place), place)
                yield place, Relation(f"{file.stem}-{number}", text, label, mentions, group=text)


def _without_signs(marked: str, place: str) -> tuple[str, tuple[Mention, Mention]]:
    first, second = FIRST.search(marked), SECOND.search(marked)
    if first is None or second is None or marked.count("<< ") != 1 or marked.count("[[ ") != 1:
        raise InputError(f"{place}: one << mention >> and one [[ mention ]] are needed; correct the sentence.")
    earlier, later = sorted((first, second), key=lambda match: match.start())
    if later.start() < earlier.end():
        raise InputError(f"{place}: the two mentions overlap, which these signs cannot say; correct the sentence.")
    between = marked[earlier.end() : later.start()]
    text = marked[: earlier.start()] + earlier[1] + between + later[1] + marked[later.end() :]
    start = earlier.start() + len(earlier[1]) + len(between)
    places = {
        earlier: Mention(earlier.start(), earlier.start() + len(earlier[1]), "ENTITY"),
        later: Mention(start, start + len(later[1]), "ENTITY"),
    }
    return text, (places[first], places[second])
