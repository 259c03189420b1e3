"""Which Hugging Face classes our models become, and how their configurations say the same thing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch.nn as nn
import transformers
from transformers import PretrainedConfig, PreTrainedModel

from alibert_fairseq.hf import names
from alibert_fairseq.layers.rotary import Rotary
from alibert_fairseq.models.encoder import EncoderSize

# Hugging Face's configuration and EncoderSize.
FIELDS = (
    ("vocab_size", "vocabulary"), ("hidden_size", "width"), ("intermediate_size", "ffn_width"),
    ("num_hidden_layers", "layers"), ("num_attention_heads", "heads"), ("hidden_dropout_prob", "dropout"),
    ("attention_probs_dropout_prob", "attention_dropout"),
    ("layer_norm_eps", "layer_norm_eps"),
    ("pad_token_id", "padding_id"),
)  # fmt: skip
MODERN_FIELDS = (
    ("vocab_size", "vocabulary"), ("hidden_size", "width"), ("intermediate_size", "ffn_width"),
    ("num_hidden_layers", "layers"), ("num_attention_heads", "heads"), ("embedding_dropout", "dropout"),
    ("attention_dropout", "attention_dropout"), ("mlp_dropout", "activation_dropout"),
    ("norm_eps", "layer_norm_eps"), ("pad_token_id", "padding_id"), ("max_position_embeddings", "max_positions"),
)  # fmt: skip
ROTARY_FIELDS = (
    ("local_attention", "local_attention"), ("global_attn_every_n_layers", "global_every"),
    ("global_rope_theta", "global_theta"), ("local_rope_theta", "local_theta"),
)  # fmt: skip
# The first name is what is written. gelu_new and gelu_pytorch_tanh are one function, computed in another order.
ACTIVATIONS = {"gelu": ("gelu",), "gelu_tanh": ("gelu_new", "gelu_pytorch_tanh")}
OUR_ACTIVATION = {theirs: ours for ours, names_ in ACTIVATIONS.items() for theirs in names_}


def refuse_no_padding(config: PretrainedConfig) -> None:
    """Raise ValueError for a configuration without a padding id."""
    if config.pad_token_id is None:
        raise ValueError("pad_token_id is null; write the id of the tokenizer's pad_token into a copy of config.json")


def activation_of(name: str) -> str:
    """Ours by their name. Raises ValueError for another."""
    if name not in OUR_ACTIVATION:
        raise ValueError(f"the activation is {name!r}, ours are gelu and gelu_new")
    return OUR_ACTIVATION[name]


@dataclass(frozen=True)
class Part:
    """A part of one of our models and the Hugging Face class that it becomes."""

    cls: str
    name: str  # of the part in our model
    rows: Callable[[names.Parameters], list[names.Row]]
    counts_from_padding: bool = False  # positions begin at padding_id + 1, as fairseq's
    factorised: bool = False  # has a width of embeddings of its own
    grouped: bool = False  # has layers that share weights
    folder: str = "."

    @property
    def hugging_face_class(self) -> type[PreTrainedModel]:
        """The class itself."""
        return getattr(transformers, self.cls)

    def parameters(self, model: nn.Module) -> names.Parameters:
        """What the part of this model has."""
        part = getattr(model, self.name)
        size = part.sentence_encoder.size
        projected, sentence_head = hasattr(part.sentence_encoder, "embed_project"), hasattr(part, "sentence_head")
        return names.Parameters(size.groups, projected, size.segments > 0, size.padding_id, sentence_head)

    def config(self, size: EncoderSize, dictionary) -> PretrainedConfig:
        """The Hugging Face configuration of an encoder of this size."""
        settings = {theirs: getattr(size, ours) for theirs, ours in FIELDS}
        settings |= {
            "hidden_act": ACTIVATIONS[size.activation][0],
            "type_vocab_size": max(1, size.segments),
            "max_position_embeddings": size.max_positions + self.skipped(size.padding_id),
            "initializer_range": 0.02,
            "bos_token_id": dictionary.bos(),
            "eos_token_id": dictionary.eos(),
            "tie_word_embeddings": True,
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
        refuse_no_padding(config)
        if getattr(config, "position_embedding_type", "absolute") != "absolute":
            raise ValueError(f"positions are {config.position_embedding_type!r}, ours are learned and absolute")
        if getattr(config, "inner_group_num", 1) != 1:
            raise ValueError(f"inner_group_num is {config.inner_group_num}; ours is 1")
        return fields | {
            "activation": activation_of(config.hidden_act),
            "segments": config.type_vocab_size,
            "max_positions": config.max_position_embeddings - self.skipped(config.pad_token_id),
            "embedding_dim": config.embedding_size if self.factorised else config.hidden_size,
            "layer_groups": config.num_hidden_groups if self.grouped else None,
            "rotary": None,
        }

    def names_of(self, endings: tuple[str, ...]) -> list[str]:
        """Their names of what has one of these endings with us, outside the layers."""
        table = self.rows(names.Parameters(layers=0, projected=False, segments=False, padding_id=0))
        return [row.theirs for row in table if row.ours and row.ours.endswith(endings)]

    def skipped(self, padding_id: int) -> int:
        """Rows of their position table that no token has."""
        return padding_id + 1 if self.counts_from_padding else 0


class ModernPart(Part):
    """A modern body, whose configuration has names of its own."""

    def config(self, size: EncoderSize, dictionary) -> PretrainedConfig:
        """The Hugging Face configuration of an encoder of this size, as both majors of transformers read it."""
        assert size.rotary is not None
        settings = {theirs: getattr(size, ours) for theirs, ours in MODERN_FIELDS}
        settings |= {theirs: getattr(size.rotary, ours) for theirs, ours in ROTARY_FIELDS}
        begin, end = dictionary.bos(), dictionary.eos()
        settings |= {"hidden_activation": ACTIVATIONS[size.activation][0], "initializer_range": 0.02}
        settings |= {"bos_token_id": begin, "cls_token_id": begin, "eos_token_id": end, "sep_token_id": end}
        settings["classifier_activation"] = settings["hidden_activation"]
        config = self.hugging_face_class.config_class(**settings)
        for theirs, ours in ROTARY_FIELDS:  # transformers 5 drops some of the names that transformers 4 reads
            setattr(config, theirs, getattr(size.rotary, ours))
        return config

    def size(self, config: PretrainedConfig) -> dict:
        """The fields of EncoderSize that a Hugging Face configuration says.

        Raises ValueError for what our encoder cannot be.
        """
        fields = {ours: getattr(config, theirs) for theirs, ours in MODERN_FIELDS}
        refuse_no_padding(config)
        for name in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"):
            if getattr(config, name):
                raise ValueError(f"{name} is true; a modern body of ours has no biases")
        if not config.decoder_bias:
            raise ValueError("decoder_bias is false; ours has a bias there")
        if config.classifier_activation != config.hidden_activation:
            raise ValueError("its head has another activation than its layers")
        fields |= {"activation": activation_of(config.hidden_activation), "rotary": rotary_of(config)}
        return fields | {"segments": 0, "embedding_dim": config.hidden_size, "layer_groups": None}


def rotary_of(config: PretrainedConfig) -> Rotary:
    """What a configuration of either major of transformers says of positions. Raises ValueError for scaled ones."""
    kinds = getattr(config, "layer_types", None)
    if kinds is None:  # transformers 4
        fields = {ours: getattr(config, theirs) for theirs, ours in ROTARY_FIELDS}
        fields["global_every"] = min(fields["global_every"], config.num_hidden_layers)
        return Rotary(**fields | {"local_theta": fields["local_theta"] or fields["global_theta"]})
    every = next((n for n, kind in enumerate(kinds) if n and kind == "full_attention"), len(kinds))
    expected = ["sliding_attention" if n % every else "full_attention" for n in range(len(kinds))]
    if list(kinds) != expected:
        raise ValueError(f"its layers are {', '.join(kinds)}; ours are global at equal distances")
    if config.rope_parameters["sliding_attention"].get("rope_theta") is None:
        raise ValueError("local_rope_theta is null; write global_rope_theta's number there in a copy of config.json")
    of_all, near = (config.rope_parameters[kind] for kind in ("full_attention", "sliding_attention"))
    if {of_all.get("rope_type", "default"), near.get("rope_type", "default")} != {"default"}:
        raise ValueError("its rotary positions are scaled; ours are not")
    return Rotary(config.local_attention, every, of_all["rope_theta"], near["rope_theta"])


ROBERTA = Part("RobertaForMaskedLM", "encoder", names.roberta, counts_from_padding=True)
BERT = Part("BertForPreTraining", "encoder", names.bert)
BERT_WORDS = Part("BertForMaskedLM", "encoder", names.bert)
ALBERT = Part("AlbertForPreTraining", "encoder", names.albert, factorised=True, grouped=True)
ALBERT_WORDS = Part("AlbertForMaskedLM", "encoder", names.albert, factorised=True, grouped=True)
DISCRIMINATOR = Part("ElectraForPreTraining", "discriminator", names.discriminator, factorised=True)
GENERATOR = Part("ElectraForMaskedLM", "generator", names.generator, factorised=True, folder="generator")
MODERN = ModernPart("ModernBertForMaskedLM", "encoder", names.modern)
MODERN_GENERATOR = replace(MODERN, name="generator", rows=partial(names.modern, part="generator"), folder="generator")
# What our models may become, the class with a sentence head first.
CLASSES: dict[str, tuple[Part, ...]] = {"alibert_modern": (MODERN,), "alibert": (ROBERTA,)}
CLASSES |= {"segment_bert": (BERT, BERT_WORDS), "albert": (ALBERT, ALBERT_WORDS)}


def parts_of(model_name: str, sentence_head: bool) -> tuple[Part, ...]:
    """What a model of this plugin becomes. Of ELECTRA the discriminator stands first: it is what one fine-tunes."""
    if model_name == "electra":
        return DISCRIMINATOR, GENERATOR
    if model_name == "electra_modern":  # its detector stays here: no class of transformers has both heads
        return MODERN, MODERN_GENERATOR
    return (CLASSES[model_name][0 if sentence_head else -1],)
