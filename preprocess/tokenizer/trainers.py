"""Training of the subword models on the words the pre-tokenizer makes of a sample: Unigram, BPE, WordPiece.

Unigram is trained by sentencepiece: the trainer of `tokenizers` leaves out frequent short pieces such as `▁a`, which
costs a lone `▁` every fifth token. A punctuation mark is a word of one piece and needs no training. Every character of
the alphabet is in the vocabulary twice, inside a word and at its start, so Unigram never needs a lone `▁` at all.
"""

import io
import json
import math
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from tempfile import NamedTemporaryFile

import sentencepiece
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from alibert_common.errors import InputError
from preprocess.tokenizer.normalizer import BOUNDARY
from preprocess.tokenizer.seed_pieces import seed_pieces
from preprocess.tokenizer.vocabulary import CONTINUATION, Subwords

MAX_WORD = 100  # characters; what is longer is an address or a sequence, and costs the trainer much for nothing
MAX_PIECE = 32  # characters; sentencepiece's own 16 would cut "électrocardiographique", which has 22
MIN_COUNT = 2  # of a character in the sample: one seen once cannot be learned
MIN_SHARE = 1e-7  # of a character among all: stray scripts in web text do not eat the vocabulary
# Parts that a training begins with, at most. 5 a piece give the fewest tokens of other texts: docs/reference/text.md.
SEED_PIECES, SEEDS_A_PIECE = 200_000, 5
THREADS = 16  # sentencepiece's default, and fixed: its sums over threads depend on their number
MANY_WORDS = 1_000_000  # fewer are trained on in some ten seconds, and the exact number is known then
SURELY = 0.93  # of what a trial finds fits: it finds 0.96 to 1.05 times the largest size of cases, novels, codes...
SENTENCE_BYTES = 1 << 24  # sentencepiece leaves out longer ones
WORDS_AT_ONCE = 1000  # that `tokenizers` is given


class TooLargeError(InputError):
    """A vocabulary that the text cannot fill; `largest` is one that fits."""

    def __init__(self, size: int, largest: int, about: str = ""):
        super().__init__(
            f"--vocab-size {size}: the text holds too few different words; the largest vocabulary that fits is {about}"
            f"{largest}; ask for at most that, or give more text."
        )
        self.largest = largest


def is_mark(word: str) -> bool:
    """Whether a word is one punctuation mark: one character of Unicode's punctuation or symbols."""
    return len(word) == 1 and unicodedata.category(word)[0] in "PS"


@dataclass
class Words:
    """The words of a sample and how often each is met; `marks_start_words` says that `▁,` is a piece.

    `alphabet` are the characters worth a piece, `trainable` the words to learn pieces from, `letters` their characters,
    `marks` the punctuation marks with their counts.
    """

    counts: Counter[str]
    marks_start_words: bool = True

    def __post_init__(self):
        characters: Counter[str] = Counter()
        for word, count in self.counts.items():
            for character in word:
                characters[character] += count
        floor = max(MIN_COUNT, MIN_SHARE * sum(characters.values()))
        self.alphabet = {character for character, count in characters.items() if count >= floor}
        self.marks = {word: n for word, n in self.counts.items() if is_mark(word) and word in self.alphabet}
        short = (word for word in sorted(self.counts) if len(word) <= MAX_WORD and not is_mark(word))
        self.trainable = {word: self.counts[word] for word in filter(self.alphabet.issuperset, short)}
        self.letters = sorted(set().union(*self.trainable))

    def sentences(self) -> Iterator[str]:
        """Each word that can be learned as often as it is met."""
        for word, count in self.trainable.items():
            for first in range(0, count, WORDS_AT_ONCE):
                yield " ".join([word] * min(WORDS_AT_ONCE, count - first))

    def mark_pieces(self) -> dict[str, float]:
        """The pieces of the marks, the most frequent first, with the logarithm of their share of all words."""
        total = sum(self.counts.values())
        prefix = BOUNDARY if self.marks_start_words else ""
        first = sorted(self.marks, key=lambda mark: (-self.marks[mark], mark))
        return {prefix + mark: math.log(self.marks[mark] / total) for mark in first}

    def repeated(self) -> int:
        """How many words to learn pieces from are there twice or more."""
        return sum(count > 1 for count in self.trainable.values())

    def needed(self) -> list[str]:
        """The pieces no vocabulary goes without: the marks, and each letter inside a word and at its start."""
        return list(dict.fromkeys([*self.mark_pieces(), *self.letters, *(BOUNDARY + x for x in self.letters)]))


