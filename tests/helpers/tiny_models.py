"""Small Hugging Face folders with random weights, of the form the exporter writes, for tests of the downstream side."""

import json
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, models, normalizers, processors
from tokenizers.pre_tokenizers import Metaspace, Punctuation, Sequence, WhitespaceSplit
from transformers import ElectraConfig, ElectraForMaskedLM, ElectraForPreTraining, RobertaConfig, RobertaForMaskedLM

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
WORDS = "le la patient douleur fièvre foie rein cuisse aspirine paracétamol mg de du et une traite".split()
PIECES = [f"▁{word}" for word in WORDS] + ["hépat", "▁hépat", "ite", "ique"]
CHARACTERS = list("abcdefghijklmnopqrstuvwxyzàâçéèêëîïôùûüœ0123456789.,;:()'’%/+-°µ")


def write_tokenizer(folder: Path, pieces: list[str] = PIECES) -> int:
    """A lower-casing Unigram tokenizer with `<s> A </s>` around a sequence; returns its size."""
    vocabulary = [(name, 0.0) for name in SPECIALS] + [("▁", -9.0)]
    vocabulary += [(piece, -5.0) for piece in pieces] + [(character, -12.0) for character in CHARACTERS]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = Sequence([WhitespaceSplit(), Punctuation("isolated"), Metaspace(prepend_scheme="always")])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    tokenizer.add_special_tokens([*SPECIALS, AddedToken("<mask>", lstrip=True)])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 32, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return tokenizer.get_vocab_size()


def write_roberta(folder: Path, width: int = 16, layers: int = 1) -> Path:
    """A RobertaForMaskedLM folder for 32 tokens."""
    size = write_tokenizer(folder)
    torch.manual_seed(1)
    config = RobertaConfig(
        vocab_size=size,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * width,
        max_position_embeddings=34,
        type_vocab_size=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    RobertaForMaskedLM(config).save_pretrained(folder)
    return folder


def write_electra(folder: Path, width: int = 16, layers: int = 1) -> Path:
    """An ElectraForPreTraining folder with its generator in generator/, for 32 tokens."""
    for place, kind in ((folder, ElectraForPreTraining), (folder / "generator", ElectraForMaskedLM)):
        size = write_tokenizer(place)
        torch.manual_seed(1)
        config = ElectraConfig(
            vocab_size=size, hidden_size=width, embedding_size=width, num_hidden_layers=layers, num_attention_heads=2,
            intermediate_size=2 * width, max_position_embeddings=32, type_vocab_size=1, pad_token_id=1,
        )  # fmt: skip
        kind(config).save_pretrained(place)
    return folder
