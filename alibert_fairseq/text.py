"""The text rules and the subword model, as fairseq's `--tokenizer alibert_normalizer --bpe alibert_subwords`.

Both are the `tokenizer.json` that the data-bin carries, so a checkpoint trained on it reads raw text as it was trained.
Either alone, or one after the other, gives the ids of the data-bin: the rules change nothing in text they went over.
"""

import os
from dataclasses import dataclass

from fairseq.data.encoders import register_bpe, register_tokenizer
from fairseq.dataclass import FairseqDataclass
from omegaconf import II
from tokenizers import Tokenizer

from preprocess.files import InputError
from preprocess.normalizer import BOUNDARY, TextNormalizer
from preprocess.tokenizer import load_tokenizer
from preprocess.vocabulary import MASK, SPECIALS


@dataclass
class AlibertNormalizerConfig(FairseqDataclass):
    """No option: the tokenizer is the data-bin's. A field without help is none; the hub's `data` overrides it."""

    data: str = II("task.data")


@dataclass
class AlibertSubwordsConfig(FairseqDataclass):
    """No option, as above."""

    data: str = II("task.data")


@register_tokenizer("alibert_normalizer", dataclass=AlibertNormalizerConfig)
class AlibertNormalizer:
    """Raw text to text with one space between words."""

    def __init__(self, cfg: AlibertNormalizerConfig):
        self.normalizer = TextNormalizer(_load(cfg.data))

    def encode(self, x: str) -> str:
        """The words of a text."""
        return self.normalizer.normalize(x)

    def decode(self, x: str) -> str:
        """The same text: which spaces were added is not known any more."""
        return x


@register_bpe("alibert_subwords", dataclass=AlibertSubwordsConfig)
class AlibertSubwords:
    """Raw or normalised text to pieces, and back to normalised text."""

    def __init__(self, cfg: AlibertSubwordsConfig):
        self.tokenizer = _load(cfg.data)

    def encode(self, x: str) -> str:
        """The pieces with a space between them; what has no piece is `<unk>`."""
        ids = self.tokenizer.encode(x, add_special_tokens=False).ids
        return " ".join(map(self.tokenizer.id_to_token, ids))

    def decode(self, x: str) -> str:
        """The words that pieces with a space between them spell; special tokens stay, as words."""
        specials = {*SPECIALS, MASK}
        pieces = [BOUNDARY + piece if piece in specials else piece for piece in x.split()]
        return " ".join(self.tokenizer.decoder.decode(pieces).replace(BOUNDARY, " ").split())


def _load(path: str) -> Tokenizer:
    """From a path, or from the first data-bin of "a:b:c" that holds a tokenizer."""
    parts = path.split(os.pathsep)
    held = [part for part in parts if os.path.exists(os.path.join(part, "tokenizer.json"))]
    try:
        return load_tokenizer((held or parts)[0])
    except InputError as error:
        raise SystemExit(f"error: {error}") from None