def train(kind: str, words: Words, size: int) -> Subwords:
    """Train exactly `size` pieces.

    Raises InputError when the words are too few or their characters too many for that; it names the size that fits.
    Unigram is trained in seconds and knows it then. The others take minutes for a long text, so one that may be too
    small is refused after a trial on its different words.
    """
    if not words.trainable:
        raise InputError("the text holds no word to learn pieces from; give more text.")
    # A word met twice can become a piece, so that many fit: 1.3 to 2.4 times as many in the texts that SURELY is from.
    may_be_too_large = size > words.repeated() and sum(words.counts.values()) > MANY_WORDS
    if kind != "unigram" and may_be_too_large and (largest := int(SURELY * tried_size(kind, words, size))) < size:
        raise TooLargeError(size, largest, "about ")
    return TRAINERS[kind](words, size)


def tried_size(kind: str, words: Words, size: int) -> int:
    """About how many pieces the words give, by a training on each word once or twice; at most twice `size`.

    Of leaflets, cases, novels, phenotypes and random codes it was at most 5 % off.
    """
    different = copy(words)
    different.trainable = {word: min(count, 2) for word, count in words.trainable.items()}
    try:
        return len(TRAINERS[kind](different, 2 * size).pieces)
    except TooLargeError as error:
        return error.largest
    except InputError:  # less than the characters need, which is to be said of `size`
        return len(TRAINERS[kind](different, size).pieces)


def train_unigram(words: Words, size: int) -> Subwords:
    """Train with sentencepiece, then give up its least probable pieces for those that are needed."""
    needed = words.needed()
    _check_size(size, len(needed))
    marks = words.mark_pieces()
    with NamedTemporaryFile("w", encoding="utf-8", suffix=".tsv") as seeds:
        bounded = {BOUNDARY + word: count for word, count in words.trainable.items()}
        most = max(SEED_PIECES, SEEDS_A_PIECE * size)
        seeds.writelines(f"{piece}\t{count}\n" for piece, count in seed_pieces(bounded, MAX_PIECE, most))
        seeds.flush()
        trained = _sentencepiece(
            (f"{word}\t{count}" for word, count in words.trainable.items()),
            size + 2 - len(marks),  # 2: its own unknown, and the lone boundary
            model_type="unigram",
            input_format="tsv",
            seed_sentencepieces_file=seeds.name,
            seed_sentencepiece_size=most,  # it leaves out what comes later in the file
            normalization_rule_name="identity",  # the words are already what the model will see
            character_coverage=1.0,  # the alphabet is already chosen
            split_by_unicode_script=False,  # the pre-tokenizer alone says where words end
            split_by_number=False,
            max_sentencepiece_length=MAX_PIECE,
        )
    lone = trained.pop(BOUNDARY)
    # It leaves out a letter met once in some 33 million, whose share its float takes for none: a mark glued to a word.
    letters = {letter: trained.get(letter, min(trained.values())) for letter in words.letters}
    starts = {BOUNDARY + letter: lone + score for letter, score in letters.items()}
    known = starts | letters | trained | marks
    rest = sorted(known.keys() - set(needed), key=lambda piece: (-known[piece], piece))
    _check_size(size, len(needed), len(known))
    pieces = sorted([*needed, *rest[: size - len(needed)]], key=lambda piece: (-known[piece], piece))
    return Subwords("unigram", pieces, scores=[known[piece] for piece in pieces])


