"""What the pieces of a vocabulary spell, whatever signs its tokenizer marks words with.

The three conventions: ▁hépat ite (sentencepiece), Ġhépat ite with bytes for letters (byte-level BPE), hépat ##ite
(WordPiece).
"""

import json
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tokenizers import Tokenizer, decoders

from preprocess.tokenizer.normalizer import BOUNDARY
from preprocess.tokenizer.special_tokens import flagged

UNREADABLE = "\ufffd"  # what bytes that are no whole character decode to
FILLER = re.compile(r"[<\[]unused_?\d+[>\]]")  # ids kept free: ours, BERT's
BYTE = re.compile(r"<0x[0-9A-F]{2}>")  # sentencepiece's bytes, for characters that are no piece


class Spelled(NamedTuple):
    """A piece without its convention's marks."""

    starts_word: bool
    text: str


@dataclass(frozen=True)
class Convention:
    """How a tokenizer says that a piece starts a word, or, with `prefix`, that it does not."""

    prefix: str | None = None
    byte_level: bool = False

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Convention":
        """The convention of a tokenizer.json."""
        rules = json.loads(tokenizer.to_str())
        prefix = rules["model"].get("continuing_subword_prefix") if rules["model"]["type"] == "WordPiece" else None
        return cls(prefix, "'ByteLevel'" in str(rules["pre_tokenizer"]))  # itself, or one step of several

    def spelled(self, piece: str) -> Spelled:
        """What a piece spells; UNREADABLE stands for bytes that are a part of a character."""
        if self.prefix:
            return Spelled(not piece.startswith(self.prefix), piece.removeprefix(self.prefix))
        mark = " " if self.byte_level else BOUNDARY
        piece = decoders.ByteLevel().decode([piece]) if self.byte_level else piece
        return Spelled(piece.startswith(mark), piece.removeprefix(mark))

    @property
    def lone(self) -> str | None:
        """The piece that is a boundary and nothing else; None where none can be."""
        return None if self.prefix else "Ġ" if self.byte_level else BOUNDARY


def text_pieces(tokenizer: Tokenizer) -> dict[int, str]:
    """The pieces by their ids, without special tokens and free ids."""
    special = flagged(tokenizer)
    vocabulary = tokenizer.get_vocab().items()
    return {number: piece for piece, number in vocabulary if number not in special and not FILLER.fullmatch(piece)}


def spelled_texts(pieces: Iterable[str], convention: Convention) -> list[Spelled]:
    """What the pieces spell, those left out that spell a part of a character or nothing."""
    spelled = map(convention.spelled, (piece for piece in pieces if not BYTE.fullmatch(piece)))
    return [piece for piece in spelled if piece.text and UNREADABLE not in piece.text]


def _without_accents(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))


# By what two pieces may alone differ, and what is equal of them then.
DIFFERENCES: dict[str, Callable[[Spelled], Hashable]] = {
    "boundary": lambda piece: piece.text,
    "case": lambda piece: (piece.starts_word, piece.text.lower()),
    "accents": lambda piece: (piece.starts_word, _without_accents(piece.text)),
}


def twice(pieces: Iterable[Spelled], difference: str) -> int:
    """How many pieces of two characters or more a vocabulary would save if it did not make this difference.

    By boundary these are AliBERT's ("MOT", "▁MOT"), and ("##MOT", "MOT") of WordPiece (section 3.3).
    """
    words = [piece for piece in pieces if len(piece.text) > 1]
    return len(words) - len(set(map(DIFFERENCES[difference], words)))
