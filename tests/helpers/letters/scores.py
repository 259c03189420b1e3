"""How much of a letter's text is in a document: characters in order, characters too many, whole letters."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

WITHOUT_CELLS = ("pdf", "txt")  # formats that do not say where a cell ends: bars count for nothing
SIGNS = str.maketrans({"\u00ad": None, "\ufeff": None, "\u2011": "-"})  # cleaning drops the first two
MARKER = r"(?:(?<=\s)|^)(?:[•–\-·▪●◦■*o\uf0b7]|\d{1,3}[.)])\s*"
FIRST_WORDS = 3  # of an item, by which it is found


@dataclass(frozen=True)
class Score:
    """`length` characters of a letter without white space, those of them `in_order`, those `extra` in the document.

    `equal` says that the texts are the same but for the amount of white space; `missing`, that there is no document.
    """

    id: str
    length: int
    in_order: int
    extra: int
    equal: bool
    missing: bool = False

    @property
    def share(self) -> float:
        """The part of the letter that is in the document."""
        return self.in_order / self.length


def score(id: str, truth: str, text: str | None) -> Score:
    """Compare a letter with its document; the bullets and numbers of list items count for nothing."""
    bars = id.partition("/")[0] in WITHOUT_CELLS
    items = [line.removeprefix("- ") for line in truth.splitlines() if line.startswith("- ")]
    plain = _normal("\n".join(line.removeprefix("- ") for line in truth.splitlines()), bars)
    wanted = "".join(plain.split())
    if text is None:
        return Score(id, len(wanted), 0, 0, equal=False, missing=True)
    found = _normal(without_markers(text.translate(SIGNS), items), bars)
    squeezed = "".join(found.split())
    in_order = LCSseq.similarity(wanted, squeezed)
    return Score(
        id, len(wanted), in_order, len(squeezed) - in_order, " ".join(found.split()) == " ".join(plain.split())
    )


def without_markers(text: str, items: Iterable[str]) -> str:
    """The text without the bullet or number in front of each of the items."""
    for item in items:
        start = r"\s+".join(map(re.escape, item.translate(SIGNS).split()[:FIRST_WORDS]))
        text = re.sub(f"{MARKER}(?={start})", "", text)
    return text


def _normal(text: str, bars: bool) -> str:
    text = text.translate(SIGNS)
    return text.replace("|", " ") if bars else text


def row_of(name: str, scores: list[Score]) -> str:
    """A row of the Markdown table: of all letters, those without a document, and shares in percent."""
    length, worst = sum(one.length for one in scores), min(scores, key=lambda one: one.share)
    in_order, extra = sum(one.in_order for one in scores), sum(one.extra for one in scores)
    missing, equal = sum(one.missing for one in scores), sum(one.equal for one in scores)
    cells = [name, f"{len(scores):,}", f"{missing:,}", f"{100 * in_order / length:.3f}", f"{100 * extra / length:.3f}"]
    cells += [f"{100 * equal / len(scores):.1f}", f"{worst.id} ({100 * worst.share:.1f})"]
    return f"| {' | '.join(cells)} |"


HEADER = (
    "| letters of | number | without document | characters in order (%) | extra (%) | equal (%) | worst (%) |\n"
    "|---|---:|---:|---:|---:|---:|---|"
)
