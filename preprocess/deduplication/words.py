"""Hashes of the words of texts."""

import hashlib
import unicodedata

import numpy as np

HASH_BYTES = 8
NO_WORD = bytes(HASH_BYTES)  # the hash of a chunk without letters and digits
REMEMBERED_WORDS = 1 << 17  # some 20 MB; 5,605 leaflets have 140,000 different words among 14 million


def word_hash(chunk: str) -> bytes:
    """HASH_BYTES of the letters and digits of a chunk, lower-cased; NO_WORD when it has none.

    Punctuation counts nowhere, for copies differ in it: spaces before a colon, the two apostrophes, bullets. In
    compatibility form (NFKC) ligatures and accents are spelled one way.
    """
    word = (chunk if chunk.isascii() else unicodedata.normalize("NFKC", chunk)).lower()
    if not word.isalnum():
        word = "".join(filter(str.isalnum, word))
    return hashlib.blake2b(word.encode(), digest_size=HASH_BYTES).digest() if word else NO_WORD


class WordHashes(dict[str, bytes]):
    """Maps a chunk to its `word_hash`, and begins anew after so many different ones."""

    def __missing__(self, chunk: str) -> bytes:
        if len(self) >= REMEMBERED_WORDS:
            self.clear()
        found = self[chunk] = word_hash(chunk)
        return found


REMEMBERED = WordHashes()


def word_hashes(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of the words, text after text, (words) uint64, and how many each text has, (texts) int64.

    Spaces part the words, and no other white space.
    """
    hashes = [b"".join(map(REMEMBERED.__getitem__, text.split(" "))) for text in texts]
    found = np.frombuffer(b"".join(hashes), "<u8")
    is_word = found != 0
    words_before = np.concatenate([[0], np.cumsum(is_word)])
    ends = np.cumsum([len(of_text) // HASH_BYTES for of_text in hashes])
    return found[is_word], np.diff(words_before[ends], prepend=0)