def train_plain(kind: str, lines: Iterator[str], size: int, cased: bool) -> list[str]:
    """The pieces of the tokenizer one has without any rules: raw lines, sentencepiece's own settings (Unigram, BPE)."""
    rule = "nmt_nfkc" if cased else "nmt_nfkc_cf"
    return list(_sentencepiece(lines, size, model_type=kind, normalization_rule_name=rule))


def _sentencepiece(sentences: Iterator[str], size: int, **settings) -> dict[str, float]:
    """Pieces and log-probabilities."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences,
        model_writer=model,
        vocab_size=max(size, 8),
        hard_vocab_limit=False,  # too few are counted by the caller
        max_sentence_length=SENTENCE_BYTES,
        num_threads=THREADS,
        minloglevel=2,
        bos_id=-1,
        eos_id=-1,
        **settings,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return {processor.id_to_piece(i): processor.get_score(i) for i in range(1, processor.get_piece_size())}


def train_bpe(words: Words, size: int) -> Subwords:
    """Train with `tokenizers`; `▁` and the first letter of a word, or a mark, are merged before anything else."""
    needed = dict.fromkeys([BOUNDARY, *words.marks, *words.needed()])
    _check_size(size, len(needed))
    first = [(piece[0], piece[1]) for piece in needed if len(piece) == 2]
    learned = [(_with_boundary(left), _with_boundary(right)) for left, right in _merges(words, size)]
    pieces, merges = _fill(list(needed), learned, size, joined="".join)
    return Subwords("bpe", pieces, merges=[*first, *merges])


def _with_boundary(piece: str) -> str:
    """The sign of a continuation turned into that of a start: `##tion` to `tion`, `mot` to `▁mot`."""
    return piece.removeprefix(CONTINUATION) if piece.startswith(CONTINUATION) else BOUNDARY + piece


def train_wordpiece(words: Words, size: int) -> Subwords:
    """Train with `tokenizers`; every letter is in the vocabulary as itself and as a continuation."""
    needed = dict.fromkeys([*words.marks, *words.letters, *(CONTINUATION + letter for letter in words.letters)])
    _check_size(size, len(needed))
    learned = _merges(words, size)
    pieces, _ = _fill(list(needed), learned, size, joined=lambda pair: pair[0] + pair[1][len(CONTINUATION) :])
    return Subwords("wordpiece", pieces)


def _merges(words: Words, size: int) -> list[tuple[str, str]]:
    """At least the merges of `size` pieces, in order; what does not start a word is marked as WordPiece does.

    Among pairs of one count the trainer takes that of the lowest ids, and gives ids to letters inside words as it meets
    them, in an order that differs from run to run: named beforehand, they have one order.
    """
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=MIN_COUNT,
        continuing_subword_prefix=CONTINUATION,
        special_tokens=[CONTINUATION + letter for letter in words.letters],
        show_progress=sys.stderr.isatty(),  # elsewhere its bar is blank lines
    )
    trained.train_from_iterator(words.sentences(), trainer)
    return [tuple(pair) for pair in json.loads(trained.to_str())["model"]["merges"]]


def _fill(
    needed: list[str], merges: list[tuple[str, str]], size: int, joined: Callable[[tuple[str, str]], str]
) -> tuple[list[str], list[tuple[str, str]]]:
    """(`size` pieces: the needed ones, then what the merges make, in order; the merges that make them)."""
    pieces, used = dict.fromkeys(needed), []
    for pair in merges:
        if len(pieces) == size and joined(pair) not in pieces:
            break
        pieces[joined(pair)] = None
        used.append(pair)
    _check_size(size, 0, len(pieces))
    return list(pieces), used


def _check_size(size: int, smallest: int, largest: int | None = None) -> None:
    if size < smallest:
        raise InputError(f"--vocab-size {size}: the characters alone need {smallest} pieces; ask for at least that.")
    if largest is not None and size > largest:
        raise TooLargeError(size, largest)


TRAINERS: dict[str, Callable[[Words, int], Subwords]] = {
    "unigram": train_unigram,
    "wordpiece": train_wordpiece,
    "bpe": train_bpe,
}
