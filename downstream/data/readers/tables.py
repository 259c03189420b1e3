"""Tables and JSON lines of every task: the recipe says which column holds what; columns.rows, how they are written.

BIOSSES, CLISTER, MedNLI and what BLUE, BLURB and DrBenchmark export are such files; so is MORFITT, of quoted .tsv.
Every reader raises InputError as columns.rows and records.distinct do, and for a cell of the wrong kind.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from downstream.data.annotated_text import Labels
from downstream.data.examples import Candidates, LabelledText, Relation, ScoredPair
from downstream.data.readers.columns import Column, Row, rows
from downstream.data.readers.records import distinct


@distinct
def read_texts(
    path: Path, labels: Labels, counts: Counter, *, text: Column, label: Column, second: Column | None = None,
    id: Column | None = None, group: Column | None = None, patient: Column | None = None, separator: str | None = None,
    delimiter: str | None = None, quoted: bool | None = None,
) -> Iterator[tuple[str, LabelledText]]:  # fmt: skip
    """A text, or a pair of texts, a row.

    separator: divides the labels of one cell; a text may then have none, and an ignored label is taken from its text.
    Left out: a text has one label, and goes with it if that is ignored.
    """
    wanted = {"text": text, "second": second, "label": label, "id": id, "group": group, "patient": patient}
    for row in rows(path, wanted, counts, delimiter, quoted):
        words = [row.word("label")] if separator is None else row.words("label", separator)
        names = [labels.keep(word, row.place, counts, "texts") for word in words]
        kept = tuple(dict.fromkeys(name for name in names if name is not None))
        if kept or separator is not None:
            pair = row.text("second") if second is not None else None
            yield row.place, LabelledText(row.id(), row.text("text"), kept, pair, *row.whose())


@distinct
def read_relations(
    path: Path, labels: Labels, counts: Counter, *, text: Column, label: Column,
    id: Column | None = None, group: Column | None = None, patient: Column | None = None, delimiter: str | None = None,
    quoted: bool | None = None,
) -> Iterator[tuple[str, Relation]]:  # fmt: skip
    """A text with two mentions, replaced (@GENE$) or marked in it, a row."""
    wanted = {"text": text, "label": label, "id": id, "group": group, "patient": patient}
    for row in rows(path, wanted, counts, delimiter, quoted):
        kept = labels.keep(row.word("label"), row.place, counts, "relations")
        if kept is not None:
            yield row.place, Relation(row.id(), row.text("text"), kept, None, *row.whose())


@distinct
def read_pairs(
    path: Path, counts: Counter, *, first: Column, second: Column, score: Column,
    id: Column | None = None, patient: Column | None = None, delimiter: str | None = None, quoted: bool | None = None,
) -> Iterator[tuple[str, ScoredPair]]:  # fmt: skip
    """Two texts and their score a row."""
    wanted = {"first": first, "second": second, "score": score, "id": id, "patient": patient}
    for row in rows(path, wanted, counts, delimiter, quoted):
        yield row.place, ScoredPair(row.id(), row.text("first"), row.text("second"), row.number("score"), *row.whose())


@distinct
def read_options(
    path: Path, counts: Counter, *, question: Column, options: dict[str, Column], right: Column, separator: str = ",",
    id: Column | None = None, patient: Column | None = None, delimiter: str | None = None, quoted: bool | None = None,
) -> Iterator[tuple[str, Candidates]]:  # fmt: skip
    """A question, its options and the names of the right ones a row: multiple choice, as DEFT 2020's second task.

    options: name of an option, as `right` has it -> its column. separator: divides the names of several right ones.
    Raises InputError where no option is right, or one that there is not.
    """
    names = list(options)
    wanted = {"question": question, "right": right, "id": id, "patient": patient}
    wanted |= {f"option {name}": options[name] for name in names}
    for row in rows(path, wanted, counts, delimiter, quoted):
        answers = row.words("right", separator)
        if not answers or not set(answers) <= set(names):
            raise InputError(f"{row.place}: right is {answers}; one or several of {', '.join(names)} are needed.")
        texts = tuple(row.text(f"option {name}") for name in names)
        places = tuple(sorted({names.index(answer) for answer in answers}))
        yield row.place, Candidates(row.id(), row.text("question"), texts, places, *row.whose())


def read_ranking(
    path: Path, counts: Counter, *, question: Column, candidate: Column, right: Column,
    id: Column | None = None, patient: Column | None = None, delimiter: str | None = None, quoted: bool | None = None,
) -> list[Candidates]:  # fmt: skip
    """A question, one candidate answer and 1 or 0, right or wrong, a row, as in Bio-ELECTRA's Table 5.

    Rows of one question, wherever they stand, become one item: those of one id, or of one text where no column holds
    ids; and of one patient. Questions without a right candidate are kept (their reciprocal rank is 0) and counted.
    """
    wanted = {"question": question, "candidate": candidate, "right": right, "id": id, "patient": patient}
    questions: dict[tuple, list[Row]] = {}
    for row in rows(path, wanted, counts, delimiter, quoted):
        key = row.id() if id is not None else row.text("question")
        questions.setdefault((key, *row.whose()), []).append(row)
    items = []
    for group in questions.values():
        for row in group:
            if row.text("question") != group[0].text("question"):
                raise InputError(
                    f"{row.place}: the id {row.id()!r} is that of another question ({group[0].place}); "
                    "give each an id of its own."
                )
            if row.word("right") not in ("0", "1"):
                raise InputError(f"{row.place}: right is {row.word('right')!r}; write 1 for right and 0 for wrong.")
        ones = tuple(position for position, row in enumerate(group) if row.word("right") == "1")
        answers = tuple(row.text("candidate") for row in group)
        items.append(Candidates(group[0].id(), group[0].text("question"), answers, ones, *group[0].whose()))
    counts["questions without a right candidate"] += sum(not item.right for item in items)
    return items
