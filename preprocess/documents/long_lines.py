"""Lines too long to be a sentence or a paragraph are cut, every character kept: a whole export may come as one line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Beyond any paragraph (the longest of 900,000 lines of leaflets, cases and novels has 12,500 characters), and small
# enough that a worker's memory does not depend on the corpus.
LONGEST_LINE = 100_000
SENTENCE_END = re.compile(r"[.!?…][»”\")\]]*(?=\s)")
WORD_END = re.compile(r"\S(?=\s)")


@dataclass
class Cuts:
    """How many lines were cut, and where."""

    lines: int = 0
    at_sentence_ends: int = 0
    at_word_ends: int = 0
    inside_words: int = 0  # only where there is no white space in LONGEST_LINE characters


def cut_line(line: str, cuts: Cuts, longest: int = LONGEST_LINE) -> Iterator[str]:
    """Parts of at most `longest` characters, which joined are the line; counts what it does in `cuts`.

    A part ends with the last sentence that fits, else with the last word that fits, else anywhere.
    """
    if len(line) <= longest:
        yield line
        return
    cuts.lines += 1
    start = 0
    while len(line) - start > longest:
        end = _last_end(SENTENCE_END, line, start, longest)
        if end:
            cuts.at_sentence_ends += 1
        elif end := _last_end(WORD_END, line, start, longest):
            cuts.at_word_ends += 1
        else:
            end = start + longest
            cuts.inside_words += 1
        yield line[start:end]
        start = end
    yield line[start:]


def _last_end(pattern: re.Pattern, line: str, start: int, longest: int) -> int | None:
    return max((match.end() for match in pattern.finditer(line, start, start + longest + 1)), default=None)
