"""Options every model of this plugin has, and how a named size fills those the command line leaves open."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Optional

import torch
from fairseq.dataclass import ChoiceEnum, FairseqDataclass

from alibert_fairseq.models.encoder import ACTIVATIONS, EncoderSize

SIZES = {
    # layers, width, feed-forward width, heads
    "tiny": (4, 128, 512, 2),  # one of BERT's miniatures (Turc et al. 2019); learns on 2 cores in an hour
    "small": (12, 256, 1024, 4),  # ELECTRA-Small, google-research/electra `configure_pretraining.py`
    "base": (12, 768, 3072, 12),  # BERT-base; AliBERT's "H = 512" with 12 heads cannot be: 512 is its length in tokens
    "large": (24, 1024, 4096, 16),  # BERT-large, ELECTRA-Large, ALBERT-large
    "xlarge": (24, 2048, 8192, 16),  # ALBERT-xlarge (its published configuration; Lan et al. 2020, Table 1)
    "xxlarge": (12, 4096, 16384, 64),  # ALBERT-xxlarge, with the 12 layers that Lan et al. recommend
}


@dataclass
class EncoderConfig(FairseqDataclass):
    """The size of the encoder and its regularisation."""

    encoder_layers: int = field(default=12, metadata={"help": "number of layers (default: that of --arch)"})
    encoder_embed_dim: int = field(default=768, metadata={"help": "width of the encoder (default: that of --arch)"})
    encoder_ffn_embed_dim: int = field(
        default=3072, metadata={"help": "width inside the feed-forward blocks (default: that of --arch)"}
    )
    encoder_attention_heads: int = field(
        default=12, metadata={"help": "number of attention heads, a divisor of the width (default: that of --arch)"}
    )
    embedding_dim: Optional[int] = field(  # noqa: UP045 (fairseq does not know the other spelling)
        default=None, metadata={"help": "width of the embeddings (default: that of --arch; ELECTRA-Small: 128)"}
    )
    max_positions: int = field(
        default=512, metadata={"help": "longest sequence, <s> and </s> included (default: 512, as AliBERT)"}
    )
    segments: int = field(
        default=0,
        metadata={"help": "number of segment embeddings (default: that of --arch; BERT, ALBERT: 2; RoBERTa: 0)"},
    )
    layer_groups: Optional[int] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "number of layers with weights of their own, each used several times (default: all; ALBERT: 1)"
        },
    )
    activation_fn: ChoiceEnum(list(ACTIVATIONS)) = field(  # type: ignore[valid-type]
        default="gelu",
        metadata={"help": "activation: gelu by the error function (default; BERT, ELECTRA) or gelu_tanh (ALBERT)"},
    )
    layer_norm_eps: float = field(
        default=1e-12,
        metadata={"help": "epsilon of every LayerNorm (default: 1e-12, as BERT and ELECTRA; RoBERTa: 1e-5)"},
    )
    dropout: float = field(
        default=0.1, metadata={"help": "dropout after embeddings and sub-layers (default: 0.1, as BERT and ELECTRA)"}
    )
    attention_dropout: float = field(
        default=0.1, metadata={"help": "dropout on attention weights (default: 0.1, as BERT and ELECTRA)"}
    )
    activation_dropout: float = field(
        default=0.0, metadata={"help": "dropout after the GELU (default: 0, as BERT and ELECTRA)"}
    )
    position_init: ChoiceEnum(["normal", "sinusoidal"]) = field(  # type: ignore[valid-type]
        default="normal",
        metadata={
            "help": "initial values of the learned positions: normal noise (default; BERT, ELECTRA), or sinusoidal "
            "for short trainings"
        },
    )
    bf16_autocast: bool = field(
        default=False,
        metadata={
            "help": "matrix products in bfloat16; weights, gradients and optimizer state stay in float32 (default: off)"
        },
    )


def fill_size(args, size: str, embedding_dim: int | None = None) -> None:
    """Give the options of a named size that the command line left open."""
    layers, width, ffn_width, heads = SIZES[size]
    args.encoder_layers = getattr(args, "encoder_layers", layers)
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", width)
    args.encoder_ffn_embed_dim = getattr(args, "encoder_ffn_embed_dim", ffn_width)
    args.encoder_attention_heads = getattr(args, "encoder_attention_heads", heads)
    args.embedding_dim = getattr(args, "embedding_dim", embedding_dim or args.encoder_embed_dim)


def encoder_size(cfg: EncoderConfig, dictionary) -> EncoderSize:
    """What the options and the dictionary say of the encoder."""
    return EncoderSize(
        layers=cfg.encoder_layers,
        width=cfg.encoder_embed_dim,
        ffn_width=cfg.encoder_ffn_embed_dim,
        heads=cfg.encoder_attention_heads,
        embedding_dim=cfg.embedding_dim or cfg.encoder_embed_dim,
        vocabulary=len(dictionary),
        max_positions=cfg.max_positions,
        padding_id=dictionary.pad(),
        layer_norm_eps=cfg.layer_norm_eps,
        segments=cfg.segments,
        layer_groups=cfg.layer_groups,
        activation=str(cfg.activation_fn),
        dropout=cfg.dropout,
        attention_dropout=cfg.attention_dropout,
        activation_dropout=cfg.activation_dropout,
    )


def precision(cfg: EncoderConfig, device: torch.device):
    """The context the matrix products run in."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if cfg.bf16_autocast else nullcontext()
