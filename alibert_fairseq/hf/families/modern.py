"""ModernBERT's configuration and ours."""

from transformers import PretrainedConfig

from alibert_fairseq.hf.families.part import ACTIVATIONS, Part, activation_of, check_common, check_heads
from alibert_fairseq.layers.rotary import Rotary
from alibert_fairseq.models.size import EncoderSize

MODERN_FIELDS = (
    ("vocab_size", "vocabulary"), ("hidden_size", "width"), ("intermediate_size", "ffn_width"),
    ("num_hidden_layers", "layers"), ("num_attention_heads", "heads"), ("embedding_dropout", "dropout"),
    ("attention_dropout", "attention_dropout"), ("mlp_dropout", "activation_dropout"), ("norm_eps", "layer_norm_eps"),
    ("pad_token_id", "padding_id"), ("max_position_embeddings", "max_positions"), ("classifier_pooling", "pooling"),
)  # fmt: skip
ROTARY_FIELDS = (
    ("local_attention", "local_attention"), ("global_attn_every_n_layers", "global_every"),
    ("global_rope_theta", "global_theta"), ("local_rope_theta", "local_theta"),
)  # fmt: skip

OLDER_BASES = {"full_attention": "global_rope_theta", "sliding_attention": "local_rope_theta"}


class ModernPart(Part):
    """A modern body, whose configuration has names of its own."""

    def config(self, size: EncoderSize, dictionary) -> PretrainedConfig:
        """The Hugging Face configuration of an encoder of this size, as both majors of transformers read it."""
        assert size.rotary is not None
        settings = {theirs: getattr(size, ours) for theirs, ours in MODERN_FIELDS}
        settings |= {theirs: getattr(size.rotary, ours) for theirs, ours in ROTARY_FIELDS}
        begin, end = dictionary.bos(), dictionary.eos()
        settings |= {"hidden_activation": ACTIVATIONS[size.activation][0], "initializer_range": 0.02}
        settings["tie_word_embeddings"] = size.tied
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
        check_common(config)
        for name in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"):
            if getattr(config, name):
                raise ValueError(f"{name} is true; a modern body of ours has no biases")
        check_heads(config, "head_dim")
        if not config.decoder_bias:
            raise ValueError("decoder_bias is false; ours has a bias there")
        if config.classifier_activation != config.hidden_activation:
            raise ValueError("its head has another activation than its layers")
        fields |= {"activation": activation_of(config.hidden_activation), "rotary": rotary_of(config), "relative": None}
        return fields | {"segments": 0, "embedding_dim": config.hidden_size, "layer_groups": None}


def rotary_of(config: PretrainedConfig) -> Rotary:
    """What a configuration of either major of transformers says of positions. Raises ValueError for scaled ones."""
    scaling = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    blocks = [scaling, *(block for block in scaling.values() if isinstance(block, dict))]
    if {block.get(key, "default") for block in blocks for key in ("rope_type", "type")} != {"default"}:
        raise ValueError("its rotary positions are scaled; ours are not")
    for kind, name in OLDER_BASES.items():  # those of transformers 4, which does not read the newer ones
        older, newer = getattr(config, name, None), scaling.get(kind, {}).get("rope_theta")
        if None not in (older, newer) and older != newer:
            raise ValueError(
                f"{name} is {older:g}, in rope_parameters {newer:g}; write {name} into a copy of config.json"
            )
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
    return Rotary(config.local_attention, every, of_all["rope_theta"], near["rope_theta"])
