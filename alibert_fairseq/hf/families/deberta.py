"""DeBERTa-v2's configuration and ours, and the discriminator that transformers has no class for."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from transformers import DebertaV2Config, DebertaV2Model, PretrainedConfig, PreTrainedModel
from transformers.activations import ACT2FN
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.models.deberta_v2.modeling_deberta_v2 import DebertaV2PreTrainedModel

from alibert_fairseq.hf.families.part import Part, check_heads
from alibert_fairseq.layers.relative import KINDS, Relative
from alibert_fairseq.models.size import EncoderSize


@dataclass(frozen=True)
class DebertaPart(Part):
    """A DeBERTa body. legacy: whether its head has BERT's names (`legacy` of the configuration)."""

    FEWEST_TYPES = 0  # DeBERTa has none

    factorised: bool = True
    legacy: bool = True

    @property
    def hugging_face_class(self) -> type[PreTrainedModel]:
        """The class itself."""
        return DebertaV2Detector if self.cls == DebertaV2Detector.__name__ else super().hugging_face_class

    @property
    def settings(self) -> dict:
        """Settings with which its class is read. transformers 4 would tie Microsoft's head to a wrong table."""
        return {"legacy": True} if self.legacy else {"legacy": False, "tie_word_embeddings": False}

    def config(self, size: EncoderSize, dictionary) -> PretrainedConfig:
        """The Hugging Face configuration of an encoder of this size."""
        relative = size.relative
        assert relative is not None
        config = super().config(size, dictionary)
        config.type_vocab_size = size.segments
        config.relative_attention = True
        config.position_buckets = relative.buckets or -1
        same = relative.longest == config.max_position_embeddings
        config.max_relative_positions = -1 if same else relative.longest
        config.pos_att_type = [kind for kind in reversed(KINDS) if kind in relative.kinds]
        config.share_att_key = relative.shared
        config.norm_rel_ebd = "layer_norm" if relative.normalised else "none"
        config.position_biased_input = relative.absolute
        config.legacy = self.legacy
        if relative.convolution:
            config.conv_kernel_size = relative.convolution
            config.conv_groups = relative.convolution_groups
            config.conv_act = relative.convolution_activation
        return config

    def size(self, config: PretrainedConfig) -> dict:
        """The fields of EncoderSize that a Hugging Face configuration says.

        Raises ValueError for what our encoder cannot be.
        """
        if not getattr(config, "relative_attention", False):
            raise ValueError("relative_attention is false; ours has relative positions")
        check_heads(config, "attention_head_size")
        kinds = config.pos_att_type or []
        if not kinds or set(kinds) - set(KINDS):
            raise ValueError(f"pos_att_type is {'|'.join(kinds) or 'empty'}; ours is c2p, p2c or both")
        if not hasattr(config, "embedding_size"):
            config.embedding_size = config.hidden_size
        longest = _number(config, "max_relative_positions", -1)
        convolution = _number(config, "conv_kernel_size", 0)
        of_convolution: dict[str, Any] = {
            "convolution": convolution,
            "convolution_groups": _number(config, "conv_groups", 1),
            "convolution_activation": getattr(config, "conv_act", "tanh"),
        }
        relative = Relative(
            buckets=max(0, _number(config, "position_buckets", -1)),
            longest=longest if longest > 0 else config.max_position_embeddings,
            kinds=tuple(kind for kind in KINDS if kind in kinds),
            shared=getattr(config, "share_att_key", False),
            normalised="layer_norm" in str(getattr(config, "norm_rel_ebd", "none")).lower(),
            absolute=getattr(config, "position_biased_input", True),
            **(of_convolution if convolution > 0 else {}),
        )
        return super().size(config) | {"relative": relative}


def _number(config: PretrainedConfig, name: str, missing: int) -> int:
    """A whole number of the configuration; `missing` where it has none, or null."""
    value = getattr(config, name, None)
    if value is not None and type(value) is not int:
        raise ValueError(f"{name} is {value!r}, not a whole number")
    return missing if value is None else value


class ReplacedTokenHead(nn.Module):
    """One score a token: LayerNorm of the token plus the first one, dense, activation, one row (microsoft/DeBERTa)."""

    def __init__(self, config: DebertaV2Config):
        super().__init__()
        self.LayerNorm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACT2FN[config.hidden_act]
        self.classifier = nn.Linear(config.hidden_size, 1)

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, C) to (B, T)."""
        states = self.LayerNorm(states[:, :1] + states)
        return self.classifier(self.activation(self.dense(states))).squeeze(-1)


class DebertaV2Detector(DebertaV2PreTrainedModel):
    """DeBERTaV3's discriminator, as its files hold it: `deberta` and `mask_predictions`."""

    def __init__(self, config: DebertaV2Config):
        super().__init__(config)
        self.deberta = DebertaV2Model(config)
        self.mask_predictions = ReplacedTokenHead(config)
        self.post_init()

    def save_pretrained(self, folder, **more) -> None:
        """Write the folder, under the name of the class that others read it with."""
        super().save_pretrained(folder, **more)
        self.config.architectures = [DebertaV2Model.__name__]
        self.config.save_pretrained(folder)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **more) -> TokenClassifierOutput:
        """(B, T) ids to the scores of tokens, larger where one looks replaced."""
        states = self.deberta(input_ids, attention_mask=attention_mask, **more).last_hidden_state
        return TokenClassifierOutput(logits=self.mask_predictions(states))
