"""The text rules and the subword model, as fairseq's `--tokenizer alibert_normalizer --bpe alibert_subwords`.

Both are the `tokenizer.json` that the data-bin carries, so a checkpoint trained on it reads raw text as it was trained.
Either alone, or one after the other, gives the ids of the data-bin, because applying the rules twice changes nothing. A
published tokenizer may lack that property, so there the subword model applies the rules too.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from fairseq.data.encoders import register_bpe, register_tokenizer
from fairseq.dataclass import FairseqDataclass
from omegaconf import II
from tokenizers import Tokenizer

from alibert_common.errors import InputError
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.normalizer import BOUNDARY, TextNormalizer
from preprocess.tokenizer.special_tokens import Layout, never_from_text, read_layout


@dataclass
class AlibertNormalizerConfig(FairseqDataclass):
    """No option: the tokenizer is the data-bin's. A field without help is none; the hub's `data` overrides it."""

    data: str = II("task.data")


@register_tokenizer("alibert_normalizer", dataclass=AlibertNormalizerConfig)
class AlibertNormalizer:
    """Raw text to text with one space between words; with a published tokenizer the text stays as it is."""

    def __init__(self, cfg: AlibertNormalizerConfig):
        layout, tokenizer = _load(cfg.data)
        self.normalizer = None if layout.published else TextNormalizer(tokenizer)

    def encode(self, x: str) -> str:
        """The words of a text."""
        return self.normalizer.normalize(x) if self.normalizer else x

    def decode(self, x: str) -> str:
        """The same text: which spaces were added is not known any more."""
        return x


@register_bpe("alibert_subwords", dataclass=AlibertNormalizerConfig)
class AlibertSubwords:
    """Raw or normalised text to subwords, and back to normalised text."""

    def __init__(self, cfg: AlibertNormalizerConfig):
        self.layout, self.tokenizer = _load(cfg.data)
        self.never = never_from_text(self.tokenizer, self.layout)
        ids = (self.layout.begin, self.layout.pad, self.layout.end, self.layout.unknown, self.layout.mask)
        self.specials = set(map(self.tokenizer.id_to_token, ids))

    def ids(self, x: str, with_mask: bool = False) -> list[int]:
        """The ids of the subwords, as in the data-bin. with_mask: a mask in the text is a mask, not characters."""
        self.tokenizer.encode_special_tokens = not with_mask
        ids = self.tokenizer.encode(x, add_special_tokens=False).ids
        never = self.never - {self.layout.mask} if with_mask else self.never
        return [self.layout.unknown if number in never else number for number in ids]

    def encode(self, x: str) -> str:
        """The subwords with a space between them; text without a subword is `<unk>`."""
        return " ".join(str(self.tokenizer.id_to_token(number)) for number in self.ids(x))

    def decode(self, x: str) -> str:
        """The text of subwords that have a space between them; special tokens stay, as words."""
        subwords = [BOUNDARY + subword if subword in self.specials else subword for subword in x.split()]
        return " ".join(self.tokenizer.decoder.decode(subwords).replace(BOUNDARY, " ").split())


def _load(path: str) -> tuple[Layout, Tokenizer]:
    """The layout and the tokenizer of a path, or of the first data-bin of "a:b:c" that holds one."""
    parts = path.split(os.pathsep)
    with_tokenizer = [part for part in parts if os.path.exists(os.path.join(part, "tokenizer.json"))]
    directory = Path((with_tokenizer or parts)[0])
    try:
        tokenizer = load_tokenizer(directory)  # first: it says best what is missing
        return read_layout(directory), tokenizer
    except InputError as error:
        raise SystemExit(f"error: {error}") from None
