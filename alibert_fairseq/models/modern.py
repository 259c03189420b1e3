"""AliBERT with a modern body: pre-LN, rotary positions, GeGLU, no biases, local and global layers (ModernBERT)."""

from dataclasses import dataclass, replace
from functools import partial

from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture

from alibert_fairseq.layers.rotary import Rotary
from alibert_fairseq.models.bert import MaskedLMModel
from alibert_fairseq.models.config import EncoderConfig, encoder_size, fill_size
from alibert_fairseq.models.initialisation import start_by_fan_in
from alibert_fairseq.models.size import EncoderSize
from alibert_fairseq.options import option

SIZES = {
    # layers, width, feed-forward width (of each half of GeGLU), heads
    "tiny": (4, 128, 344, 2),  # as many weights as alibert_tiny: two thirds of its feed-forward width
    "small": (12, 256, 688, 4),
    "base": (22, 768, 1152, 12),  # answerdotai/ModernBERT-base
    "large": (28, 1024, 2624, 16),  # answerdotai/ModernBERT-large
}


@dataclass
class ModernConfig(EncoderConfig):
    """The options of rotary positions and of local attention; without dropout, as ModernBERT's configuration."""

    dropout: float = option(0.0, "dropout after embeddings and sub-layers (default: 0)")
    attention_dropout: float = option(0.0, "dropout on attention weights (default: 0)")
    layer_norm_eps: float = option(1e-5, "epsilon of every LayerNorm (default: 1e-5, as ModernBERT)")
    local_attention: int = option(128, "number of tokens that a local layer sees (default: 128, as ModernBERT)")
    global_attention_every: int = option(3,
        "distance of two layers that see all tokens (default: 3, as ModernBERT)")  # fmt: skip
    global_rope_theta: float = option(160000.0,
        "base of the rotary wavelengths of global layers (default: 160000, as ModernBERT)")  # fmt: skip
    local_rope_theta: float = option(10000.0,
        "base of the rotary wavelengths of local layers (default: 10000, as ModernBERT)")  # fmt: skip
    classifier_pooling: ChoiceEnum(["cls", "mean"]) = option("cls",  # type: ignore[valid-type]
        "what classifiers on the exported model read: the first token, or the mean of all "
        "(default: cls, as transformers)")  # fmt: skip


@register_model("alibert_modern", dataclass=ModernConfig)
class ModernModel(MaskedLMModel):
    """A modern body trained by masked language modelling; ModernBERT to Hugging Face."""

    takes_a_sentence_head = False
    holds_one_width = "ModernBertForMaskedLM"

    def __init__(self, cfg: ModernConfig, dictionary):
        super().__init__(cfg, dictionary)
        start_by_fan_in(self.encoder.sentence_encoder)

    @staticmethod
    def size(cfg, dictionary) -> EncoderSize:
        """What the options and the dictionary say of it. Raises ValueError for an option of other bodies."""
        if cfg.position_init != "normal":
            raise ValueError(f"--position-init {cfg.position_init}: rotary positions have no table; leave it out.")
        if cfg.segments:
            raise ValueError(f"--segments {cfg.segments}: ModernBERT has no segments; leave it out.")
        rotary = Rotary(cfg.local_attention, cfg.global_attention_every, cfg.global_rope_theta, cfg.local_rope_theta)
        pooling = str(getattr(cfg, "classifier_pooling", "cls"))  # absent in an older checkpoint
        return replace(encoder_size(cfg, dictionary, rotary=rotary), pooling=pooling)


for _size in SIZES:
    register_model_architecture("alibert_modern", f"alibert_modern_{_size}")(
        partial(fill_size, size=_size, sizes=SIZES)
    )
