"""The configurations of the encoders that French users have, with their published numbers, and folders made of them.

Where a repository's config.json could not be read, the numbers are those of its authors' training code.
docs/published.md says which.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from published_models import class_of, random_model
from published_tokenizers import made, write_tokenizer

BASE = {
    "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02,
}  # fmt: skip
ROBERTA = BASE | {"type_vocab_size": 1, "max_position_embeddings": 514, "position_embedding_type": "absolute"}
MODERN = {
    "hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12, "intermediate_size": 1152,
    "hidden_activation": "gelu", "max_position_embeddings": 8192, "norm_eps": 1e-5, "layer_norm_eps": 1e-5,
    "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "local_attention": 128,
    "attention_bias": False, "attention_dropout": 0.0, "embedding_dropout": 0.0, "mlp_bias": False, "mlp_dropout": 0.0,
    "norm_bias": False, "decoder_bias": True, "classifier_bias": False, "classifier_activation": "gelu",
    "classifier_pooling": "mean", "position_embedding_type": "absolute",
}  # fmt: skip
LARGE = {"hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "intermediate_size": 2624}
CAMEMBERT = {"vocab_size": 32005, "layer_norm_eps": 1e-5, "output_past": True}
DEBERTAV2 = {
    "conv_act": "gelu", "conv_kernel_size": 0, "embedding_size": 768, "layer_norm_eps": 1e-7,
    "max_position_embeddings": 1024, "max_relative_positions": -1, "norm_rel_ebd": "layer_norm", "pooler_dropout": 0,
    "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "position_buckets": 256, "share_att_key": True,
    "relative_attention": True, "type_vocab_size": 0, "vocab_size": 32768, "model_name": "camembertav2-base",
}  # fmt: skip


@dataclass(frozen=True)
class Model:
    """A published model."""

    cls: str
    settings: dict  # of config.json, its special ids left out
    tokenizer: str  # the kind of published_tokenizers
    headless: bool = False  # the folder holds the encoder alone
    tokenizer_class: str | None = None  # of tokenizer_config.json, where it is not that of the kind


MODELS = {
    "almanach/camembert-base": Model("CamembertForMaskedLM", ROBERTA | CAMEMBERT, "camembert"),
    "almanach/camembert-bio-base": Model("CamembertForMaskedLM", ROBERTA | CAMEMBERT, "camembert"),
    "jknafou/TransBERT-bio-fr": Model(
        "RobertaForMaskedLM", ROBERTA | {"vocab_size": 32002, "layer_norm_eps": 1e-12}, "transbert"
    ),
    "Dr-BERT/DrBERT-7GB": Model(
        "CamembertForMaskedLM", ROBERTA | {"vocab_size": 32005, "layer_norm_eps": 1e-12}, "drbert"
    ),
    "almanach/camembertv2-base": Model(
        "RobertaForMaskedLM",
        ROBERTA | {"vocab_size": 32768, "layer_norm_eps": 1e-7, "max_position_embeddings": 1025, "embedding_size": 768},
        "camembertv2",
    ),
    "doctolib-lab/doctobert-fr-base": Model(
        "RobertaForMaskedLM", ROBERTA | {"vocab_size": 32768, "layer_norm_eps": 1e-12}, "doctobert"
    ),
    "almanach/camembertav2-base": Model(
        "DebertaV2ForMaskedLM", BASE | DEBERTAV2, "camembertv2", True, "DebertaV2Tokenizer"
    ),
    "almanach/moderncamembert-base": Model("ModernBertForMaskedLM", MODERN | {"vocab_size": 32768}, "camembertv2"),
    "almanach/ModernCamemBERT-bio-large": Model(
        "ModernBertForMaskedLM", MODERN | LARGE | {"vocab_size": 32768}, "camembertv2"
    ),
    "doctolib-lab/doctomodernbert-fr-base": Model(
        "ModernBertForMaskedLM", MODERN | {"vocab_size": 50368, "tie_word_embeddings": True}, "doctomodernbert"
    ),
    "thomas-sounack/BioClinical-ModernBERT-base": Model(
        "ModernBertForMaskedLM", MODERN | {"vocab_size": 50368}, "modernbert"
    ),
}
# For a test of a second: the same forms, three layers of 32.
SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 48}


def write_published(folder: Path, name: str, **changed) -> Path:
    """The folder of a published model with random weights and a tokenizer of its kind."""
    model = MODELS[name]
    named = {"tokenizer_class": model.tokenizer_class} if model.tokenizer_class else {}
    tokenizer = write_tokenizer(folder, model.tokenizer, **named)
    tokens = made(model.tokenizer)[1]
    ids = {role: tokenizer.token_to_id(tokens[f"{role}_token"]) for role in ("pad", "cls", "sep")}
    settings = model.settings | {"pad_token_id": ids["pad"], "bos_token_id": ids["cls"], "eos_token_id": ids["sep"]}
    if model.cls.startswith("ModernBert"):
        settings |= {"cls_token_id": ids["cls"], "sep_token_id": ids["sep"]}
    if name.endswith("doctobert-fr-base"):  # its config.json has roberta-base's
        settings |= {"bos_token_id": 0, "eos_token_id": 2}
    if "embedding_size" in settings and "hidden_size" in changed:
        settings["embedding_size"] = changed["hidden_size"]
    config = class_of(model.cls).config_class(**settings | changed)
    written = random_model(model.cls, config, noise=0.1 if "hidden_size" in changed else 0.02)
    if config.model_type in ("roberta", "camembert"):
        written.base_model.embeddings.token_type_embeddings.weight.data.zero_()
    (written.base_model if model.headless else written).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text()) | settings | changed
    (folder / "config.json").write_text(json.dumps(config))  # with the names of before transformers 5
    return folder
