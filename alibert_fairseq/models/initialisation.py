"""What weights start from."""

import logging
import math

import torch
import torch.nn as nn
from torch import Tensor

from alibert_fairseq.models.encoder import SentenceEncoder
from alibert_fairseq.models.heads import MaskedLMHead

logger = logging.getLogger(__name__)

INIT_STD = 0.02  # truncated normal, BERT, ALBERT and ELECTRA (`initializer_range`)


def initialise(module: nn.Module) -> None:
    """BERT's start for one module (use with `apply`): truncated normal weights, zero biases and padding rows."""
    own_table = isinstance(module, MaskedLMHead) and not module.tied  # a tied one is drawn once, as the input's
    if own_table or isinstance(module, (nn.Linear, nn.Embedding, nn.Conv1d)):
        assert isinstance(module.weight, Tensor)
        nn.init.trunc_normal_(module.weight, std=INIT_STD, a=-2 * INIT_STD, b=2 * INIT_STD)
    if isinstance(module, (nn.Linear, nn.Conv1d)) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        with torch.no_grad():
            module.weight[module.padding_idx].zero_()


@torch.no_grad()
def start_by_fan_in(encoder: SentenceEncoder) -> None:
    """A start whose signals are as large in a narrow encoder as in a wide one: deviation 1 / sqrt(columns).

    What is added to the residual stream has 1 / sqrt(2 L) of it, as ModernBERT's. With 0.02, a width of 128 leaves the
    plateau of word frequencies later (docs/results/speedrun.md).
    """
    for name, weight in encoder.layers.named_parameters():
        if weight.ndim == 2:
            nn.init.trunc_normal_(weight, a=-2.0, b=2.0).div_(math.sqrt(weight.shape[1]))
        if name.endswith(("out_proj.weight", "fc2.weight")):
            weight.div_(math.sqrt(2 * encoder.size.layers))


@torch.no_grad()
def start_from_unigrams(head: MaskedLMHead, dictionary) -> None:
    """Let a head that sees nothing guess each subword as often as it occurs, by the counts of dict.txt.

    A training then begins on the plateau of word frequencies. An entry without a count has one; a dictionary without
    counts, such as a published model's, leaves zeros.
    """
    counts = torch.tensor(dictionary.count, dtype=torch.float64)
    if counts.max() <= 1:
        logger.warning("--output-bias unigram has no effect: dict.txt has no counts")
    else:
        counts.clamp_(min=1)
        head.bias.copy_((counts / counts.sum()).log())


@torch.no_grad()
def start_from_sinusoids(positions: nn.Embedding) -> None:
    """Fill a table of learned positions with sines and cosines (Vaswani et al. 2017, section 3.5), INIT_STD on average.

    Neighbouring positions then begin alike, so that attention to a neighbour is learned once and not position by
    position. The table stays learned; rows up to the padding id stay zero.
    """
    first, width = (positions.padding_idx or 0) + 1, positions.embedding_dim
    places = torch.arange(positions.num_embeddings - first, dtype=torch.float32)  # (positions,)
    waves = torch.exp(torch.arange(0, width, 2) * (-math.log(10000) / width))  # (ceil(width / 2),)
    angles = places[:, None] * waves
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]
    positions.weight.zero_()
    positions.weight[first:] = table * (INIT_STD * math.sqrt(2))  # a sine's mean square is one half
