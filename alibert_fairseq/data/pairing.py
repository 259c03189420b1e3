"""Which lines make a pair of segments: BERT's next sentence, ALBERT's sentence order, ELECTRA's two segments.

A plan is a pure function of the lines' lengths, the documents and a generator. Lines are what data/blocks.py's
LongLinesCut gives; a segment is some lines of one document, next to each other; lengths are in tokens without </s>.
Shapes: D documents, N samples; the last axis of (N, 2) is segment A, segment B.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

OBJECTIVES = ("nsp", "sop", "none")
FOLLOWS, OTHERWISE = 0, 1  # labels: B follows A; B is of another document (nsp), or A and B are swapped (sop)
UNLABELLED = -100  # what cross-entropy ignores
ONE_SEGMENT_PROB, RANDOM_LENGTH_PROB = 0.1, 0.05  # ELECTRA `build_pretraining_dataset.py`
SHORTEST = 5  # <s> A </s> B </s> with a token each


@dataclass(frozen=True)
class PairRule:
    """How the lines of a document become samples."""

    objective: str  # of OBJECTIVES
    tokens_per_sample: int  # the longest sample, <s> and both </s> included
    single_chunks: str = "unlabelled"  # or "random": what a chunk of one line becomes, for nsp and sop
    passes: int = 1  # times that every document is cut into samples in one epoch
    short_prob: float = 0.1  # share of the documents that are cut into shorter pairs, for nsp and sop

    def __post_init__(self):
        if self.objective not in OBJECTIVES:
            raise ValueError(f"the objective of pairs must be one of {', '.join(OBJECTIVES)}, not {self.objective}.")
        if self.tokens_per_sample < SHORTEST:
            raise ValueError(f"--tokens-per-sample {self.tokens_per_sample} holds no pair; give at least {SHORTEST}.")
        if self.passes < 1:
            raise ValueError(f"--duplicate-factor must be 1 or more, not {self.passes}.")
        if not 0 <= self.short_prob <= 1:
            raise ValueError(f"--short-seq-prob must lie between 0 and 1, not {self.short_prob}.")

    @property
    def room(self) -> int:
        """Tokens of A and B together."""
        return self.tokens_per_sample - 3

    @property
    def labelled(self) -> bool:
        """Whether the samples have a sentence label."""
        return self.objective != "none"


class Lines(NamedTuple):
    """The lengths of all lines and the documents they stand in."""

    before: np.ndarray  # (lines + 1,) int64, tokens before each line, and of all lines
    documents: np.ndarray  # (D, 2) int64, first line and the line after the last
    original: np.ndarray | None = None  # (D,) equal where documents are copies of one another; None: there are none

    def end_of(self, first: int, last: int, wanted: int) -> int:
        """The line after the shortest piece of [first, last) of at least `wanted` tokens and one line, or `last`."""
        return bisect_left(self.before, self.before[first] + wanted, first + 1, last)


class Plan(NamedTuple):
    """What each sample holds: 41 bytes a sample."""

    first: np.ndarray  # (N, 2) int64, the segment's first line
    count: np.ndarray  # type: ignore[assignment]  # (N, 2) int32, its lines; 0 where a sample has no B
    skip: np.ndarray  # (N, 2) int32, tokens left out at its front
    keep: np.ndarray  # (N, 2) int32, tokens of it
    label: np.ndarray  # (N,) int8
    cut_tokens: int  # left out in all, at the front and at the back
    random_tokens: int  # read once more, as the B of another document


class Draws:
    """Single random numbers from a numpy generator, many times as fast as one call each."""

    def __init__(self, generator: np.random.Generator):
        self._numbers = chain.from_iterable(generator.random(4096).tolist() for _ in repeat(None))

    def random(self) -> float:
        """A number in [0, 1)."""
        return next(self._numbers)

    def below(self, limit: int) -> int:
        """An integer in [0, limit)."""
        return int(self.random() * limit)


def plan_pairs(lines: Lines, rule: PairRule, generator: np.random.Generator) -> Plan:
    """Cut every document into samples, `rule.passes` times."""
    rows, draws = array("q"), Draws(generator)
    # The numbers of a memoryview are Python's; numpy would make an object of each.
    quick = lines._replace(before=memoryview(lines.before))  # type: ignore[arg-type]
    cut = labelled_pairs if rule.labelled else two_segments
    for _ in range(rule.passes):
        for document in range(len(lines.documents)):
            for row in cut(quick, document, rule, draws):
                rows.extend(row)
    table = np.frombuffer(rows, dtype=np.int64).reshape(-1, 5)
    return fit(table, lines, rule, generator)


def labelled_pairs(lines: Lines, document: int, rule: PairRule, draws) -> Iterator[tuple[int, int, int, int, int]]:
    """Next sentence or sentence order: rows of A's first line, the line after it, the same of B, the label.

    A chunk is lines up to the target length, cut in two after a random line. nsp: in half of the cases B is of another
    document, and the lines it replaces begin the next chunk. sop: in half of the cases A and B are swapped.
    """
    first, last = lines.documents[document].tolist()
    target = rule.room if draws.random() >= rule.short_prob else 2 + draws.below(rule.room - 1)
    while first < last:
        end = lines.end_of(first, last, target)
        single = end == first + 1
        if single and rule.single_chunks == "unlabelled":
            yield first, end, end, end, UNLABELLED
            first = end
            continue
        cut = end if single else first + 1 + draws.below(end - first - 1)
        if not single and draws.random() >= 0.5:
            yield first, cut, cut, end, FOLLOWS
        elif single or rule.objective == "nsp":
            wanted = target - (lines.before[cut] - lines.before[first])
            yield first, cut, *random_segment(lines, document, wanted, draws), OTHERWISE
            end = cut
        else:
            yield cut, end, first, cut, OTHERWISE
        first = end


def random_segment(lines: Lines, document: int, wanted: int, draws) -> tuple[int, int]:
    """Lines of another document, from a random one on, until there are `wanted` tokens or the document ends.

    BERT draws among all documents, at most ten times, until it is another one: the law of drawing among the others.
    A copy of the same document is no other: lines of it may well follow A.
    """
    other = document
    while other == document or (lines.original is not None and lines.original[other] == lines.original[document]):
        other = draws.below(len(lines.documents) - 1)
        other += other >= document
    first, last = lines.documents[other].tolist()
    first += draws.below(last - first)
    return first, lines.end_of(first, last, wanted)


def two_segments(lines: Lines, document: int, rule: PairRule, draws) -> Iterator[tuple[int, int, int, int, int]]:
    """ELECTRA's samples, rows as in labelled_pairs: A is filled to about half, B has the rest; 10 % have no B."""
    first, last = lines.documents[document].tolist()
    longest = rule.tokens_per_sample
    while first < last:
        short = draws.random() < RANDOM_LENGTH_PROB
        target = SHORTEST + draws.below(longest - SHORTEST + 1) if short else longest
        end = cut = lines.end_of(first, last, target)
        if draws.random() >= ONE_SEGMENT_PROB:
            half = lines.before[first] + (target - 3) // 2
            cut = max(first + 1, bisect_left(lines.before, half, first + 1, end + 1) - 1)  # A stays below half
            cut += cut < end and lines.before[cut] < half and draws.random() < 0.5  # or the next line spills over
        yield first, cut, cut, end, UNLABELLED
        first = end


