"""The pieces that the training of a Unigram model begins with: the parts that the words of a text share.

sentencepiece itself looks for them in the whole text, with 25 times the memory of the text. It takes a string only if
different characters follow it, so it never takes a word that a space always follows. Here they are found in the
different words, so the memory grows with these alone, and every frequent word is one of them.
"""

from collections.abc import Iterator, Mapping

import numpy as np

CHARACTERS = 0x110000  # of Unicode


def seed_pieces(words: Mapping[str, int], longest: int, most: int) -> Iterator[tuple[str, int]]:
    """Parts of two to `longest` characters of words, which are met twice or more, and how often they are met.

    A part that the same character always follows is left out: the longer one is there, or is longer than `longest`. The
    end of a word counts as a character. Of more than `most` parts those are taken that spell most of the text, count
    times length, as sentencepiece takes them; those that are equal at the edge are left out. They come by length, those
    of one length in the order in which they are first met.
    """
    text, sizes = "".join(words), np.array([*map(len, words)], np.int32)
    codes = np.frombuffer(text.encode("utf-32-le"), "<i4")
    times = np.repeat(np.array([*words.values()], np.int64), sizes)
    ends = np.repeat(np.cumsum(sizes, dtype=np.int32), sizes)
    begins = np.arange(len(text), dtype=np.int32)  # of every part
    part: np.ndarray = np.zeros(len(text), np.int32)  # its number
    first, met = begins[:1], np.zeros(1, np.int64)  # of every different part: where it is first met, and how often
    found = [np.empty((0, 3), np.int64)]  # where a part begins, its length, its count
    for length in range(1, longest + 2):
        inside = begins + length <= ends[begins]
        begins, part = begins[inside], part[inside]
        longer = part.astype(np.int64) * CHARACTERS + codes[begins + length - 1]
        different, places, part = np.unique(longer, return_index=True, return_inverse=True)
        part = part.astype(np.int32)
        shorter, shorter_first, shorter_met = different // CHARACTERS, first, met
        first, met = begins[places], np.zeros(len(different), np.int64)
        np.add.at(met, part, times[begins])
        chosen = shorter_met > 1
        chosen[shorter[met == shorter_met[shorter]]] = False
        if length > 2:
            in_order = np.flatnonzero(chosen)[np.argsort(shorter_first[chosen])]
            lengths = np.full(len(in_order), length - 1)
            found.append(np.stack([shorter_first[in_order], lengths, shorter_met[in_order]], 1))
    pieces = np.concatenate(found)
    spelled = pieces[:, 1] * pieces[:, 2]
    if len(pieces) > most:
        pieces = pieces[spelled > np.partition(spelled, -most - 1)[-most - 1]]
    for start, length, count in pieces.tolist():
        yield text[start : start + length], count
