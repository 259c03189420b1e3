"""Lines to ids, exactly as `Tokenizer.encode` gives them, only faster: what occurs again is not encoded again."""

from collections.abc import Iterable
from itertools import chain, filterfalse

import numpy as np
from tokenizers import Tokenizer

from alibert_common.errors import InputError
from preprocess.databin.fairseq_writer import id_type
from preprocess.tokenizer.special_tokens import Layout, never_from_text, our_layout
from preprocess.tokenizer.word_independence import is_word_independent

# A cached part costs some 200 bytes beside its characters. 16 MB a worker hold 70,000 words: of 50 MB of leaflets,
# cases and novels in two workers, 17 % more are encoded than without a limit, and 10 MB of text fill half of it.
CACHE_BYTES = 16_000_000
ENTRY_BYTES = 200
KEPT = 3 / 4  # of it, when it is full
LEARNT_AT_ONCE = 1000  # an Encoding takes a kilobyte


class LineEncoder:
    """Encodes lines with a cache of their parts: words where spaces are walls for the tokenizer, else whole lines."""

    def __init__(self, tokenizer: Tokenizer, layout: Layout | None = None):
        """`layout` is that of the tokenizer's directory; left out: our own."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.tokenizer = tokenizer
        self.layout = layout or our_layout(tokenizer.get_vocab_size())
        self.dtype = id_type(self.layout.listed)
        self.never = never_from_text(tokenizer, self.layout)
        self.by_word = is_word_independent(tokenizer)
        self.cache: dict[str, bytes] = {}
        self._forget([])

    def encode(self, lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """(ids of all lines end to end, each with its end of line; sizes in ids, that end included, so 1 or more).

        `lines` hold no line break. Where the text spells a special token that a published Unigram model has among its
        pieces, the id is that of the unknown; our own tokenizers have no such piece, and InputError is raised.
        """
        # What is encoded by itself: the stretches between spaces or whole lines, and a line break after each line.
        if self.by_word:
            parts = " \n ".join(lines).split(" ") + ["\n"]
        else:
            parts = [part for line in lines for part in (line, "\n")]
        self._learn(list(dict.fromkeys(filterfalse(self.cache.__contains__, parts))))
        ids = np.frombuffer(b"".join(map(self.cache.__getitem__, parts)), dtype=self.dtype)
        if self.cached_bytes > CACHE_BYTES:
            self._forget(parts)
        return ids, np.diff(np.flatnonzero(ids == self.layout.end), prepend=-1).astype(np.int32)

    def _learn(self, parts: list[str]) -> None:
        for start in range(0, len(parts), LEARNT_AT_ONCE):
            some = parts[start : start + LEARNT_AT_ONCE]
            encodings = self.tokenizer.encode_batch_fast(some, add_special_tokens=False)
            for part, encoding in zip(some, encodings, strict=True):
                self._remember(part, np.array(self._as_text(part, encoding.ids), self.dtype).tobytes())

    def _as_text(self, part: str, ids: list[int]) -> list[int]:
        """The ids of a part of a text; special tokens that it spells become unknowns."""
        if self.never.isdisjoint(ids):
            return ids
        if self.layout.published:
            return [self.layout.unknown if number in self.never else number for number in ids]
        raise InputError(
            f"the tokenizer gives '{part[:40]}' an id that is no piece of dict.txt ({min(ids)} to {max(ids)}); "
            f"train it again with `python -m preprocess.train_tokenizer`."
        )

    def _remember(self, part: str, ids: bytes) -> None:
        self.cache[part] = ids
        self.cached_bytes += ENTRY_BYTES + len(part) + len(ids)

    def _forget(self, parts: Iterable[str]) -> None:
        """Keep what the last block used, and then what was learnt first: the common words come early."""
        old, self.cache, self.cached_bytes = self.cache, {}, 0
        self._remember("\n", np.array([self.layout.end], self.dtype).tobytes())
        for part in chain(parts, old):
            if self.cached_bytes > KEPT * CACHE_BYTES:
                break
            if part not in self.cache:
                self._remember(part, old[part])
