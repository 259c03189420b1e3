"""Hugging Face folders as others publish them, tiny and with random weights: what a hospital would continue from."""

import json
from pathlib import Path

import torch
import transformers
from published_tokenizers import made, write_tokenizer
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from alibert_fairseq.hf.families.deberta import DebertaV2Detector

SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
FAMILIES = {
    "camembert": ("CamembertForMaskedLM", "camembert"),
    "drbert": ("CamembertForMaskedLM", "drbert"),
    "roberta": ("RobertaForMaskedLM", "byte-level"),
    "bert": ("BertForPreTraining", "wordpiece"),
    "bert_words": ("BertForMaskedLM", "wordpiece"),
    "albert": ("AlbertForPreTraining", "albert"),
    "albert_words": ("AlbertForMaskedLM", "albert"),
    "modernbert": ("ModernBertForMaskedLM", "byte-level"),
    "deberta": ("DebertaV2ForMaskedLM", "wordpiece"),
    "deberta_xlarge": ("DebertaV2ForMaskedLM", "camembert"),
    "deberta_rtd": ("DebertaV2Detector", "wordpiece"),
    "electra": ("ElectraForPreTraining", "wordpiece"),
    "electra_own": ("ElectraForPreTraining", "wordpiece"),
}


DEBERTA = {
    "relative_attention": True, "position_buckets": 16, "max_relative_positions": -1, "pos_att_type": ["p2c", "c2p"],
    "share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False, "layer_norm_eps": 1e-7,
    "type_vocab_size": 0,
}  # fmt: skip
# The convolution is deberta-v2-xlarge's. Own projections of distances are the first DeBERTa's; v2 shares them.
XLARGE = {"share_att_key": False, "conv_kernel_size": 3, "conv_act": "gelu"}
DETECTORS = ("electra", "electra_own", "deberta_rtd")  # with a generator


def config_of(cls: str, tokenizer: Tokenizer, tokens: dict, **changed):
    """The configuration of a tiny model of 64 positions."""
    numbers = {name: tokenizer.token_to_id(tokens[f"{name}_token"]) for name in ("pad", "mask")}
    begin, end = (tokenizer.token_to_id(tokens[f"{name}_token"]) for name in ("cls", "sep"))
    settings = SHAPE | {
        "vocab_size": tokenizer.get_vocab_size(), "pad_token_id": numbers["pad"], "bos_token_id": begin,
        "eos_token_id": end, "max_position_embeddings": 64,
    }  # fmt: skip
    if cls.startswith(("Roberta", "Camembert")):
        settings |= {"type_vocab_size": 1, "max_position_embeddings": 66, "layer_norm_eps": 1e-5}
    if cls.startswith("Albert"):
        settings |= {"embedding_size": 16, "hidden_act": "gelu_new"}
    if cls.startswith("Electra"):
        settings |= {"embedding_size": 16}
    if cls.startswith("ModernBert"):  # three layers, of which two are local, and sequences longer than their window
        settings |= {"num_hidden_layers": 3, "local_attention": 16, "cls_token_id": begin, "sep_token_id": end}
    if cls.startswith("DebertaV2"):  # DeBERTaV3's
        settings |= DEBERTA
    return class_of(cls).config_class(**settings | changed)


def class_of(name: str) -> type[transformers.PreTrainedModel]:
    """A class of transformers, or the one that it lacks."""
    return DebertaV2Detector if name == "DebertaV2Detector" else getattr(transformers, name)


def random_model(cls: str, config, seed: int = 1, noise: float = 0.1):
    """A model whose every parameter is random: what is zero or one at the start of a training shows no mistake."""
    torch.manual_seed(seed)
    model = class_of(cls)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(noise * torch.randn_like(parameter))
    return model


def write_model(folder: Path, family: str, **changed) -> Path:
    """A whole folder; ELECTRA's has its generator inside, with the same embedding layer but for `electra_own`."""
    cls, kind = FAMILIES[family]
    tokenizer = write_tokenizer(folder, kind)
    changed = (XLARGE if family == "deberta_xlarge" else {}) | changed
    model = random_model(cls, config_of(cls, tokenizer, made(kind)[1], **changed))
    if cls.startswith(("Roberta", "Camembert")) and "type_vocab_size" not in changed:
        model.base_model.embeddings.token_type_embeddings.weight.data.zero_()  # the published ones'
    if family in DETECTORS:
        _write_generator(folder / "generator", model, family)
    model.save_pretrained(folder)
    return folder


def _write_generator(folder: Path, discriminator, family: str) -> None:
    shared, cls = family == "electra", "DebertaV2ForMaskedLM" if family == "deberta_rtd" else "ElectraForMaskedLM"
    tokenizer = write_tokenizer(folder, "wordpiece")
    size = {"hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 40, "num_hidden_layers": 1}
    size |= {"electra": {}, "electra_own": {"embedding_size": 24}, "deberta_rtd": {"embedding_size": 32}}[family]
    config = config_of(cls, tokenizer, made("wordpiece")[1], **size)
    generator = random_model(cls, config, seed=2)
    if shared:
        generator.electra.embeddings.load_state_dict(discriminator.electra.embeddings.state_dict())
    generator.save_pretrained(folder)


def changed_config(folder: Path, **settings) -> Path:
    """A folder whose configuration says otherwise."""
    config = json.loads((folder / "config.json").read_text()) | settings
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def untied(folder: Path) -> None:
    """Only the file tells of it: transformers 4 ties the two while it reads them."""
    weights = load_file(folder / "model.safetensors")
    table = next(value for name, value in weights.items() if name.endswith("word_embeddings.weight"))
    weights["lm_head.decoder.weight"] = table + 1
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def write_tokenizer_config(folder: Path, **settings) -> None:
    """Change the tokenizer's configuration."""
    config = json.loads((folder / "tokenizer_config.json").read_text()) | settings
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
