"""The pieces that the training of a Unigram model begins with: the parts that the words of a text share.

sentencepiece itself looks for them in the whole text, with 25 times the memory of the text. It takes a string only if
different characters follow it, so it never takes a word that a space always follows. Here they are found in the
different words, so the memory does not grow with the text, and every frequent word is one of them.
"""

from collections.abc import Iterator, Mapping

import numpy as np

CHARACTERS = 0x110000  # of Unicode


def seed_pieces(words: Mapping[str, int], longest: int) -> Iterator[tuple[str, int]]:
    """Parts of two to `longest` characters of words, which are met twice or more, and how often they are met.

    A part that the same character always follows is left out: the longer one is there. The end of a word counts as a
    character. The parts of one length are in the order in which they are first met.
    """
    text, sizes = "".join(words), np.array([*map(len, words)], np.int64)
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    times, ends = np.repeat(np.array([*words.values()], np.int64), sizes), np.repeat(np.cumsum(sizes), sizes)
    begins, part = np.arange(len(text)), np.zeros(len(text), np.int64)  # of every part, and its number
    first, met = begins[:1], np.zeros(1, np.int64)  # of every different part: where it is first met, and how often
    for length in range(1, longest + 2):
        inside = begins + length <= ends[begins]
        begins, part = begins[inside], part[inside]
        longer = part * CHARACTERS + codes[begins + length - 1]
        different, places, part = np.unique(longer, return_index=True, return_inverse=True)
        shorter, shorter_first, shorter_met = different // CHARACTERS, first, met
        first, met = begins[places], np.zeros(len(different), np.int64)
        np.add.at(met, part, times[begins])
        chosen = shorter_met > 1
        chosen[shorter[met == shorter_met[shorter]]] = False
        if length > 2:
            in_order = np.flatnonzero(chosen)[np.argsort(shorter_first[chosen])]
            for start, count in zip(shorter_first[in_order].tolist(), shorter_met[in_order].tolist(), strict=True):
                yield text[start : start + length - 1], count
