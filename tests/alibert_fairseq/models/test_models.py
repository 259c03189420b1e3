"""What a model asks of its task, which sizes it may have, and what it takes from a shorter training."""

import math
from types import SimpleNamespace

import pytest
import torch
from model_helpers import SHAPE, dictionary, electra_model, mlm_model
from transformers import AutoConfig

from alibert_fairseq.data.layout import Layout
from alibert_fairseq.models.albert import AlbertModel
from alibert_fairseq.models.bert import AliBertModel, SegmentBertModel
from alibert_fairseq.models.config import EncoderConfig, encoder_size
from alibert_fairseq.models.deberta import DebertaConfig, DebertaModel, ElectraDebertaConfig, ElectraDebertaModel
from alibert_fairseq.models.electra import ElectraConfig, ElectraModel
from alibert_fairseq.models.electra_modern import ElectraModernConfig, ElectraModernModel
from alibert_fairseq.models.modern import SIZES, ModernConfig, ModernModel
from alibert_fairseq.optim.marks import depth_of
from alibert_fairseq.tasks.segment_pairs import SegmentPairsTask

# answerdotai/ModernBERT-large, config.json; the library's defaults are those of base.
LARGE = {"num_hidden_layers": 28, "hidden_size": 1024, "intermediate_size": 2624, "num_attention_heads": 16}


def task(segment_types=1, sentence_objective=None, length=32, replaces_tokens=False, causal_shares=(0.0, 0.0)):
    """A task as build_model sees it."""
    return SimpleNamespace(
        segment_types=segment_types, sentence_objective=sentence_objective, source_dictionary=dictionary(),
        max_positions=lambda: length, replaces_tokens=replaces_tokens, causal_shares=causal_shares,
    )  # fmt: skip


def refusal(model_class, cfg, **of_task) -> str:
    with pytest.raises(SystemExit, match="^error: ") as refused:
        model_class.build_model(cfg, task(**of_task))
    return str(refused.value)


def test_what_does_not_fit_is_refused_in_one_sentence():
    pairs = {"segment_types": 2, "sentence_objective": "nsp"}
    assert "give --segments 2" in refusal(AliBertModel, EncoderConfig(**SHAPE), **pairs)
    assert "no sentence head" in refusal(AliBertModel, EncoderConfig(**SHAPE, segments=2), **pairs)
    assert "--tokens-per-sample 65" in refusal(AliBertModel, EncoderConfig(**SHAPE), length=65)
    assert "RobertaForMaskedLM" in refusal(AliBertModel, EncoderConfig(**SHAPE, embedding_dim=16))
    assert "BertForPreTraining" in refusal(SegmentBertModel, EncoderConfig(**SHAPE, embedding_dim=16))
    assert "narrower" in refusal(AlbertModel, EncoderConfig(**SHAPE))
    assert "cannot share" in refusal(AlbertModel, EncoderConfig(**SHAPE, embedding_dim=16, layer_groups=3))
    assert "number of heads of an encoder must be 1" in refusal(
        AliBertModel, EncoderConfig(**SHAPE | {"encoder_attention_heads": 0})
    )
    assert "--embedding-sharing none" in refusal(
        ElectraModel, ElectraConfig(**SHAPE, generator_embedding_dim=16), replaces_tokens=True
    )
    assert "--task electra" in refusal(ElectraModel, ElectraConfig(**SHAPE))
    for model_class, config in ((AliBertModel, EncoderConfig), (ElectraModel, ElectraConfig)):
        assert "only layers of ALBERT share weights" in refusal(model_class, config(**SHAPE, layer_groups=1))
    assert "--arch electra_*" in refusal(AliBertModel, EncoderConfig(**SHAPE), replaces_tokens=True)


MODERN = {
    "the width (32) must be a multiple of the number of heads (5)": {"encoder_attention_heads": 5},
    "heads are 1 wide, and rotary positions need an even width": {"encoder_attention_heads": 32},
    "ModernBertForMaskedLM": {"embedding_dim": 16},
    "--position-init sinusoidal: rotary positions have no table": {"position_init": "sinusoidal"},
    "--segments 2: ModernBERT has no segments": {"segments": 2},
    "--layer-groups 1: only layers of ALBERT share weights": {"layer_groups": 1},
    "--local-attention 1 is not a number of 2 or more": {"local_attention": 1},
    "--global-attention-every 0 is not a number of 1 or more": {"global_attention_every": 0},
    "--global-rope-theta nan is not a number of 1 or more": {"global_rope_theta": math.nan},
    "--local-rope-theta inf is not a number of 1 or more": {"local_rope_theta": math.inf},
}


