"""Which annotated entities can a model be taught, and does any other disappear unexplained?

    python tests/campaigns/entity_round_trip.py ../shared/data > entity_round_trip.md

Every entity of the corpora with offsets goes from brat to tags on words and back to brat, by each policy for
nested ones; it comes back as it was, or is counted by what keeps it from doing so. Counts of all entity sets come
first. Fails if an entity is lost without a cause. 95 seconds of one core, and some 40,000 files written to the disk,
one after the other, which can take longer: TMPDIR=/dev/shm keeps them in memory.
"""

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from downstream.data.annotated_text import AnnotatedText, Entity, Labels
from downstream.data.readers import brat, ddi, iob
from downstream.data.spans import Policy, Span, layers_of, merged, spans_of, tags_of, to_characters, words_of

UMLS = tuple("ANAT CHEM DEVI DISO GEOG LIVB OBJC PHEN PHYS PROC".split())
ICD_O = ("morphologie", "topographie", "differenciation")
DRUGS = ("drug", "group", "brand", "drug_n")
NESTED = ("outermost", "innermost", "concatenated", "per_type")
TWICE, PIECES, PARTIAL, BLANK = "the same entity twice", "discontinuous", "border inside a word", "border at a space"
SAME, INSIDE, ACROSS = "other type, same span", "nested", "crossing"
CUT = "cut by, or joined with, its own type"
CAUSES = (TWICE, PIECES, PARTIAL, BLANK, SAME, INSIDE, ACROSS, CUT)


class Corpus(NamedTuple):
    """An entity set: the part of the table, how it is read and with which types; `texts`: where its .txt files are."""

    name: str
    path: str
    types: tuple[str, ...]
    read: Callable = brat.read
    texts: str | None = None

    def documents(self, root: Path) -> list[AnnotatedText]:
        if not self.texts:
            return self.read(root / self.path, Labels(self.types), Counter())
        with tempfile.TemporaryDirectory() as folder:  # brat has text and annotations side by side
            for part, suffix in ((self.path, ".ann"), (self.texts, ".txt")):
                for file in sorted((root / part).rglob(f"*{suffix}")):
                    beside = Path(folder) / file.relative_to(root / part)
                    beside.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, beside)
            return self.read(Path(folder), Labels(self.types), Counter())


STANDOFF = [
    Corpus(f"QUAERO {part}, {split}", f"fr_ner/quaero/{split}/{part}", UMLS)
    for part in ("EMEA", "MEDLINE")
    for split in ("train", "dev", "test")
] + [
    Corpus("FRACCO, raw", "fr_ner/fracco/brat_raw", ("expression_CIM", *ICD_O, "stadeTNM", "stade")),
    Corpus("FRACCO, processed", "fr_ner/fracco/brat_processed", ICD_O, texts="fr_ner/fracco/brat_raw"),
    *(
        Corpus(f"JNLPBA, {split}", f"en/jnlpba/standoff/{split}", ("protein", "DNA", "RNA", "cell_type", "cell_line"))
        for split in ("train", "test")
    ),
    Corpus("DDI, train", "en/ddi2013/Train", DRUGS, ddi.read),
    Corpus("DDI, test of entities", "en/ddi2013/Test/Test for DrugNER task", DRUGS, ddi.read),
    Corpus("DDI, test of relations", "en/ddi2013/Test/Test for DDI Extraction task", DRUGS, ddi.read),
]
COLUMNS = [
    Corpus(f"{name}, {split}", f"en/mtl_bioinformatics_2016/{folder}-IOB/{file}.tsv", (kind,), iob.read)
    for name, folder, kind in (
        ("BC5CDR chemicals", "BC5CDR-chem", "Chemical"),
        ("BC5CDR diseases", "BC5CDR-disease", "Disease"),
        ("NCBI disease", "NCBI-disease", "Disease"),
        ("BC2GM", "BC2GM", "GENE"),
        ("LINNAEUS", "linnaeus", "Species"),
    )
    for split, file in (("train", "train"), ("dev", "devel"), ("test", "test"))
]


def through_tags(document: AnnotatedText, nested: str, types: tuple[str, ...]) -> list[Entity]:
    """The entities that the tags of a document's words hold: what a model that makes no error would give back."""
    words = words_of(document.text)
    layers = layers_of(document.entities, words, Policy(nested, "split", "expand"), types, Counter())
    spans: list[Span] = []
    for layer in layers:
        held = spans_of(tags_of(layer, len(words)))
        spans += to_characters(merged(held) if nested == "concatenated" else held, words)
    return [Entity(label, ((start, end),)) for start, end, label in sorted(spans)]


