"""Adding whole words to a published tokenizer, as pieces of its subword model.

They are not the library's "added tokens". The library cuts those out of the text before the rules for words run. What
stands next to one then begins anew. With CamemBERT's rules, "(paracétamol)" then ends in a lone "▁" before ")". The
term has no mark of a word's start. The space before it is lost, or becomes part of it. The model finds a piece like any
other: marks, offsets and everything around stay as they were.

sentencepiece and byte-level BPE mark the start of a word by the space before it. A word after an apostrophe or a
parenthesis then has no mark (l'hépatite). So every word becomes two pieces, ▁hépatite and hépatite. Rules that put a
space there themselves, as this project's, leave no place for the second. Nor does a sentencepiece BPE (DrBERT's). It
gets all between two spaces at once. It takes a piece before the merges only if the piece is all of that. So it finds
▁hépatite in "une hépatite" and nowhere else. Rules that hand it whole lines (DoctoBERT) are told to split them at
spaces. Only runs of spaces can have other ids then.
"""

import json
from pathlib import Path

from tokenizers import Tokenizer

from alibert_common.errors import InputError
from alibert_common.files import read_text
from alibert_fairseq.hf.published.word_splitter import WordSplitter
from preprocess.tokenizer.normalizer import BOUNDARY

# By which a Unigram word outdoes the pieces it had, for each place where two of its characters meet: enough to win
# wherever these stood, too little to take much from longer pieces, and one word outdoes two that make it up.
MARGIN = 0.1
INSIDE = ("l'{}", "({})")  # where French text has a word without a space before it
UNKNOWN_COST = 10.0  # what `tokenizers` subtracts from the worst score for a character that is no piece