DEBERTA = {
    "the width (32) must be a multiple of the groups": {"convolution_width": 3, "convolution_groups": 5},
    "the convolution reads 2 tokens; give an odd number": {"convolution_width": 2},
    "the convolution reads -1 tokens; give an odd number": {"convolution_width": -1},
    "the convolution has 0 groups; give 1 or more": {"convolution_width": 3, "convolution_groups": 0},
    "the position attention is p2p, not c2p, p2c or c2p|p2c": {"position_attention": "p2p"},
    "the number of position buckets is 1; give 0, or 2 or more": {"position_buckets": 1},
    "too near for 256 position buckets; give 130 or more": {"max_relative_positions": 129},
    "--layer-groups 1: only layers of ALBERT share weights": {"layer_groups": 1},
    "--position-init sinusoidal: relative positions have no such table": {"position_init": "sinusoidal"},
}


@pytest.mark.parametrize("words", DEBERTA)
def test_what_a_deberta_body_cannot_be_is_refused_in_one_sentence(words):
    assert words in refusal(DebertaModel, DebertaConfig(**SHAPE | DEBERTA[words]))


def test_a_convolution_reads_later_tokens():
    config = DebertaConfig(**SHAPE, convolution_width=3)
    assert "this model's convolution reads later tokens" in refusal(DebertaModel, config, causal_shares=(0.0, 0.5))


@pytest.mark.parametrize("words", MODERN)
def test_what_a_modern_body_cannot_be_is_refused_in_one_sentence(words):
    assert words in refusal(ModernModel, ModernConfig(**SHAPE | MODERN[words]))


def test_the_sizes_of_modern_bodies_are_modernberts():
    base, large = (AutoConfig.for_model("modernbert", **size) for size in ({}, LARGE))
    for name, theirs in (("base", base), ("large", large)):
        layers, width, ffn_width, heads = SIZES[name]
        assert (layers, width) == (theirs.num_hidden_layers, theirs.hidden_size)
        assert (ffn_width, heads) == (theirs.intermediate_size, theirs.num_attention_heads)


def test_what_a_modern_body_adds_begins_smaller():
    """By 1 / sqrt(2 L), as ModernBERT; so the first losses are near those of a guess."""
    torch.manual_seed(0)
    model = ModernModel(ModernConfig(**SHAPE | {"encoder_embed_dim": 128}), dictionary())
    layer = model.encoder.sentence_encoder.layers[1]
    inner, outer = (float(weight.std()) for weight in (layer.self_attn.q_proj.weight, layer.self_attn.out_proj.weight))
    assert outer / inner == pytest.approx(1 / 2, rel=0.05)


TOO_FEW = {
    "encoder_layers": 0, "encoder_embed_dim": 0, "encoder_ffn_embed_dim": 0, "encoder_attention_heads": 0,
    "embedding_dim": -1, "segments": -1,
}  # fmt: skip


@pytest.mark.parametrize("option", TOO_FEW)
def test_an_encoder_has_one_or_more_of_everything_but_segments(option):
    with pytest.raises(ValueError, match=f" of an encoder must be .* or more, not {TOO_FEW[option]}$"):
        encoder_size(EncoderConfig(**SHAPE | {"embedding_dim": 8, option: TOO_FEW[option]}), dictionary())


