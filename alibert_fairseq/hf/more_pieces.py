"""Adding whole words to a published tokenizer, as pieces of its subword model.

Not as "added tokens" of the library: those are cut out of the text before the rules for words run, so what stands next
to one begins anew. With CamemBERT's rules "(paracétamol)" then ends in a lone "▁" before ")", the term itself has no
mark of a word's start, and the space before it is lost or becomes part of it. A piece is found by the model like any
other: marks, offsets and everything around stay as they were.
"""

import json
from pathlib import Path

from tokenizers import Tokenizer

from alibert_fairseq.hf.spelling import Speller
from preprocess.files import InputError

# By which a Unigram term outdoes the pieces it had, a character: enough to win wherever these stood, too little to take
# anything from longer pieces; in proportion to its length, so that the longer of two terms wins.
MARGIN = 0.1
UNKNOWN_COST = 10.0  # what `tokenizers` subtracts from the worst score for a character that is no piece


class MorePieces:
    """A tokenizer with the words of a file. `added`: for each new id, the old pieces of its word."""

    def __init__(self, old: Tokenizer, unknown: int, file: Path):
        """Raise InputError for a word that cannot be a piece, or a model that cannot take one."""
        self.file = file
        self.speller = Speller(old, unknown)
        words = self._words(file)
        self.known = sum(piece in self.speller.tokenizer.get_vocab() for piece in words)
        self.words = {p: w for p, w in words.items() if p not in self.speller.tokenizer.get_vocab()}
        self.tokenizer = self._extended()
        self.added = {self.tokenizer.token_to_id(piece): self.speller.pieces(piece) for piece in self.words}
        self._check()

    def _words(self, file: Path) -> dict[str, str]:
        """What the model is handed for each word of the file -> the word."""
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise InputError(f"{file}: not UTF-8 ({error}); save it as UTF-8.") from None
        words = {}
        for number, word in enumerate(map(str.strip, lines), 1):
            pieces = self._handed(word) if word else []
            if len(pieces) > 1:
                raise InputError(
                    f"{file}, line {number}: the tokenizer splits '{word}' at white space or marks, into "
                    f"{', '.join(pieces)}, before its pieces are looked for; give single words."
                )
            words |= dict.fromkeys(pieces, word)
        if not words:
            raise InputError(f"{file}: no word in it; write one a line.")
        return words

    def _handed(self, word: str) -> list[str]:
        tokenizer = self.speller.tokenizer
        text = f" {word}" if self.speller.byte_level else word
        text = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text
        return (
            [part for part, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)] if tokenizer.pre_tokenizer else [text]
        )

    def _extended(self) -> Tokenizer:
        rules = json.loads(self.speller.tokenizer.to_str())
        ids = self.speller.tokenizer.get_vocab()
        kind = self.speller.kind
        if kind == "Unigram":
            self._extend_unigram(rules["model"], ids)
        elif kind in ("WordPiece", "BPE"):
            rules["model"]["vocab"] = ids | {piece: max(ids.values()) + n for n, piece in enumerate(self.words, 1)}
        else:
            raise InputError(f"{self.file}: no words can be added to a {kind} model.")
        if kind == "BPE":
            rules["model"]["ignore_merges"] = (
                True  # a word that is a piece is that piece, whatever the merges make of it
            )
        return Tokenizer.from_str(json.dumps(rules))

    def _extend_unigram(self, model: dict, ids: dict[str, int]) -> None:
        """Append the words with scores; the added tokens that stand behind the pieces become pieces first."""
        vocabulary = model["vocab"]
        scores = [score for _, score in vocabulary]
        worst = min(scores)
        behind = sorted((number, token) for token, number in ids.items() if number >= len(vocabulary))
        vocabulary += [[token, worst] for _, token in behind]
        for piece in self.words:
            old = sum(self._score(number, scores, worst) for number in self.speller.pieces(piece))
            vocabulary.append([piece, max(old + MARGIN * len(piece), worst)])

    def _score(self, number: int, scores: list[float], worst: float) -> float:
        return worst - UNKNOWN_COST if number == self.speller.unknown else scores[number]

    def _check(self) -> None:
        """Every old token has its id, every word is one piece between others, and BPE splits no other word anew."""
        old, new = self.speller.tokenizer, self.tokenizer
        if any(new.token_to_id(token) != number for token, number in old.get_vocab().items()):
            raise InputError(f"{self.file}: the ids of this tokenizer have gaps, so none is free behind its last.")
        around = old.encode("le de", add_special_tokens=False).ids
        for piece, word in self.words.items():
            number, ids = new.token_to_id(piece), new.encode(f"le {word} de", add_special_tokens=False).ids
            if [i for i in ids if i != number] != around or ids.count(number) != 1:
                raise InputError(f"{self.file}: '{word}' cannot become a piece of this tokenizer.")
        if self.speller.kind == "BPE":
            self._check_words_that_are_pieces()

    def _check_words_that_are_pieces(self) -> None:
        """`ignore_merges` is for every piece: those that can be a whole word must be what the merges make of it."""
        for number, spelled in self.speller.spelled().items():
            piece = self.speller.tokenizer.id_to_token(number)
            if piece in self._handed(spelled.text) and self.speller.pieces(piece) != [number]:
                raise InputError(f"{self.file}: with more pieces this BPE would no longer split '{piece}' as it does.")
