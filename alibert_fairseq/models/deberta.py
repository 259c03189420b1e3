"""DeBERTa: BERT's body with disentangled attention, trained by masked words or by replaced token detection."""

from dataclasses import dataclass
from functools import partial

from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture

from alibert_fairseq.layers.relative import CONVOLUTION_ACTIVATIONS, Relative
from alibert_fairseq.models.bert import MaskedLMModel
from alibert_fairseq.models.config import EncoderConfig, encoder_size, fill_size
from alibert_fairseq.models.electra import ElectraConfig, ElectraModel
from alibert_fairseq.models.embedding_sharing import SHARING
from alibert_fairseq.models.size import EncoderSize
from alibert_fairseq.options import OptionalInt, option

SIZES = {
    # layers, width, feed-forward width, heads
    "tiny": (4, 128, 512, 2),  # as alibert_tiny
    "small": (6, 768, 3072, 12),  # microsoft/deberta-v3-small
    "base": (12, 768, 3072, 12),  # microsoft/deberta-v3-base
    "large": (24, 1024, 4096, 16),  # microsoft/deberta-v3-large
}


@dataclass
class DebertaConfig(EncoderConfig):
    """The options of relative positions."""

    layer_norm_eps: float = option(1e-7, "epsilon of every LayerNorm (default: 1e-7, as DeBERTa)")
    position_buckets: int = option(256,
        "number of rows for the distances of a direction (default: 256, as DeBERTaV3; 0: one a distance)")  # fmt: skip
    max_relative_positions: int = option(512,
        "distance from which on all tokens are equally far (default: 512, as DeBERTaV3)")  # fmt: skip
    position_attention: ChoiceEnum(["c2p|p2c", "c2p", "p2c"]) = option("c2p|p2c",  # type: ignore[valid-type]
        "parts of the scores that see distances: content to position, position to content "
        "(default: c2p|p2c, both)")  # fmt: skip
    own_position_projections: bool = option(False,
        "projections of distances beside those of contents (default: off, as DeBERTaV3)")  # fmt: skip
    plain_relative_embeddings: bool = option(False,
        "distances without a LayerNorm (default: off, as DeBERTaV3)")  # fmt: skip
    absolute_positions: bool = option(False, "learned absolute positions too (default: off, as DeBERTaV3)")
    convolution_width: int = option(0,
        "number of tokens that a convolution beside the first layer reads "
        "(default: 0, none; DeBERTa-v2-xlarge: 3)")  # fmt: skip
    convolution_groups: int = option(1, "number of groups of that convolution (default: 1)")
    convolution_activation: ChoiceEnum(list(CONVOLUTION_ACTIVATIONS)) = option("tanh",  # type: ignore[valid-type]
        "activation of that convolution (default: tanh; DeBERTa-v2-xlarge: gelu)")  # fmt: skip


def deberta_size(cfg: DebertaConfig, dictionary) -> EncoderSize:
    """What the options and the dictionary say of the encoder. Raises ValueError for options of other bodies."""
    if cfg.position_init != "normal" and not cfg.absolute_positions:
        raise ValueError(f"--position-init {cfg.position_init}: relative positions have no such table; leave it out.")
    relative = Relative(
        buckets=cfg.position_buckets, longest=cfg.max_relative_positions,
        kinds=tuple(str(cfg.position_attention).split("|")), shared=not cfg.own_position_projections,
        normalised=not cfg.plain_relative_embeddings, absolute=cfg.absolute_positions,
        convolution=cfg.convolution_width, convolution_groups=cfg.convolution_groups,
        convolution_activation=str(cfg.convolution_activation),
    )  # fmt: skip
    return encoder_size(cfg, dictionary, relative=relative)


@register_model("alibert_deberta", dataclass=DebertaConfig)
class DebertaModel(MaskedLMModel):
    """A DeBERTa body trained by masked language modelling; DeBERTa-v2 to Hugging Face."""

    takes_a_sentence_head = False
    size = staticmethod(deberta_size)


@dataclass
class ElectraDebertaConfig(DebertaConfig, ElectraConfig):
    """The options of both. Defaults: DeBERTaV3, whose generator is as wide and half as deep."""

    generator_width_fraction: float = option(1.0,
        "generator's width, heads and feed-forward width relative to the discriminator's (default: 1)")  # fmt: skip
    generator_layers: OptionalInt = option(None, "generator's depth (default: half of the discriminator's)")
    embedding_sharing: ChoiceEnum(list(SHARING)) = option("gradient_disentangled",  # type: ignore[valid-type]
        "embeddings of generator and discriminator: all shared (ELECTRA), none, or "
        "gradient_disentangled (default; DeBERTaV3)")  # fmt: skip


@register_model("electra_deberta", dataclass=ElectraDebertaConfig)
class ElectraDebertaModel(ElectraModel):
    """Generator and discriminator of DeBERTa bodies (DeBERTaV3, He et al. 2021)."""

    size = staticmethod(deberta_size)
    becomes = "DebertaV2ForMaskedLM"
    generator_depth = 0.5


for _size in SIZES:
    register_model_architecture("alibert_deberta", f"alibert_deberta_{_size}")(
        partial(fill_size, size=_size, sizes=SIZES)
    )
    register_model_architecture("electra_deberta", f"electra_deberta_{_size}")(
        partial(fill_size, size=_size, sizes=SIZES, generator_width_fraction=1.0)
    )
