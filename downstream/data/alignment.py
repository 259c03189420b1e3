"""Words and tokens: which words a token covers, tags of words on tokens and back."""

from bisect import bisect_left, bisect_right
from collections import Counter

from downstream.data.spans import Span


def token_tags(tags: list[str], covered: list[tuple[int, int]], counts: Counter) -> list[str]:
    """The gold tag of every token: its first word's, continued (I-) if an earlier token has begun that word."""
    of_tokens, begun = [], -1
    for first, last in covered:
        tag = tags[first]
        counts["tokens across an entity border"] += tags[first:last] != [tag] + [_continued(tag)] * (last - first - 1)
        of_tokens.append(tag if first > begun else _continued(tag))
        begun = max(begun, last - 1)
    return of_tokens


def word_tags(num_words: int, covered: list[tuple[int, int]], tokens: list[str]) -> list[str]:
    """The tag of every word from those of the tokens; a word of which no token is left is O.

    A token over several words gives its tag to the first and continues it on the others.
    """
    tags = []
    for word, token in enumerate(deciding_tokens(num_words, covered)):
        tag = "O" if token is None else tokens[token]
        tags.append(tag if token is None or covered[token][0] == word else _continued(tag))
    return tags


def deciding_tokens(num_words: int, covered: list[tuple[int, int]]) -> list[int | None]:
    """The token that each word has its tag from: its first one; None where no token is left."""
    deciding: list[int | None] = [None] * num_words
    begun = -1
    for token, (first, last) in enumerate(covered):
        for word in range(max(first, begun + 1), last):
            deciding[word] = token
        begun = max(begun, last - 1)
    return deciding


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The offsets without white space at either end; nothing but white space becomes empty, at its end."""
    kept = text[start:end].strip()
    if not kept:
        return end, end
    start = text.index(kept, start)
    return start, start + len(kept)


def words_covered(words: list[tuple[int, int]], characters: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The words of each token, first to last (excluded); both are given in characters."""
    starts, ends = [start for start, _ in words], [end for _, end in words]
    covered = []
    for start, end in characters:
        first = min(bisect_right(ends, start), len(starts) - 1)  # a token of white space only goes with the next word
        covered.append((first, max(bisect_left(starts, end), first + 1)))
    return covered


def token_ranges(spans: list[Span], covered: list[tuple[int, int]], counts: Counter) -> list[tuple[int, int]]:
    """The tokens of each span of words, first to last (excluded); one of which no token is left is counted."""
    firsts, lasts = [first for first, _ in covered], [last for _, last in covered]
    ranges = [(bisect_right(lasts, start), bisect_left(firsts, end)) for start, end, _ in spans]
    counts["entities the tokenizer leaves no token of"] += sum(start >= end for start, end in ranges)
    return [(start, end) for start, end in ranges if start < end]


def _continued(tag: str) -> str:
    return "I-" + tag[2:] if tag.startswith("B-") else tag
