"""A part of one of our models, the Hugging Face class that it becomes, and how its configuration says the same."""

from collections.abc import Callable
from dataclasses import dataclass

import torch.nn as nn
import transformers
from transformers import PretrainedConfig, PreTrainedModel

from alibert_fairseq.hf.families.rows import Parameters, Row
from alibert_fairseq.models.config import check_head
from alibert_fairseq.models.size import EncoderSize

# Hugging Face's configuration and EncoderSize.
FIELDS = (
    ("vocab_size", "vocabulary"), ("hidden_size", "width"), ("intermediate_size", "ffn_width"),
    ("num_hidden_layers", "layers"), ("num_attention_heads", "heads"), ("hidden_dropout_prob", "dropout"),
    ("attention_probs_dropout_prob", "attention_dropout"),
    ("layer_norm_eps", "layer_norm_eps"),
    ("pad_token_id", "padding_id"),
)  # fmt: skip
# The first name is what is written. gelu_new and gelu_pytorch_tanh are one function, computed in another order.
ACTIVATIONS = {"gelu": ("gelu",), "gelu_tanh": ("gelu_new", "gelu_pytorch_tanh")}
OUR_ACTIVATION = {theirs: ours for ours, names_ in ACTIVATIONS.items() for theirs in names_}


def check_common(config: PretrainedConfig) -> None:
    """Raise ValueError for a decoder's configuration, or one without the padding id of a word."""
    if getattr(config, "is_decoder", False):
        raise ValueError("is_decoder is true; ours reads in both directions")
    number = config.pad_token_id
    if type(number) is not int or not 0 <= number < int(config.vocab_size):
        raise ValueError(
            f"pad_token_id is {'null' if number is None else number}; write the id of the tokenizer's pad_token into a "
            "copy of config.json"
        )


def activation_of(name: str) -> str:
    """Ours by their name. Raises ValueError for another."""
    if name not in OUR_ACTIVATION:
        raise ValueError(f"the activation is {name!r}; only {', '.join(OUR_ACTIVATION)} can be continued")
    return OUR_ACTIVATION[name]


def check_heads(config: PretrainedConfig, name: str) -> None:
    """Raise ValueError for heads that are not width / heads wide; name: of their width in the configuration."""
    ours = config.hidden_size // config.num_attention_heads
    if (theirs := getattr(config, name, None) or ours) != ours:
        raise ValueError(f"its heads are {theirs} wide; ours are width / heads, {ours}")


@dataclass(frozen=True)
class Part:
    """A part of one of our models and the Hugging Face class that it becomes."""

    FEWEST_TYPES = 1  # rows of token types with which transformers can compute its class

    cls: str
    name: str  # of the part in our model
    rows: Callable[[Parameters], list[Row]]
    counts_from_padding: bool = False  # positions begin at padding_id + 1, as fairseq's
    factorised: bool = False  # has a width of embeddings of its own
    grouped: bool = False  # has layers that share weights
    folder: str = "."

    @property
    def hugging_face_class(self) -> type[PreTrainedModel]:
        """The class itself."""
        return getattr(transformers, self.cls)

    @property
    def settings(self) -> dict:
        """Settings with which its class is read, whatever the folder's configuration says."""
        return {}

    def parameters(self, model: nn.Module) -> Parameters:
        """What the part of this model has."""
        part = getattr(model, self.name)
        size = part.sentence_encoder.size
        projected, sentence_head = hasattr(part.sentence_encoder, "embed_project"), hasattr(part, "sentence_head")
        return Parameters(size.groups, projected, size.segments > 0, size.padding_id, sentence_head, size.relative)

    def config(self, size: EncoderSize, dictionary) -> PretrainedConfig:
        """The Hugging Face configuration of an encoder of this size. Raises ValueError where there is none."""
        check_head("--activation-fn", size.activation, self.cls)
        settings = {theirs: getattr(size, ours) for theirs, ours in FIELDS}
        settings |= {
            "hidden_act": ACTIVATIONS[size.activation][0],
            "type_vocab_size": max(1, size.segments),
            "max_position_embeddings": size.max_positions + self.skipped(size.padding_id),
            "initializer_range": 0.02,
            "bos_token_id": dictionary.bos(),
            "eos_token_id": dictionary.eos(),
            "tie_word_embeddings": size.tied,
        }
        if self.factorised:
            settings["embedding_size"] = size.embedding_dim
        if self.grouped:
            settings |= {"num_hidden_groups": size.groups, "inner_group_num": 1}
        return self.hugging_face_class.config_class(**settings)

    def size(self, config: PretrainedConfig) -> dict:
        """The fields of EncoderSize that a Hugging Face configuration says.

        Raises ValueError for what our encoder cannot be.
        """
        fields = {ours: getattr(config, theirs) for theirs, ours in FIELDS}
        check_common(config)
        activation = activation_of(config.hidden_act)
        check_head("hidden_act", config.hidden_act, self.cls)
        if getattr(config, "position_embedding_type", "absolute") != "absolute":
            raise ValueError(f"positions are {config.position_embedding_type!r}, ours are learned and absolute")
        if config.type_vocab_size < self.FEWEST_TYPES:
            raise ValueError(f"type_vocab_size is {config.type_vocab_size}; write 1 into a copy of config.json")
        if getattr(config, "inner_group_num", 1) != 1:
            raise ValueError(f"inner_group_num is {config.inner_group_num}; ours is 1")
        if self.grouped and config.embedding_size == config.hidden_size:
            raise ValueError(
                f"embedding_size and hidden_size are both {config.hidden_size}; ours has narrower embeddings"
            )
        return fields | {
            "activation": activation,
            "segments": config.type_vocab_size,
            "max_positions": config.max_position_embeddings - self.skipped(config.pad_token_id),
            "embedding_dim": config.embedding_size if self.factorised else config.hidden_size,
            "layer_groups": config.num_hidden_groups if self.grouped else None,
            "rotary": None,
            "relative": None,
        }

    def names_of(self, endings: tuple[str, ...]) -> list[str]:
        """Their names of what has one of these endings with us, outside the layers."""
        table = self.rows(Parameters(layers=0, projected=False, segments=False, padding_id=0))
        return [row.theirs for row in table if row.ours and row.ours.endswith(endings)]

    def skipped(self, padding_id: int) -> int:
        """Rows of their position table that no token has."""
        return padding_id + 1 if self.counts_from_padding else 0
