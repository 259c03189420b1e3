"""Lines to ids, exactly as `Tokenizer.encode` gives them, only faster: what occurs again is not encoded again.

A line is cut where its ids are those of its parts (`word_independence.py`): at spaces and marks, or nowhere. A block
of lines is cut, and its short parts are found in a table, by numpy. New parts go through the tokenizer.
"""

from itertools import compress

import numpy as np
from tokenizers import Tokenizer

from alibert_common.errors import InputError
from preprocess.databin.fairseq_writer import id_type
from preprocess.databin.part_table import IDS, KEY_BYTES, Keys, PartTable, keys_of
from preprocess.tokenizer.special_tokens import Layout, never_from_text, our_layout
from preprocess.tokenizer.word_independence import is_word_independent, isolated_marks

CACHE_BYTES = 8_000_000  # of parts that are too long for the table, with their ids
ENTRY_BYTES = 200  # what a cached part costs beside its bytes and ids
LEARNT_AT_ONCE = 1000  # an Encoding takes a kilobyte
JOINT = " \n "  # between parts: spaces are walls, and no part but the line end holds a line break
INSIDE, APART, BETWEEN = range(3)  # a byte inside a part, one that is a part, one between parts


class LineEncoder:
    """Encodes lines with a memory of their parts; the end of a line is a part too."""

    def __init__(self, tokenizer: Tokenizer, layout: Layout | None = None):
        """`layout` is that of the tokenizer's directory; left out: our own."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.tokenizer, self.model = tokenizer, tokenizer.model
        self.layout = layout or our_layout(tokenizer.get_vocab_size())
        self.dtype = id_type(self.layout.listed)
        self.never = never_from_text(tokenizer, self.layout)
        marks = isolated_marks(tokenizer)
        self.by_word = bool(marks) or is_word_independent(tokenizer)
        self.by_rule = self.by_word and tokenizer.encode_special_tokens and tokenizer.normalizer is not None
        self.kind = np.full(256, INSIDE, np.uint8)  # of each byte
        self.kind[[ord(sign) for sign in "\n" + marks]] = APART
        if self.by_word:
            self.kind[ord(" ")] = BETWEEN
        self.table = PartTable(self.dtype)
        self.cache: dict[bytes, bytes] = {}
        self.cached_bytes = 0

    def encode(self, lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """(ids of all lines end to end, each with its end of line; sizes in ids, that end included, so 1 or more).

        `lines` hold no line break. Where the text spells a special token that a published Unigram model has among its
        pieces, the id is that of the unknown; our own tokenizers have no such piece, and InputError is raised.
        """
        text = "\n".join([*lines, ""]).encode()
        starts, ends = self._cut(text)
        keys = keys_of(text, starts, ends - starts)
        places = np.where(ends - starts > KEY_BYTES, -1, self.table.find(keys))
        ids, counts = self.table.ids_at(places)
        absent = np.flatnonzero(places < 0)
        parts = [text[start:end] for start, end in zip(starts[absent].tolist(), ends[absent].tolist(), strict=True)]
        new = {part: place for part, place in zip(parts, absent.tolist(), strict=True) if part not in self.cache}
        learnt = self._learn([*new])
        self.cache |= learnt
        found = [self.cache[part] for part in parts]
        further = np.array([len(one) // self.dtype.itemsize for one in found], np.int64)
        ids = np.insert(
            ids,
            np.repeat(np.cumsum(counts, dtype=np.int64)[absent], further),
            np.frombuffer(b"".join(found), self.dtype),
        )
        self._remember(learnt, keys.at(np.array([*new.values()], np.int64)))
        if self.cached_bytes > CACHE_BYTES:
            self._forget(parts)
        return ids, np.diff(np.flatnonzero(ids == self.layout.end), prepend=-1).astype(np.int32)

    def _cut(self, text: bytes) -> tuple[np.ndarray, np.ndarray]:
        """(where the parts begin, where they end), in bytes."""
        kind = self.kind[np.frombuffer(text, np.uint8)]
        inside, apart = kind == INSIDE, kind == APART
        begins, ends = inside.copy(), inside.copy()
        begins[1:] &= ~inside[:-1]
        ends[:-1] &= ~inside[1:]
        return np.flatnonzero(begins | apart), np.flatnonzero(ends | apart) + 1

    def _learn(self, parts: list[bytes]) -> dict[bytes, bytes]:
        """The ids of new parts."""
        ids: dict[bytes, bytes] = {}
        for start in range(0, len(parts), LEARNT_AT_ONCE):
            some = [part.decode() for part in parts[start : start + LEARNT_AT_ONCE]]
            for part, text, found in zip(parts[start:], some, self._encoded(some), strict=False):
                ids[part] = np.array(self._as_text(text, found), self.dtype).tobytes()
        return ids

    def _encoded(self, parts: list[str]) -> list[list[int]]:
        """What the tokenizer gives for each part; rule by rule it takes half of the time, for nothing asks for offsets.

        Parts are joined for that where spaces are walls. A line break that is no joint leaves it to the tokenizer.
        """
        text = JOINT.join(parts)
        if self.by_rule:
            text = self.tokenizer.normalizer.normalize_str(text)
        if not self.by_rule or text.count("\n") != len(parts) - 1:
            return [one.ids for one in self.tokenizer.encode_batch_fast(parts, add_special_tokens=False)]
        ids: list[list[int]] = [[] for _ in parts]
        ends = [place for place, sign in enumerate(text + "\n") if sign == "\n"]
        number = 0
        for word, (start, _) in self.tokenizer.pre_tokenizer.pre_tokenize_str(text):
            while start > ends[number]:
                number += 1
            ids[number] += [token.id for token in self.model.tokenize(word)]
        return ids

    def _as_text(self, part: str, ids: list[int]) -> list[int]:
        """The ids of a part of a text; special tokens that it spells become unknowns."""
        if part == "\n":
            return [self.layout.end]
        if self.never.isdisjoint(ids):
            return ids
        if self.layout.published:
            return [self.layout.unknown if number in self.never else number for number in ids]
        raise InputError(
            f"the tokenizer gives '{part[:40]}' an id that is no piece of dict.txt ({min(ids)} to {max(ids)}); "
            f"train it again with `python -m preprocess.train_tokenizer`."
        )

    def _remember(self, learnt: dict[bytes, bytes], keys: Keys) -> None:
        """Move the short ones of the parts, whose keys are given, from the cache to the table."""
        row = IDS * self.dtype.itemsize
        short = [len(part) <= KEY_BYTES and len(ids) <= row for part, ids in learnt.items()]
        rows = b"".join(ids.ljust(row, b"\0") for ids in compress(learnt.values(), short))
        counts = np.array([len(ids) // self.dtype.itemsize for ids in compress(learnt.values(), short)], np.uint8)
        self.table.add(keys.at(np.array(short, bool)), np.frombuffer(rows, self.dtype).reshape(-1, IDS), counts)
        for part, is_short in zip(learnt, short, strict=True):
            if is_short:
                del self.cache[part]
            else:
                self.cached_bytes += ENTRY_BYTES + len(part) + len(learnt[part])

    def _forget(self, parts: list[bytes]) -> None:
        """Keep of the cache what the last block used."""
        self.cache = {part: self.cache[part] for part in parts if part in self.cache}
        self.cached_bytes = sum(ENTRY_BYTES + len(part) + len(ids) for part, ids in self.cache.items())
