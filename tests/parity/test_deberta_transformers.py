"""The DeBERTa body against transformers' DebertaV2ForMaskedLM: same weights, same batch, double precision."""

import pytest
import torch
import torch.nn.functional as F
from model_helpers import Task, dictionary, electra_batch
from test_losses_transformers import (
    LENGTHS,
    as_transformers,
    assert_same_gradients,
    mlm_inputs,
    scatter_weights,
    theirs_of,
)
from transformers.models.deberta_v2 import modeling_deberta_v2

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss
from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.data.layout import Layout
from alibert_fairseq.hf.families import table
from alibert_fairseq.hf.families.rows import from_hugging_face
from alibert_fairseq.layers.relative import Relative, rows_of_distances
from alibert_fairseq.models.deberta import DebertaConfig, DebertaModel, ElectraDebertaConfig, ElectraDebertaModel
from alibert_fairseq.models.size import EncoderSize

pytestmark = pytest.mark.usefixtures("double_precision")
SHAPE = {
    "encoder_layers": 3, "encoder_embed_dim": 32, "encoder_ffn_embed_dim": 40, "encoder_attention_heads": 2,
    "embedding_dim": 32, "dropout": 0.0, "attention_dropout": 0.0, "layer_norm_eps": 1e-7, "max_positions": 64,
    "position_buckets": 8, "max_relative_positions": 24,
}  # fmt: skip
BODIES = {
    "V3": {},
    "projections of distances": {"own_position_projections": True, "position_attention": "c2p|p2c"},
    "V2-xlarge": {"convolution_width": 3, "convolution_activation": "gelu"},
    "a wider convolution in groups": {"convolution_width": 5, "convolution_groups": 2},
    "one layer with a convolution": {"convolution_width": 3, "encoder_layers": 1},
    "c2p": {"position_attention": "c2p"},
    "p2c": {"position_attention": "p2c", "own_position_projections": True},
    "one row a distance": {"position_buckets": 0},
    "absolute positions and segments": {"absolute_positions": True, "segments": 2},
    "no LayerNorm of distances": {"plain_relative_embeddings": True},
    "narrow embeddings": {"embedding_dim": 16},
}


@pytest.fixture(autouse=True)
def in_double(monkeypatch):
    """transformers' scale without its rounding to float32."""

    def scale(states, factor):
        return torch.sqrt(torch.tensor(states.size(-1), dtype=torch.double) * factor)

    monkeypatch.setattr(modeling_deberta_v2, "scaled_size_sqrt", scale)


def deberta(**options) -> DebertaModel:
    torch.manual_seed(0)
    model = DebertaModel(DebertaConfig(**SHAPE | options), dictionary())
    scatter_weights(model)
    return model


@pytest.mark.parametrize("body", BODIES)
def test_masked_language_modelling(body):
    model = deberta(**BODIES[body])
    theirs = as_transformers(model, table.DEBERTA)
    batch = mlm_inputs(segments=body.endswith("segments"))
    loss, drawn, _ = AliBertMaskedLMLoss(MaskedLMCriterionConfig(), Task)(model, batch)
    (loss / drawn).backward()
    expected = theirs(**theirs_of(batch)).loss
    expected.backward()
    assert abs(float(loss / drawn - expected)) < 1e-12
    assert_same_gradients(model, [(table.DEBERTA, theirs)])


def packed(batch: dict, padding: int) -> dict:
    """All sequences of a batch in one row, with padding behind them."""
    ids = [row[:length] for row, length in zip(batch["net_input"]["src_tokens"], LENGTHS, strict=True)]
    targets = [row[:length] for row, length in zip(batch["target"], LENGTHS, strict=True)]
    end = torch.ones(padding, dtype=torch.long)
    numbers = torch.repeat_interleave(torch.arange(len(LENGTHS) + 1), torch.tensor([*LENGTHS, padding]))
    inputs = {"src_tokens": torch.cat([*ids, end])[None], "sequences": numbers[None]}
    return {"net_input": inputs, "target": torch.cat([*targets, end])[None], "ntokens": 1, "nsentences": 1}


@pytest.mark.parametrize("body", ["V3", "V2-xlarge", "projections of distances"])
@pytest.mark.parametrize("way", ["packed", "as on a GPU", "packed as on a GPU"])
def test_other_layouts_and_ways_have_the_same_gradients(way, body, monkeypatch):
    """Sequences of a packed row see each other neither in attention nor in the convolution."""
    batch, criterion = mlm_inputs(segments=False), AliBertMaskedLMLoss(MaskedLMCriterionConfig(), Task)
    model, other = deberta(**BODIES[body]), deberta(**BODIES[body])
    loss = criterion(model, batch)[0]
    loss.backward()
    if "GPU" in way:
        monkeypatch.setattr("alibert_fairseq.layers.attention.draws_bits", lambda x: False)
    again = criterion(other, packed(batch, padding=3) if "packed" in way else batch)[0]
    again.backward()
    assert abs(float((loss - again).detach())) < 1e-10
    for ours, parameter in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.allclose(ours.grad, parameter.grad, atol=1e-9) and ours.grad.any()


@pytest.mark.parametrize("length", [1, 2, 7, 64])
def test_sequences_of_any_length(length):
    model = deberta(max_relative_positions=48).eval()
    theirs = as_transformers(model, table.DEBERTA).eval()
    ids = torch.randint(4, 44, (3, length))
    with torch.no_grad():
        assert torch.allclose(model.scores(ids), theirs(ids).logits, atol=1e-9)


