"""Options every model of this plugin has, and how a named size fills those the command line leaves open."""

from contextlib import nullcontext
from dataclasses import dataclass

import torch
from fairseq.dataclass import ChoiceEnum, FairseqDataclass

from alibert_fairseq.layers.relative import Relative
from alibert_fairseq.layers.rotary import Rotary
from alibert_fairseq.models.size import ACTIVATIONS, EncoderSize
from alibert_fairseq.options import OptionalInt, option

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

    encoder_layers: int = option(12, "number of layers (default: that of --arch)")
    encoder_embed_dim: int = option(768, "width of the encoder (default: that of --arch)")
    encoder_ffn_embed_dim: int = option(3072, "width inside the feed-forward blocks (default: that of --arch)")
    encoder_attention_heads: int = option(12,
        "number of attention heads, a divisor of the width (default: that of --arch)")  # fmt: skip
    embedding_dim: OptionalInt = option(None, "width of the embeddings (default: that of --arch; ELECTRA-Small: 128)")
    max_positions: int = option(512, "longest sequence, <s> and </s> included (default: 512, as AliBERT)")
    segments: int = option(0, "number of segment embeddings (default: that of --arch; BERT, ALBERT: 2; RoBERTa: 0)")
    layer_groups: OptionalInt = option(None,
        "number of ALBERT's layers with weights of their own, each used several times (default: 1)")  # fmt: skip
    activation_fn: ChoiceEnum(list(ACTIVATIONS)) = option("gelu",  # type: ignore[valid-type]
        "activation: gelu by the error function (default; BERT, ELECTRA) or gelu_tanh (ALBERT)")  # fmt: skip
    layer_norm_eps: float = option(1e-12,
        "epsilon of every LayerNorm (default: 1e-12, as BERT and ELECTRA; RoBERTa: 1e-5)")  # fmt: skip
    dropout: float = option(0.1, "dropout after embeddings and sub-layers (default: 0.1, as BERT and ELECTRA)")
    attention_dropout: float = option(0.1, "dropout on attention weights (default: 0.1, as BERT and ELECTRA)")
    activation_dropout: float = option(0.0, "dropout after the GELU (default: 0, as BERT and ELECTRA)")
    position_init: ChoiceEnum(["normal", "sinusoidal"]) = option("normal",  # type: ignore[valid-type]
        "initial values of the learned positions: normal noise (default; BERT, ELECTRA), "
        "or sinusoidal for short trainings")  # fmt: skip
    new_positions: ChoiceEnum(["initial", "copied"]) = option("initial",  # type: ignore[valid-type]
        "positions beyond those of --finetune-from-model: as initialised (default), or copied, the known ones in turn "
        "(Longformer)")  # fmt: skip
    output_bias: ChoiceEnum(["zero", "unigram"]) = option("zero",  # type: ignore[valid-type]
        "initial bias of each subword's score: zero (default; BERT, ELECTRA), or unigram, the "
        "logarithm of its frequency")  # fmt: skip
    untied_output_words: bool = option(False,
        "table of output words beside that of input words (default: off, one table, as BERT)")  # fmt: skip
    compile: bool = option(False, "forward pass compiled by torch.compile, for GPUs (default: off)")
    bf16_autocast: bool = option(False,
        "matrix products in bfloat16; weights, gradients and optimizer state "
        "stay in float32 (default: off)")  # fmt: skip
    measure_precision: bool = option(False,
        "float32 or --bf16-autocast, whichever is faster in a measurement of some seconds at the start "
        "(default: off)")  # fmt: skip


# Classes of transformers whose head computes the GELU by the error function, whatever their layers compute.
EXACT_GELU = ("RobertaForMaskedLM", "ElectraForMaskedLM")


def fill_size(args, size: str, embedding_dim: int | None = None, sizes=SIZES, **others) -> None:
    """Give the options of a named size, and others, that the command line left open."""
    names = ("encoder_layers", "encoder_embed_dim", "encoder_ffn_embed_dim", "encoder_attention_heads")
    for name, value in (dict(zip(names, sizes[size], strict=True)) | others).items():
        setattr(args, name, getattr(args, name, value))
    args.embedding_dim = getattr(args, "embedding_dim", embedding_dim or args.encoder_embed_dim)


def check_head(option: str, activation: str, becomes: str) -> None:
    """Raise ValueError for an activation that the head of a Hugging Face class does not follow.

    option: where the user gave it. activation: its name there. becomes: the class.
    """
    if becomes in EXACT_GELU and activation != "gelu":
        raise ValueError(
            f"{option} {activation}: transformers computes the head of {becomes} with gelu, and our models have one "
            "activation; only gelu fits"
        )


def encoder_size(
    cfg: EncoderConfig, dictionary, rotary: Rotary | None = None, relative: Relative | None = None
) -> EncoderSize:
    """What the options and the dictionary say of the encoder."""
    return EncoderSize(
        layers=cfg.encoder_layers, width=cfg.encoder_embed_dim, ffn_width=cfg.encoder_ffn_embed_dim,
        heads=cfg.encoder_attention_heads, embedding_dim=cfg.embedding_dim or cfg.encoder_embed_dim,
        vocabulary=len(dictionary), max_positions=cfg.max_positions, padding_id=dictionary.pad(),
        layer_norm_eps=cfg.layer_norm_eps, segments=cfg.segments, layer_groups=cfg.layer_groups,
        activation=str(cfg.activation_fn), dropout=cfg.dropout, attention_dropout=cfg.attention_dropout,
        activation_dropout=cfg.activation_dropout, rotary=rotary, relative=relative,
        tied=not cfg.untied_output_words,
    )  # fmt: skip


def precision(cfg: EncoderConfig, device: torch.device):
    """The context the matrix products run in."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if cfg.bf16_autocast else nullcontext()
