"""The numbers that fix an encoder. Shapes as in `encoder.py`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from alibert_fairseq.layers.relative import Relative
from alibert_fairseq.layers.rotary import Rotary

# BERT and ELECTRA compute the GELU with the error function, ALBERT (`modeling.py:gelu`) with a tanh.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh")}

LIMITS: dict[str, tuple[int, float, str]] = {  # of an EncoderSize: the least, what is too much, and the name
    "layers": (1, math.inf, "number of layers"),
    "width": (1, math.inf, "width"),
    "ffn_width": (1, math.inf, "feed-forward width"),
    "heads": (1, math.inf, "number of heads"),
    "embedding_dim": (1, math.inf, "width of the embeddings"),
    "vocabulary": (1, math.inf, "number of words"),
    "segments": (0, math.inf, "number of segments"),
    "max_positions": (1, math.inf, "number of positions"),
    "layer_norm_eps": (0, math.inf, "epsilon of the LayerNorms"),
    "dropout": (0, 1, "dropout"),
    "attention_dropout": (0, 1, "dropout of attention"),
    "activation_dropout": (0, 1, "dropout of the feed-forward blocks"),
}


@dataclass(frozen=True)
class EncoderSize:
    """The numbers that fix an encoder's parameters."""

    layers: int
    width: int  # C
    ffn_width: int
    heads: int
    embedding_dim: int  # E
    vocabulary: int  # V
    max_positions: int  # longest sequence, special tokens included
    padding_id: int
    layer_norm_eps: float
    segments: int = 0  # kinds of segment embeddings; 0: none, as RoBERTa
    layer_groups: int | None = None  # layers with weights of their own; ALBERT has 1, used `layers` times
    activation: str = "gelu"
    dropout: float = 0.0  # after the embeddings, the attention block and the feed-forward block
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0  # inside the feed-forward block
    rotary: Rotary | None = None  # a modern body's positions
    relative: Relative | None = None  # a DeBERTa body's positions; neither: BERT's
    tied: bool = True  # the table of output words is that of input words
    pooling: str = "cls"  # what a classifier on a modern body reads: its first token, or the mean

    def __post_init__(self):
        for name, (least, too_much, what) in LIMITS.items():
            value = getattr(self, name)
            if type(value) not in (int, float) or not least <= value < too_much:
                below = f" and below {too_much}" if too_much < math.inf else ""
                raise ValueError(f"the {what} of an encoder must be {least} or more{below}, not {value}")
        if self.width % self.heads:
            raise ValueError(f"the width ({self.width}) must be a multiple of the number of heads ({self.heads})")
        if not 1 <= self.groups <= self.layers:
            raise ValueError(f"{self.layers} layers cannot share the weights of {self.groups}; give 1 to {self.layers}")
        if self.rotary is not None:
            self._check_modern()
        relative = self.relative
        if relative is not None and relative.convolution and self.width % relative.convolution_groups:
            raise ValueError(f"the width ({self.width}) must be a multiple of the groups of the convolution")

    def _check_modern(self) -> None:
        if self.width // self.heads % 2:
            raise ValueError(f"heads are {self.width // self.heads} wide, and rotary positions need an even width")
        if (self.segments, self.groups, self.embedding_dim) != (0, self.layers, self.width):
            raise ValueError("a modern body has no segments, no shared layers and embeddings of its own width")

    @property
    def has_positions(self) -> bool:
        """Whether it learns absolute positions."""
        return self.rotary is None and (self.relative is None or self.relative.absolute)

    @property
    def groups(self) -> int:
        """Layers with weights of their own."""
        return self.layers if self.layer_groups is None else self.layer_groups

    def group_of(self, layer: int) -> int:
        """Which weights a layer uses (google-research/albert `modeling.py`: runs of equal length)."""
        return layer * self.groups // self.layers


def layer_norm(size: EncoderSize, width: int) -> nn.LayerNorm:
    """BERT's, or without a bias."""
    return nn.LayerNorm(width, eps=size.layer_norm_eps, bias=size.rotary is None)
