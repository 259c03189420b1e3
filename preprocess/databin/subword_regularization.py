"""Subword regularisation: lines to ids, each word in a segmentation drawn from the tokenizer's Unigram model.

A model that reads another segmentation each epoch learns what the pieces of a word have in common with the whole (Kudo
2018). Text reaches the model as in `line_encoder.py`, by the same normalizer, pre-tokenizer and added tokens.
"""

import argparse
import json
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer, models

from alibert_common.errors import InputError
from preprocess.databin.line_encoder import ENTRY_BYTES, LineEncoder, parts_of
from preprocess.databin.unigram_lattice import Lattices

CACHE_BYTES = 40_000_000  # of words and their lattices: some 50,000 words
ALPHA = 0.2
# Below, an unknown is not unlikely enough. Our tokenizers have no lone `▁`, so a word may start with an unknown too, of
# a score of -1010: at 0.05 one is drawn once in some exp(50) words, at 0.005 in exp(5).
LEAST_ALPHA, MOST_ALPHA = 0.05, 1e6  # there only the best is ever drawn
LINE_END = -1  # no piece of a text, whatever it spells


@dataclass(frozen=True)
class Sampling:
    """How many segmentations of each word to draw, and of which distribution: the probabilities to the power alpha."""

    samples: int
    alpha: float = ALPHA
    seed: int = 1

    def __post_init__(self):
        if not LEAST_ALPHA <= self.alpha <= MOST_ALPHA:
            raise InputError(
                f"--alpha {self.alpha}: give {LEAST_ALPHA} to {MOST_ALPHA:,.0f}; below, words become unknowns."
            )

    def generator(self, sample: int, part: int, block: int) -> np.random.Generator:
        """The source of the draws of one sample of one block of a part of the text; no two share numbers."""
        return np.random.default_rng((self.seed, sample, part, block))


def sampling_of(options: argparse.Namespace) -> Sampling | None:
    """What the user asked for. Raises InputError for options that go with --samples alone."""
    given = {name: getattr(options, name) for name in ("alpha", "seed") if getattr(options, name) is not None}
    if options.samples:
        return Sampling(options.samples, **given)
    for name in given:
        raise InputError(f"--{name}: says how --samples draws; give --samples 4, for one, or leave it out.")
    return None


class SubwordSampler:
    """Encodes lines as a LineEncoder does, but with drawn segmentations, several of each line."""

    def __init__(self, encoder: LineEncoder, sampling: Sampling):
        """Raises InputError where the tokenizer's model is not Unigram."""
        model = json.loads(encoder.tokenizer.to_str())["model"]
        if model["type"] != "Unigram" or model.get("byte_fallback"):
            raise InputError(
                f"--samples: segmentations are drawn from a Unigram model without byte_fallback, this tokenizer's is "
                f"{model['type']}; train one with `--model unigram`, or leave --samples out."
            )
        self.encoder, self.sampling = encoder, sampling
        self.tokenizer, self.whole_word = _whole_words(encoder.tokenizer)
        self.lattices = Lattices(model["vocab"], model["unk_id"], sampling.alpha)
        self.shown = np.arange(self.whole_word + 1, dtype=encoder.dtype)
        self.shown[list(encoder.never)] = encoder.layout.unknown
        self.shown[LINE_END] = encoder.layout.end
        self._forget()

    def encode(self, lines: list[str], part: int, block: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each sample what `LineEncoder.encode` gives; `block` is the number of these lines in part `part`."""
        if self.cached_bytes + self.lattices.size > CACHE_BYTES:
            self._forget()
        parts = parts_of(lines, self.encoder.by_word)
        self._learn(list(set(parts).difference(self.cache)))
        words = np.frombuffer(b"".join(map(self.cache.__getitem__, parts)), np.int32)
        samples = range(1, self.sampling.samples + 1)
        return [self._drawn(words, self.sampling.generator(sample, part, block)) for sample in samples]

    def _drawn(self, words: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        ids = self.shown[self.lattices.draw(words, generator)]
        return ids, self.encoder.sizes(ids)

    def _learn(self, parts: list[str]) -> None:
        encodings = self.tokenizer.encode_batch(parts, add_special_tokens=False)
        for part, encoding in zip(parts, encodings, strict=True):
            self._remember(part, [self._word(*word) for word in zip(encoding.ids, encoding.tokens, strict=True)])

    def _word(self, number: int, text: str) -> int:
        if number == self.whole_word:
            return self.lattices.word(text)
        return self.lattices.single(*self.encoder.as_text(text, [number]))  # an added token

    def _remember(self, part: str, words: list[int]) -> None:
        self.cache[part] = np.array(words, np.int32).tobytes()
        self.cached_bytes += ENTRY_BYTES + len(part) + 4 * len(words)

    def _forget(self) -> None:
        self.lattices.forget()
        self.cache: dict[str, bytes] = {}
        self.cached_bytes = 0
        self._remember("\n", [self.lattices.single(LINE_END)])


def _whole_words(tokenizer: Tokenizer) -> tuple[Tokenizer, int]:
    """(The tokenizer with a model that leaves every word whole, the id it gives to all of them).

    Its Unigram model has no piece but a line break, which no line holds: a word is unknowns, which it joins to one. The
    id is one that no added token has.
    """
    words = Tokenizer.from_str(tokenizer.to_str())
    words.encode_special_tokens = tokenizer.encode_special_tokens
    unused = max(tokenizer.get_vocab().values()) + 1
    words.model = models.Unigram([("\n", 0.0)] * (unused + 1), unk_id=unused)
    return words, unused