def fit(table: np.ndarray, lines: Lines, rule: PairRule, generator: np.random.Generator) -> Plan:
    """Cut what does not fit into a sample.

    nsp, sop: token by token from the longer segment, B if they are even, at either end with equal probability (BERT's
    truncate_seq_pair). none: from the back; A keeps what it can, B gets the rest (ELECTRA).
    """
    first, end = table[:, [0, 2]], table[:, [1, 3]]  # (N, 2)
    length = lines.before[end] - lines.before[first]
    a, b = length.T
    room = rule.room
    if rule.labelled:
        half = -(-room // 2)  # where both are longer, they end up even, A longer by a token if the room is odd
        keep_a = np.where(a + b > room, np.minimum(a, np.maximum(room - b, half)), a)
        keep = np.stack((keep_a, np.minimum(b, room - keep_a)), 1)
        skip = generator.binomial(length - keep, 0.5)
    else:
        keep_a = np.minimum(a, rule.tokens_per_sample - 2)
        keep = np.stack((keep_a, np.clip(room - keep_a, 0, b)), 1)
        skip = np.zeros_like(keep)
    elsewhere = (table[:, 1] != table[:, 2]) & (table[:, 0] != table[:, 3])  # two segments that do not touch
    cut, read_again = int((length - keep).sum()), int(keep[elsewhere, 1].sum())
    count = np.where(keep > 0, end - first, 0)
    count, skip, keep = (numbers.astype(np.int32) for numbers in (count, skip, keep))
    return Plan(first, count, skip, keep, table[:, 4].astype(np.int8), cut, read_again)