@pytest.mark.parametrize("length", [2, 16, 40])
def test_rows_that_are_further_than_their_distance(length):
    """Where the largest distance is near to the number of buckets, buckets run ahead of distances."""
    near = {"position_buckets": 16, "max_relative_positions": 16}
    model = deberta(**near).eval()
    ids = torch.randint(4, 44, (2, length))
    with torch.no_grad():
        assert torch.allclose(model.scores(ids), as_transformers(model, table.DEBERTA).eval()(ids).logits, atol=1e-9)


@pytest.mark.parametrize(
    ("buckets", "longest"), [(0, 24), (3, 24), (4, 24), (32, 24), (0, 512), (3, 512), (4, 512), (32, 512), (256, 512)]
)
def test_every_distance_has_the_row_of_transformers(longest, buckets):
    relative, length = Relative(buckets=buckets, longest=longest), 1300
    states = torch.zeros(1, length, 1)
    theirs = modeling_deberta_v2.build_relative_position(states, states, buckets or -1, longest)[0]
    expected = (theirs + relative.span).clamp(0, 2 * relative.span - 1)
    places = torch.arange(length)
    rows = rows_of_distances(relative, length, torch.device("cpu"))
    assert torch.equal(rows[length - 1 - (places[:, None] - places)], expected)


@pytest.mark.parametrize("way", ["as on a CPU", "as on a GPU"])
def test_in_a_causal_batch_no_token_sees_a_later_one(way, monkeypatch):
    if way == "as on a GPU":
        monkeypatch.setattr("alibert_fairseq.layers.attention.draws_bits", lambda x: False)
    encoder, ids = deberta().eval().encoder.sentence_encoder, torch.randint(4, 44, (40,))
    layout = Layout.of(torch.ones(2, 20, dtype=torch.bool))
    changed = ids.clone()
    changed[15] = 4 + (ids[15] - 3) % 40
    before, after = (encoder(tokens, layout, causal=True) for tokens in (ids, changed))
    assert torch.equal(before[:15], after[:15]) and torch.equal(before[20:], after[20:])
    assert not torch.equal(before[15:20], after[15:20])


@pytest.mark.parametrize("sharing", ["gradient_disentangled", "all", "none"])
def test_replaced_token_detection(sharing):
    """The discriminator's head is Microsoft's, in a class of ours on transformers' body."""
    torch.manual_seed(0)
    narrower = {"generator_width_fraction": 0.5, "generator_layers": 2, "embedding_sharing": sharing}
    options = SHAPE | narrower | {"generator_attention_heads": 2}
    model = ElectraDebertaModel(ElectraDebertaConfig(**options), dictionary())
    scatter_weights(model)
    parts = table.DETECTORS["electra_deberta"]
    discriminator, generator = (as_transformers(model, part) for part in parts)
    if sharing == "all":
        generator.deberta.embeddings.word_embeddings = discriminator.deberta.embeddings.word_embeddings
        generator.cls.predictions.decoder.weight = discriminator.deberta.embeddings.word_embeddings.weight
    batch = electra_batch(LENGTHS)
    inputs, seen = batch["net_input"], {}
    model.discriminator.sentence_encoder.register_forward_pre_hook(lambda _, args: seen.update(fake=args[0]))
    loss, drawn, _ = ElectraLoss(ElectraCriterionConfig(), Task)(model, batch)
    (loss / drawn).backward()

    real, fake = inputs["original"].ne(1), inputs["original"].clone()
    fake[real] = seen["fake"]
    replaced = (fake != inputs["original"])[real]
    scores = discriminator(fake, attention_mask=real.long()).logits[real]
    expected = generator(**theirs_of(batch)).loss
    expected = expected + 50 * F.binary_cross_entropy_with_logits(scores, replaced.double())
    expected.backward()
    assert 0 < replaced.sum() and abs(float((loss / drawn - expected).detach())) < 1e-12
    if sharing == "gradient_disentangled":
        tables = table_of(model.discriminator).difference, table_of(model.generator).weight
        for ours, theirs in zip(tables, (discriminator, generator), strict=True):
            assert torch.allclose(ours.grad, theirs.deberta.embeddings.word_embeddings.weight.grad, atol=1e-9)
        model.discriminator.sentence_encoder.embed_tokens = discriminator.deberta.embeddings.word_embeddings
    assert_same_gradients(model, list(zip(parts, (discriminator, generator), strict=True)))


def table_of(part):
    return part.sentence_encoder.embed_tokens


def test_hugging_face_weights_come_back_as_they_were():
    model = deberta(**BODIES["absolute positions and segments"])
    ours, rows = model.state_dict(), table.DEBERTA.rows(table.DEBERTA.parameters(model))
    positions = "encoder.sentence_encoder.embed_positions.weight"
    ours[positions] = torch.cat([torch.zeros_like(ours[positions][:2]), ours[positions][2:]])
    theirs = as_transformers(model, table.DEBERTA).state_dict()
    back = from_hugging_face(rows, theirs, ours)
    assert back.keys() == ours.keys() and all(torch.equal(back[key], ours[key]) for key in ours)


@pytest.mark.parametrize("body", BODIES)
def test_the_configuration_says_the_same_in_both_directions(body):
    size = deberta(**BODIES[body]).encoder.sentence_encoder.size
    fields = table.DEBERTA.size(table.DEBERTA.config(size, dictionary()))
    assert EncoderSize(**{"activation_dropout": 0.0} | fields) == size
