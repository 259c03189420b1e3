"""Cutting a document's tokens into sequences that fit the model, so that every token is read and scored exactly once.

A sequence has a core, whose labels are learned and whose predictions count, and up to `overlap` tokens of context on
each side where it was cut inside a line. The cores of a document follow one another without gap: an entity across a
border keeps its label on both sides, so it can still be found when the predictions are put together again.
"""

from itertools import pairwise
from typing import NamedTuple

LINE, SENTENCE, WORD = 3, 2, 1  # how good a place is to cut before a token; 0 is inside a word
SENTENCE_ENDS = ".!?…"


class Window(NamedTuple):
    """Tokens [start, end) of a document, of which [core_start, core_end) are this window's own."""

    start: int
    end: int
    core_start: int
    core_end: int


def cut_ranks(text: str, offsets: list[tuple[int, int]], first_words: list[int]) -> list[int]:
    """For each token, how good a place its beginning is to cut: LINE, SENTENCE, WORD or 0.

    `offsets` are the tokens' characters; `first_words` the word in which each token begins.
    """
    ranks = []
    for token, (start, _) in enumerate(offsets):
        previous_end = offsets[token - 1][1] if token else 0
        if token and first_words[token] == first_words[token - 1]:
            ranks.append(0)
        elif not token or "\n" in text[previous_end:start]:
            ranks.append(LINE)
        else:
            ranks.append(SENTENCE if text[previous_end - 1] in SENTENCE_ENDS and previous_end < start else WORD)
    return ranks


def windows(ranks: list[int], size: int, overlap: int, whole_lines: bool) -> list[Window]:
    """Cut a document of len(ranks) tokens into windows of at most `size` tokens, context included.

    whole_lines: True gives each line a sequence of its own, False packs as many lines as fit. A line longer than `size`
    is cut at the last sentence end that fits, or else the last word. `overlap` must leave room: 2 * overlap < size.
    """
    length, start, cuts = len(ranks), 0, [0]
    while start < length:
        start = _next_cut(ranks, start, size, overlap, whole_lines)
        cuts.append(start)
    placed = []
    for core_start, core_end in pairwise(cuts):
        before = overlap if ranks[core_start] != LINE else 0
        after = overlap if core_end < length and ranks[core_end] != LINE else 0
        placed.append(Window(max(0, core_start - before), min(length, core_end + after), core_start, core_end))
    return placed


def _next_cut(ranks: list[int], start: int, size: int, overlap: int, whole_lines: bool) -> int:
    length = len(ranks)
    inside_a_line = ranks[start] != LINE
    room = size - overlap if inside_a_line else size  # the left context takes its share
    lines = [cut for cut in range(start + 1, min(start + room, length) + 1) if cut == length or ranks[cut] == LINE]
    if lines:
        return lines[0] if whole_lines else lines[-1]
    limit = min(start + room - overlap, length - 1)
    places = range(limit, start, -1)
    return next((cut for wanted in (SENTENCE, WORD) for cut in places if ranks[cut] >= wanted), limit)


def keep_whole(ranks: list[int], entities: list[tuple[int, int]]) -> list[int]:
    """The ranks with no place left to cut inside an entity; `entities` are token ranges, end excluded."""
    ranks = list(ranks)
    for start, end in entities:
        ranks[start + 1 : end] = [0] * (end - start - 1)
    return ranks
