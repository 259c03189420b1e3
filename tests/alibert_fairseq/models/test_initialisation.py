"""What the weights start from."""

import math

import pytest
import torch
from model_helpers import dictionary, electra_model, mlm_model

from alibert_fairseq.models.electra import ElectraConfig, ElectraModel
from alibert_fairseq.models.initialisation import INIT_STD
from alibert_fairseq.models.modern import ModernConfig, ModernModel

PADDING = 1


def test_the_defaults_are_berts():
    encoder = mlm_model().encoder.sentence_encoder
    norms = [module for module in encoder.modules() if isinstance(module, torch.nn.LayerNorm)]
    assert len(norms) == 5 and {norm.eps for norm in norms} == {1e-12}
    assert (encoder.size.dropout, encoder.size.attention_dropout, encoder.size.activation) == (0.1, 0.1, "gelu")


def tables(**options):
    """The position tables of both models."""
    masked, replaced = mlm_model(**options), electra_model(**options)
    return [masked.encoder.sentence_encoder.embed_positions, replaced.discriminator.sentence_encoder.embed_positions]


def test_positions_start_from_bounded_normal_noise():
    for table in tables():
        rows = table.weight[PADDING + 1 :]
        assert rows.abs().max() <= 2 * INIT_STD and rows.std().item() == pytest.approx(INIT_STD * 0.88, rel=0.1)
        assert not table.weight[PADDING].any()  # a normal cut at two deviations has 0.88 of its deviation


def test_sinusoidal_positions_are_the_transformers_at_the_size_of_the_noise():
    for table in tables(position_init="sinusoidal"):
        rows, width = table.weight.detach() / (INIT_STD * math.sqrt(2)), table.embedding_dim
        assert not table.weight[: PADDING + 1].any() and table.weight.requires_grad
        for position, channel in ((0, 0), (1, 0), (5, 4), (63, 10)):
            angle = position / 10000 ** (channel / width)
            found = rows[position + PADDING + 1, channel : channel + 2]
            assert torch.allclose(found, torch.tensor([math.sin(angle), math.cos(angle)]), atol=1e-4)


def test_the_generator_has_the_discriminators_positions():
    model = electra_model(position_init="sinusoidal")
    shared = model.discriminator.sentence_encoder.embed_positions
    assert model.generator.sentence_encoder.embed_positions is shared


def test_the_output_bias_is_the_logarithm_of_the_unigram_frequencies(caplog):
    entries = dictionary()
    entries.count = [5] * len(entries)
    entries.count[10], entries.count[11] = 500, 0
    modern = {"encoder_layers": 2, "encoder_embed_dim": 32, "encoder_ffn_embed_dim": 64, "encoder_attention_heads": 2}
    unigram = ModernConfig(**modern, output_bias="unigram")
    bias = ModernModel(unigram, entries).encoder.lm_head.bias
    total = sum(max(1, count) for count in entries.count)
    assert bias[10].item() == pytest.approx(math.log(500 / total)) and bias[11].item() == pytest.approx(
        -math.log(total)
    )
    assert bias.exp().sum().item() == pytest.approx(1)
    published = ElectraModel(ElectraConfig(**modern, output_bias="unigram"), entries)
    assert torch.equal(published.generator.lm_head.bias, bias)
    zero = ModernModel(ModernConfig(**modern), entries).encoder.lm_head.bias
    entries.count = [1] * len(entries)  # a published model's dictionary, which has no counts
    assert not zero.any() and not caplog.text
    assert not ModernModel(unigram, entries).encoder.lm_head.bias.any()
    assert "--output-bias unigram has no effect: dict.txt has no counts" in caplog.text


def test_a_modern_body_starts_by_fan_in_whatever_its_width():
    sizes = {"encoder_layers": 2, "encoder_ffn_embed_dim": 512, "encoder_attention_heads": 2}
    for width in (64, 256):
        layer = ModernModel(
            ModernConfig(**sizes, encoder_embed_dim=width), dictionary()
        ).encoder.sentence_encoder.layers[1]
        drawn = 0.88  # the deviation of a normal distribution cut at two deviations
        assert layer.self_attn.q_proj.weight.std().item() == pytest.approx(drawn / math.sqrt(width), rel=0.05)
        assert layer.fc2.weight.std().item() == pytest.approx(drawn / math.sqrt(512) / 2, rel=0.05)


def test_a_table_of_output_words_starts_as_others():
    tied, untied = (mlm_model(seed=1, untied_output_words=untied) for untied in (False, True))
    assert tied.encoder.lm_head.weight is tied.encoder.sentence_encoder.embed_tokens.weight
    table = untied.encoder.lm_head.weight
    assert 0.015 < table.std() < 0.02 and table.abs().max() <= 0.04  # truncated at two deviations of 0.02