def causes(document: AnnotatedText, held: list[Entity], nested: str) -> Counter:
    """How many entities are held as they were (under ""), and how many are not, by cause."""
    words = words_of(document.text)
    starts, ends = {start for start, _ in words}, {end for _, end in words}
    found: Counter = Counter()
    for number, entity in enumerate(document.entities):
        if entity in document.entities[:number]:
            found[TWICE] += 1
        elif entity in held:
            found[""] += 1
        elif len(entity.fragments) > 1:
            found[PIECES] += 1
        elif entity.start not in starts or entity.end not in ends:
            text = document.text[entity.start : entity.end]
            found[PARTIAL if text == text.strip() else BLANK] += 1
        else:
            found[_conflict(entity, document, held, nested)] += 1
    return found


def _conflict(entity: Entity, document: AnnotatedText, held: list[Entity], nested: str) -> str:
    rivals = [other for other in held if other.start < entity.end and entity.start < other.end]
    if nested in ("concatenated", "per_type"):
        rivals = [other for other in rivals if other.label == entity.label]
    if not rivals:
        raise AssertionError(f"{document.id}: {entity} is lost without a cause")
    if nested == "concatenated":
        return CUT
    if any((other.start, other.end) == (entity.start, entity.end) for other in rivals):
        return SAME
    if any(
        other.start <= entity.start
        and entity.end <= other.end
        or entity.start <= other.start
        and other.end <= entity.end
        for other in rivals
    ):
        return INSIDE
    return ACROSS


def overlapping(entities: list[Entity]) -> int:
    """How many share a character with another one; the same entity twice counts."""
    return sum(
        any(
            one is not other and first < end and start < last
            for other in entities
            for first, last in other.fragments
            for start, end in one.fragments
        )
        for one in entities
    )


def check_files(documents: list[AnnotatedText], types: tuple[str, ...]) -> None:
    """What is written as brat is read back as it was."""
    with tempfile.TemporaryDirectory() as folder:
        brat.write(documents, Path(folder, "brat"))
        back = brat.read(Path(folder, "brat"), Labels(types), Counter())
    by_id = {document.id: document for document in back}
    assert len(by_id) == len(documents) and all(by_id[document.id] == document for document in documents)


def count_row(name: str, documents: list[AnnotatedText]) -> list:
    entities = [document.entities for document in documents]
    return [
        name,
        len(documents),
        sum(bool(line.strip()) for document in documents for line in document.text.split("\n")),
        sum(len(document.text.split()) for document in documents),
        sum(map(len, entities)),
        sum(len(entity.fragments) > 1 for some in entities for entity in some),
        sum(map(overlapping, entities)),
    ]


def trip_row(corpus: Corpus, documents: list[AnnotatedText], nested: str) -> list:
    """How many entities come back by this policy, and why the others do not."""
    total: Counter = Counter()
    backs = []
    for document in documents:
        held = through_tags(document, nested, corpus.types)
        total += causes(document, held, nested)
        backs.append(AnnotatedText(document.id, document.text, held))
    check_files(backs, corpus.types)
    assert total.total() == sum(len(document.entities) for document in documents)
    share = f"{total['']} ({100 * total[''] / total.total():.1f} %)"
    return [corpus.name, nested, share, *(total[one] or "" for one in CAUSES)]


def table(head: Sequence[str], rows: list[list]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path, help="the folder of fr_ner and en")
    root = parser.parse_args().data
    counted, tripped = [], []
    for corpus in STANDOFF + COLUMNS:
        documents = corpus.documents(root)
        counted.append(count_row(corpus.name, documents))
        if corpus in STANDOFF:
            check_files(documents, corpus.types)
            rows = [trip_row(corpus, documents, nested) for nested in NESTED]
            same = all(row[2:] == rows[0][2:] for row in rows)
            tripped += [[corpus.name, "any", *rows[0][2:]]] if same else rows
    print(table(("set", "documents", "sentences", "words", "entities", "discontinuous", "overlapping"), counted))
    print(table(("set", "nested:", "come back", *CAUSES), tripped))


if __name__ == "__main__":
    main()
