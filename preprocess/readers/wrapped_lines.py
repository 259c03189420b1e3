"""Hard-wrapped text: lines that end at a margin, where the next word did not fit, as in PDF exports and e-mails."""

import re
from collections.abc import Sequence
from itertools import pairwise

NARROWEST, WIDEST = 40, 120  # characters of the margin
FEWEST = 3  # wrapped lines of a document
ITEM = re.compile(r"\s*(?:[-–•*·▪]|\d{1,2}[.)])\s")  # a list item begins a line of its own


def margin_of(paragraphs: Sequence[Sequence[str]]) -> int:
    """The margin of hard-wrapped paragraphs, in characters; 0 where the lines are not hard-wrapped.

    At least half of the lines must end at the margin inside a sentence: no stop at their end, and a small letter next.
    """
    lengths = sorted(len(line.strip()) for lines in paragraphs for line in lines)
    margin = lengths[len(lengths) * 9 // 10]  # a web address may be longer
    if len(lengths) <= FEWEST or not NARROWEST <= margin <= WIDEST:
        return 0
    pairs = [pair for lines in paragraphs for pair in pairwise(map(str.strip, lines))]
    wrapped = sum(
        _goes_on(line, following, margin) and following[0].islower() and line[-1] not in ".!?:;"
        for line, following in pairs
    )
    return margin if wrapped >= max(FEWEST, len(pairs) / 2) else 0


def joined(paragraphs: Sequence[Sequence[str]], margin: int) -> list[str]:
    """The lines, each joined with the next where that one's first word would not have fitted; hyphens stay."""
    lines: list[str] = []
    for paragraph in paragraphs:
        before = None
        for line in map(str.strip, paragraph):
            if before is not None and _goes_on(before, line, margin):
                lines[-1] += line if before.endswith("-") else f" {line}"
            else:
                lines.append(line)
            before = line
    return lines


def _goes_on(line: str, following: str, margin: int) -> bool:
    return len(line) + 1 + len(following.split(maxsplit=1)[0]) > margin and not ITEM.match(following)
