"""Gradient-disentangled embedding sharing between ELECTRA's generator and discriminator (He et al. 2021, DeBERTaV3)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from alibert_fairseq.models.encoder import EMBEDDINGS, SentenceEncoder

SHARING = ("all", "none", "gradient_disentangled")


class ShiftedEmbedding(nn.Module):
    """The rows of another table, whose gradient stops here, plus a difference of one's own that starts at zero."""

    def __init__(self, base: nn.Embedding):
        super().__init__()
        self._base = (base,)  # in a tuple, so that its parameters stay the other module's alone
        self.padding_idx = base.padding_idx
        self.difference = nn.Parameter(torch.zeros_like(base.weight))

    @property
    def base(self) -> nn.Embedding:
        """The other table."""
        return self._base[0]

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, E)."""
        theirs = F.embedding(ids, self.base.weight.detach())
        return theirs + F.embedding(ids, self.difference, self.padding_idx)


def shift_embeddings(discriminator: SentenceEncoder, generator: SentenceEncoder) -> None:
    """Let the discriminator's tables be the generator's plus a difference; each keeps its LayerNorm."""
    for name in EMBEDDINGS:
        if isinstance(getattr(generator, name, None), nn.Embedding):
            setattr(discriminator, name, ShiftedEmbedding(getattr(generator, name)))
