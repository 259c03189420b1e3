"""What an exported configuration says of the encoder."""

from dataclasses import asdict

import pytest
from model_helpers import dictionary

from alibert_fairseq.hf.families.table import ALBERT, ALBERT_WORDS, BERT, BERT_WORDS, DISCRIMINATOR, GENERATOR, ROBERTA
from alibert_fairseq.models.config import EXACT_GELU
from alibert_fairseq.models.size import EncoderSize

PARTS = (ROBERTA, BERT, BERT_WORDS, ALBERT, ALBERT_WORDS, DISCRIMINATOR, GENERATOR)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.cls)
def test_a_configuration_holds_every_field_of_the_size(part):
    """No value is a default of Hugging Face's, so none may be left out."""
    size = EncoderSize(
        layers=3, width=24, ffn_width=40, heads=6, embedding_dim=8 if part.factorised else 24, vocabulary=47,
        max_positions=70, padding_id=1, layer_norm_eps=1e-7, segments=3, layer_groups=1 if part.grouped else None,
        activation="gelu" if part.cls in EXACT_GELU else "gelu_tanh", dropout=0.3, attention_dropout=0.4,
    )  # fmt: skip
    config = part.config(size, dictionary())
    assert part.size(config) | {"activation_dropout": 0.0, "tied": True, "pooling": "cls"} == asdict(size)
    assert config.layer_norm_eps == 1e-7
