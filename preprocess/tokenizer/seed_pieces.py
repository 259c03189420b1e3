"""The pieces that the training of a Unigram model begins with: the parts that the words of a text share.

sentencepiece itself looks for them in the whole text, with 25 times the memory of the text. It takes a string only if
different characters follow it, so it never takes a word that a space always follows. Here they are found in the
different words, so the memory does not grow with the text, and every frequent word is one of them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping


def seed_pieces(words: Mapping[str, int], longest: int) -> Iterator[tuple[str, int]]:
    """Parts of two to `longest` characters of words, which are met twice or more, and how often they are met.

    A part that the same character always follows is left out: the longer one is there. The end of a word counts as a
    character.
    """
    texts, shorter = list(words.items()), dict[str, int]()
    for length in range(1, longest + 2):
        parts: Counter[str] = Counter()
        texts = [(text, times) for text, times in texts if len(text) >= length]
        for text, times in texts:
            for start in range(len(text) - length + 1):
                parts[text[start : start + length]] += times
        for part, times in parts.items():
            if shorter.get(part[:-1]) == times:
                del shorter[part[:-1]]
        if length > 2:
            yield from ((part, times) for part, times in shorter.items() if times > 1)
        shorter = parts