@pytest.mark.parametrize(
    ("option", "values"),
    [("generator_temperature", (0.0, -1.0, float("nan"))), ("generator_width_fraction", (0.0, -0.5, 1.5))],
)
def test_what_a_generator_cannot_have_is_refused(option, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^--{option.replace('_', '-')} {value} is not .*; leave it out for "):
            ElectraModel(ElectraConfig(**SHAPE, **{option: value}), dictionary())
    ElectraModel(ElectraConfig(**SHAPE, **{option: 1.0}), dictionary())


def segment_bert(objective=None) -> SegmentBertModel:
    cfg = EncoderConfig(**SHAPE, segments=2)
    return SegmentBertModel.build_model(cfg, task(segment_types=2, sentence_objective=objective))


def test_a_sentence_head_comes_and_goes_with_its_objective(caplog):
    """Published ALBERTs have no head; masked language modelling alone would leave an old one to rot."""
    words, pairs = segment_bert(), segment_bert("nsp")
    assert words.state_dict().keys() < pairs.state_dict().keys()
    begun = {name: weight.clone() for name, weight in pairs.encoder.sentence_head.state_dict().items()}
    with caplog.at_level("INFO", "alibert_fairseq"):
        pairs.load_state_dict(words.state_dict())
        assert "begins with random weights" in caplog.text
        words.load_state_dict(segment_bert("nsp").state_dict())
        assert "is left out" in caplog.text
    assert all(torch.equal(weight, begun[name]) for name, weight in pairs.encoder.sentence_head.state_dict().items())


def test_a_task_names_its_criterion():
    cfg = SimpleNamespace(_name="alibert_mlm")
    with pytest.raises(SystemExit, match="^error: --criterion alibert_mlm is not for this task; give segment_pairs.$"):
        SegmentPairsTask.build_criterion(object.__new__(SegmentPairsTask), cfg)


def test_positions_of_a_shorter_training_are_carried_over():
    short = electra_model(seed=1)
    longer = ElectraModel(
        ElectraConfig(**SHAPE | {"max_positions": 100}, embedding_dim=16, generator_width_fraction=0.5), dictionary()
    )
    fresh = longer.discriminator.sentence_encoder.embed_positions.weight.detach().clone()
    longer.load_state_dict(short.state_dict())
    table = longer.discriminator.sentence_encoder.embed_positions.weight
    old = short.discriminator.sentence_encoder.embed_positions.weight
    assert len(old) == 66 and len(table) == 102
    assert torch.equal(table[:66], old) and torch.equal(table[66:], fresh[66:]) and fresh[66:].any()
    with pytest.raises(RuntimeError, match="size mismatch"):
        electra_model().load_state_dict(longer.state_dict())


def test_new_positions_are_copies_where_it_is_asked_for():
    """Of 64 known ones: position 64 begins as position 0, and 135 as 7. The row of padding is none."""
    short = mlm_model(seed=1)
    with torch.no_grad():
        short.encoder.sentence_encoder.embed_positions.weight[0] = 5.0  # as published tables have it
    options = SHAPE | {"max_positions": 200, "embedding_dim": 32, "new_positions": "copied"}
    longer = AliBertModel(EncoderConfig(**options), dictionary())
    longer.load_state_dict(short.state_dict())
    old, new = (model.encoder.sentence_encoder.embed_positions.weight for model in (short, longer))
    assert torch.equal(new[:66], old) and len(new) == 202
    assert torch.equal(new[66], old[2]) and torch.equal(new[2 + 135], old[2 + 7]) and torch.equal(new[2 + 63], old[-1])


def test_a_disentangled_table_starts_as_the_generators_and_is_exported_whole():
    model = electra_model(embedding_sharing="gradient_disentangled")
    words = "sentence_encoder.embed_tokens"
    assert not model.state_dict()[f"discriminator.{words}.difference"].any()
    with torch.no_grad():
        model.discriminator.sentence_encoder.embed_tokens.difference.add_(0.5)
    weights = model.weights()
    assert torch.allclose(weights[f"discriminator.{words}.weight"], weights[f"generator.{words}.weight"] + 0.5)
    assert f"discriminator.{words}.difference" not in weights


def test_two_tables_become_one_and_a_difference_at_more_positions():
    two = electra_model(embedding_sharing="none", generator_embedding_dim=16)
    options = SHAPE | {"embedding_dim": 16, "generator_width_fraction": 0.5, "max_positions": 128}
    options |= {"embedding_sharing": "gradient_disentangled"}
    longer = ElectraModel(ElectraConfig(**options), dictionary())
    longer.load_state_dict(two.state_dict())
    before, after = two.weights(), longer.weights()
    for part in ("discriminator", "generator"):
        name = f"{part}.sentence_encoder.embed_positions.weight"
        assert torch.allclose(after[name][: len(before[name])], before[name]) and len(after[name]) > len(before[name])


@pytest.mark.parametrize("kind", [(ElectraModel, ElectraConfig), (ElectraModernModel, ElectraModernConfig)])
def test_a_generator_without_layers_is_refused_in_a_training(kind):
    """A checkpoint of before may have 0: it loads with the default depth."""
    model, config = kind
    cfg = config(**SHAPE, generator_layers=0)
    assert model(cfg, dictionary()).generator.sentence_encoder.size.layers > 0
    task = SimpleNamespace(replaces_tokens=True, source_dictionary=dictionary())
    with pytest.raises(ValueError, match="^--generator-layers 0 is not 1 or more; leave it out for the default.$"):
        model.for_task(cfg, task)


@pytest.mark.parametrize(
    ("model", "config", "becomes"),
    [(AliBertModel, EncoderConfig, "RobertaForMaskedLM"), (ElectraModel, ElectraConfig, "ElectraForMaskedLM")],
)
def test_an_activation_that_the_exported_head_has_not_is_refused_in_a_training(model, config, becomes):
    """transformers' heads of these classes compute the exact GELU; those of BERT and DeBERTa follow the layers."""
    cfg = config(**SHAPE, activation_fn="gelu_tanh")
    complaint = f"error: --activation-fn gelu_tanh: transformers computes the head of {becomes} with gelu"
    assert refusal(model, cfg, replaces_tokens=model is ElectraModel).startswith(complaint)


@pytest.mark.parametrize(
    ("model", "config"),
    [
        (SegmentBertModel, EncoderConfig), (AlbertModel, EncoderConfig), (ModernModel, ModernConfig),
        (DebertaModel, DebertaConfig), (ElectraDebertaModel, ElectraDebertaConfig),
        (ElectraModernModel, ElectraModernConfig),
    ],
)  # fmt: skip
def test_the_other_models_take_every_activation(model, config):
    narrower = {"embedding_dim": 16} if model is AlbertModel else {}
    cfg = config(**SHAPE, **narrower, activation_fn="gelu_tanh")
    model.build_model(cfg, task(replaces_tokens="Electra" in model.__name__))


def test_generators_that_differ_in_more_than_a_fraction():
    model = electra_model(generator_layers=1, generator_embed_dim=24, generator_attention_heads=3)
    size = model.generator.sentence_encoder.size
    assert (size.layers, size.width, size.heads, size.ffn_width) == (1, 24, 3, 32)
    assert model.discriminator.sentence_encoder.size.layers == 2


@pytest.mark.parametrize("groups", [None, 1])
def test_every_parameter_says_how_deep_it_lies(groups):
    cfg = EncoderConfig(**SHAPE, segments=2, embedding_dim=16, layer_groups=groups)
    model = AlbertModel.build_model(cfg, task(segment_types=2, sentence_objective="sop"))
    layers = {"layers.0": 1} if groups else {"layers.0": 2, "layers.1": 1}
    embeddings = ("embed_tokens", "embed_positions", "embed_segments", "layernorm_embedding", "embed_project")
    depths = layers | dict.fromkeys(embeddings, 3)
    seen = set()
    for name, p in model.named_parameters():
        inside = name.removeprefix("encoder.sentence_encoder.")
        part = next((part for part in depths if inside.startswith(f"{part}.")), None)
        assert depth_of(p) == depths.get(part) and (part or "_head." in inside), name
        seen.add(part)
    assert seen == {*depths, None}


@pytest.mark.parametrize(
    "body", [lambda: AliBertModel(EncoderConfig(**SHAPE), dictionary()),
             lambda: ModernModel(ModernConfig(**SHAPE, local_attention=4), dictionary())]
)  # fmt: skip
@pytest.mark.parametrize(
    "sequences, padded",
    [(None, False), (None, True), ([0] * 5 + [1] * 7, False), ([0] * 5 + [1] * 7, True), ([0] * 6 + [1] * 6, False)],
)
def test_in_a_causal_batch_no_token_sees_a_later_one(sequences, padded, body):
    torch.manual_seed(1)
    model = body().eval()
    tokens = torch.randint(4, 44, (2, 12))
    if padded:
        tokens[1, 9:] = 1
    numbers = None if sequences is None else torch.tensor([sequences, sequences])
    layout = Layout.of(tokens.ne(1), numbers)
    changed = tokens.clone()
    changed[:, 7] = 4 + (tokens[:, 7] + 1) % 40
    with torch.no_grad():
        for causal in (True, False):
            one, other = (
                layout.padded(model.encoder.sentence_encoder(layout.flat(ids), layout, causal=causal))
                for ids in (tokens, changed)
            )
            assert torch.equal(one[:, 5:7], other[:, 5:7]) == causal
            assert not torch.allclose(one[:, 8], other[:, 8])
