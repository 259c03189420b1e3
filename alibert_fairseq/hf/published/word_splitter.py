"""How a tokenizer splits a text that starts a word, or stands inside one, in any of the three conventions."""

import json

from tokenizers import Tokenizer, pre_tokenizers

from preprocess.tokenizer.normalizer import BOUNDARY
from preprocess.tokenizer.piece_text import UNREADABLE, Convention, Spelled
from preprocess.tokenizer.special_tokens import flagged

_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


class WordSplitter:
    """One tokenizer, for ordinary text. `unknown` is the id of text without a subword."""

    def __init__(self, tokenizer: Tokenizer, unknown: int):
        self.tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self.tokenizer.encode_special_tokens = True
        self.unknown = unknown
        self.kind = json.loads(self.tokenizer.to_str())["model"]["type"]
        self.convention = Convention.of(self.tokenizer)
        self.special = flagged(self.tokenizer)

    def subword_texts(self) -> dict[int, Spelled]:
        """The text of each id, without special tokens and bytes that are no text."""
        texts = {number: self.convention.spelled(piece) for piece, number in self.tokenizer.get_vocab().items()}
        return {n: s for n, s in texts.items() if n not in self.special and UNREADABLE not in s.text}

    def normal(self, spelled: Spelled) -> Spelled:
        """The same text as the rules leave it: without capitals, say."""
        normalizer = self.tokenizer.normalizer
        text = normalizer.normalize_str(spelled.text) if normalizer else spelled.text
        # without the mark of rules that put one in front of every text
        return Spelled(spelled.starts_word, text if spelled.text.startswith(BOUNDARY) else text.removeprefix(BOUNDARY))

    def split(self, spelled: Spelled) -> list[int]:
        """The ids that the tokenizer gives a text at the start of a word, or inside one.

        Text that is unknown inside a word, such as a mark in BERT's vocabulary, may be a word by itself.
        """
        inside = [] if spelled.starts_word else self._inside(spelled.text)
        return inside if inside and set(inside) != {self.unknown} else self._word(spelled.text)

    def _word(self, text: str) -> list[int]:
        """With the space before that some rules need, or without it where others add a mark of their own."""
        both = [self.tokenizer.encode(start + text, add_special_tokens=False).ids for start in (" ", "")]
        firsts = [self.convention.spelled(self.tokenizer.id_to_token(ids[0]) or "") if ids else None for ids in both]
        marked = [ids for ids, first in zip(both, firsts, strict=True) if first and first.starts_word]
        return min(marked or both, key=len)

    def _inside(self, text: str) -> list[int]:
        normal = self.normal(Spelled(False, text)).text
        if self.convention.prefix:
            return self._continuing(normal)
        if self.convention.byte_level:
            normal = "".join(part for part, _ in _BYTES.pre_tokenize_str(normal))
        return self.subwords(normal)

    def subwords(self, word: str) -> list[int]:
        """The ids that the subword model gives a word, which it is handed as it stands."""
        return [token.id for token in self.tokenizer.model.tokenize(word)] if word else []

    def _continuing(self, text: str) -> list[int]:
        """WordPiece's longest match first, without subwords that start a word."""
        ids: list[int] = []
        while text:
            for end in range(len(text), 0, -1):
                number = self.tokenizer.token_to_id(f"{self.convention.prefix}{text[:end]}")
                if number is not None:
                    break
            else:
                return [self.unknown]
            ids.append(number)
            text = text[end:]
        return ids