def _word_by_word(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, whose rules hand its model the words of a line, not the line."""
    rules = json.loads(tokenizer.to_str())
    if (rules["pre_tokenizer"] or {}).get("split") is not False:
        return tokenizer
    rules["pre_tokenizer"]["split"] = True
    return Tokenizer.from_str(json.dumps(rules))


class MorePieces:
    """A tokenizer with the words of a file. `added`: for each new id, the old pieces of what it spells."""

    def __init__(self, old: Tokenizer, unknown: int, file: Path):
        """Raise InputError for a word that cannot be a piece, or a model that cannot take one."""
        self.file = file
        self.splitter = WordSplitter(_word_by_word(old), unknown)
        self.lines: dict[str, int] = {}  # by their words
        self.words = self._read(file)
        had = self.splitter.tokenizer.get_vocab()
        pieces = [piece for forms in self.words.values() for piece in forms]
        self.pieces = list(dict.fromkeys(piece for piece in pieces if piece not in had))
        self.tokenizer = self._extended()
        ids = self.tokenizer.get_vocab()
        self.added = {ids[piece]: self.splitter.subwords(piece) for piece in self.pieces}
        self._check()

    def _read(self, file: Path) -> dict[str, list[str]]:
        """The words of the file, and the pieces that each is to be."""
        lines, words = read_text(file).removeprefix("\ufeff").splitlines(), {}
        for number, word in enumerate(map(str.strip, lines), 1):
            handed = self._handed(f" {word}" if self.splitter.convention.byte_level else word)
            if len(handed) > 1:
                raise InputError(
                    f"{file}, line {number}: the tokenizer splits '{word}' at white space or marks, into "
                    f"{', '.join(handed)}, before its pieces are looked for; give single words."
                )
            if word and handed:
                self.lines[word] = number
                words[word] = [*handed, *self._unmarked(word, handed[0])]
        if not words:
            raise InputError(f"{file}: no word in it; write one a line.")
        return words

    def _handed(self, text: str) -> list[str]:
        """What the rules hand to the model, one by one."""
        normalizer, rules = self.splitter.tokenizer.normalizer, self.splitter.tokenizer.pre_tokenizer
        normal = normalizer.normalize_str(text) if normalizer else text
        return [part for part, _ in rules.pre_tokenize_str(normal)] if rules else [normal]

    def _unmarked(self, word: str, marked: str) -> list[str]:
        """The same word behind an apostrophe, where the rules hand it to the model in another form."""
        if self.splitter.convention.byte_level:
            return self._handed(word)
        if self.splitter.kind != "Unigram":
            return []
        bare = marked.removeprefix(BOUNDARY)
        parts = [part for text in INSIDE for part in self._handed(text.format(word))]
        return [bare] if any(bare in part and part != marked for part in parts) else []

    def _extended(self) -> Tokenizer:
        rules = json.loads(self.splitter.tokenizer.to_str())
        ids = self.splitter.tokenizer.get_vocab()
        kind = self.splitter.kind
        if kind == "Unigram":
            self._extend_unigram(rules["model"], ids)
        elif kind in ("WordPiece", "BPE"):
            rules["model"]["vocab"] = ids | {piece: max(ids.values()) + n for n, piece in enumerate(self.pieces, 1)}
        else:
            raise InputError(f"{self.file}: no words can be added to a {kind} model; leave --add-tokens out.")
        if kind == "BPE":
            rules["model"]["ignore_merges"] = True  # a word that is a piece is that one, whatever merges make of it
        return Tokenizer.from_str(json.dumps(rules))

    def _extend_unigram(self, model: dict, had: dict[str, int]) -> None:
        """Append the words with scores; the added tokens that stand behind the pieces become pieces first."""
        vocabulary = model["vocab"]
        scores = [score for _, score in vocabulary]
        worst = min(scores)
        behind = sorted((number, token) for token, number in had.items() if number >= len(vocabulary))
        vocabulary += [[token, worst] for _, token in behind]
        for piece in self.pieces:
            ids = self.splitter.subwords(piece)
            old = sum(worst - UNKNOWN_COST if n == self.splitter.unknown else scores[n] for n in ids)
            vocabulary.append([piece, max(old + MARGIN * (len(piece) - 1), worst)])

    def _check(self) -> None:
        """Every old token has its id, every word is one piece between others, and BPE splits no other word anew."""
        old, new = self.splitter.tokenizer, self.tokenizer
        if any(new.token_to_id(token) != number for token, number in old.get_vocab().items()):
            raise InputError(f"{self.file}: the ids of this tokenizer have gaps; leave --add-tokens out.")
        around = old.encode("le de", add_special_tokens=False).ids
        for word, forms in self.words.items():
            number, ids = new.token_to_id(forms[0]), new.encode(f"le {word} de", add_special_tokens=False).ids
            if number is None or number not in self.added:
                continue
            alone = all([token.id for token in new.model.tokenize(form)] == [new.token_to_id(form)] for form in forms)
            between = ids.count(number) == 1 and [i for i in ids if i != number] == around
            texts = [new.encode(text.format(word), add_special_tokens=False).tokens for text in INSIDE]
            inside = all(any(form in tokens for tokens in texts) for form in forms[1:])  # where there is no mark
            if not (alone and between and inside):
                longest = getattr(new.model, "max_input_chars_per_word", None)
                remedy = (
                    f"give --longest-word {len(forms[0])}" if longest and len(forms[0]) > longest else "leave it out"
                )
                place = f"{self.file}, line {self.lines[word]}"
                raise InputError(f"{place}: '{word}' cannot become a piece of this tokenizer; {remedy}.")
        # `ignore_merges` is for every piece: those that can be a whole word must be what the merges make of it
        for number, spelled in self.splitter.subword_texts().items() if self.splitter.kind == "BPE" else ():
            piece = old.id_to_token(number)
            if piece in self._handed(spelled.text) and self.splitter.subwords(piece) != [number]:
                raise InputError(
                    f"{self.file}: with more pieces this BPE would no longer split '{piece}' as it does; leave "
                    "--add-tokens out."
                )
