"""What readers return for tasks other than entities (those are in annotated_text.py): an item, one thing to answer.

Texts are as they stand in the files. Every item has an `id` of its own in its split, which predictions are kept under.
`patient`: whose text it is, empty if not known. Not in repr, which data are known by again (Split.sha256).
"""

from dataclasses import dataclass, field


class RowId(str):
    """An id made of a file's name and a line's number, where a file has no ids: it says nothing in another split."""


@dataclass(frozen=True)
class LabelledText:
    """A text, or a pair of texts (`second`), with its labels: one, or any number where the task is multi-label.

    group: what must not be divided between splits, a document where texts are its sentences; empty: the text itself.
    """

    id: str
    text: str
    labels: tuple[str, ...]
    second: str | None = None
    group: str = ""
    patient: str = field(default="", repr=False)


@dataclass(frozen=True)
class Mention:
    """A typed stretch of text, in characters, end excluded."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class Relation:
    """Two mentions in a text and how they are related, in the order of the relation's arguments, not of the text.

    mentions: None where the file has the mentions replaced (@GENE$) or marked in the text already.
    group: the document it is from, which must not be divided between splits.
    """

    id: str
    text: str
    label: str  # the recipe's negative label where they are not related
    mentions: tuple[Mention, Mention] | None = None
    group: str = ""
    patient: str = field(default="", repr=False)


@dataclass(frozen=True)
class ScoredPair:
    """Two texts and how alike they are.

    group: of a copy, the id of the pair that it is a copy of; empty: the pair itself. Not in repr, which data are known
    by again (Split.sha256): the copy's id says it.
    """

    id: str
    first: str
    second: str
    score: float
    group: str = field(default="", repr=False)
    patient: str = field(default="", repr=False)


@dataclass(frozen=True)
class Candidates:
    """A question, candidate answers, and which of these (from 0) are right.

    One or several of a few options, or the right ones among many that are ranked. group: as of a ScoredPair.
    """

    id: str
    question: str
    candidates: tuple[str, ...]
    right: tuple[int, ...]
    group: str = field(default="", repr=False)
    patient: str = field(default="", repr=False)


@dataclass(frozen=True)
class ReadingQuestion:
    """A question whose answers stand in texts.

    answers: each with its accepted forms, the first the preferred one; one answer, or several of a list; none where the
    texts do not answer it. places: where training finds them, (number of the context, first character, end excluded).
    group: what must not be divided between splits, a text that several questions are about; empty: the question itself.
    """

    id: str
    question: str
    contexts: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    places: tuple[tuple[int, int, int], ...]
    is_list: bool = False
    group: str = ""
    patient: str = field(default="", repr=False)
