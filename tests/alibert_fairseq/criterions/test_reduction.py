"""What several micro-batches add up to: the gradient of one batch that holds the same samples, in double precision."""

import pytest
import torch
from model_helpers import SHAPE, Task, dictionary, masked_dataset

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss
from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.criterions.segment_pairs import SegmentPairsLoss
from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.data.pairing import UNLABELLED
from alibert_fairseq.models.albert import AlbertModel
from alibert_fairseq.models.bert import AliBertModel, SegmentBertModel
from alibert_fairseq.models.config import EncoderConfig
from alibert_fairseq.models.electra import ElectraConfig, ElectraModel

FULL, PADDED = (40,) * 8, (13, 40, 27, 33, 20, 40, 7, 40)

pytestmark = pytest.mark.usefixtures("double_precision")


def build(objective):
    """(model without dropout, criterion) of an objective."""
    torch.manual_seed(3)
    options = {**SHAPE, "dropout": 0.0, "attention_dropout": 0.0}
    if objective == "masked language modelling":
        return AliBertModel(EncoderConfig(**options), dictionary()), AliBertMaskedLMLoss(
            MaskedLMCriterionConfig(), Task
        )
    if objective == "replaced token detection":
        model = ElectraModel(ElectraConfig(**options, generator_width_fraction=0.5), dictionary())
        return model, ElectraLoss(ElectraCriterionConfig(), Task)
    if objective == "next sentence prediction":
        model = SegmentBertModel(EncoderConfig(**options, segments=2), dictionary(), sentence_head=True)
        return model, SegmentPairsLoss(MaskedLMCriterionConfig(), Task)
    options |= {"segments": 2, "embedding_dim": 16, "layer_groups": 1, "activation_fn": "gelu_tanh"}
    return AlbertModel(EncoderConfig(**options), dictionary(), sentence_head=True), SegmentPairsLoss(
        MaskedLMCriterionConfig(), Task
    )


OBJECTIVES = (
    "masked language modelling", "replaced token detection", "next sentence prediction", "sentence order prediction",
)  # fmt: skip


def batches(objective, lengths, parts):
    """The eight samples in `parts` batches, in their order."""
    electra = objective == "replaced token detection"
    rule = MaskingRule(mask_share=0.85, random_share=0.0) if electra else None
    data = masked_dataset(lengths, rule, with_uniforms=electra)
    size = len(lengths) // parts
    for first in range(0, len(lengths), size):
        batch = data.collater([data[i] for i in range(first, first + size)])
        if "sentence" in objective:
            tokens = batch["net_input"]["src_tokens"]
            batch["net_input"]["segments"] = (torch.arange(tokens.size(1)) > 5).long() * tokens.ne(1)
            batch["sentence_target"] = torch.arange(first, first + size) % 2
        yield batch


def gradient(objective, lengths, parts):
    """The gradient of an update, as fairseq makes it: the sum over micro-batches over the sum of sample sizes."""
    model, criterion = build(objective)
    denominator = 0
    for batch in batches(objective, lengths, parts):
        loss, sample_size, _ = criterion(model, batch)
        loss.backward()
        denominator += sample_size
    return torch.cat([p.grad.flatten() for p in model.parameters()]) / denominator


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_batch_of_eight_is_two_of_four(objective):
    whole, halves = (gradient(objective, FULL, parts) for parts in (1, 2))
    assert (whole - halves).norm() < 1e-12 * whole.norm() and whole.norm() > 0.1


def test_masked_language_modelling_is_exact_with_padding():
    whole, halves = (gradient(OBJECTIVES[0], PADDED, parts) for parts in (1, 2))
    assert (whole - halves).norm() < 1e-12 * whole.norm()


@pytest.mark.parametrize(("objective", "bound"), [(OBJECTIVES[1], 0.01), (OBJECTIVES[2], 0.05), (OBJECTIVES[3], 0.05)])
def test_with_padding_a_second_loss_counts_by_the_drawn_tokens_of_its_micro_batch(objective, bound):
    """Two denominators, of which fairseq has one: docs/objectives/replaced_token_detection.md, Reduction."""
    whole, halves = (gradient(objective, PADDED, parts) for parts in (1, 2))
    assert 1e-6 * whole.norm() < (whole - halves).norm() < bound * whole.norm()


@pytest.mark.parametrize("objective", OBJECTIVES[2:])
def test_a_micro_batch_without_a_labelled_pair_has_the_loss_of_its_tokens(objective):
    model, criterion = build(objective)
    (batch,) = batches(objective, FULL, 1)
    batch["sentence_target"] = torch.full_like(batch["sentence_target"], UNLABELLED)
    loss, _, logged = criterion(model, batch)
    loss.backward()
    assert torch.equal(loss, AliBertMaskedLMLoss.forward(criterion, model, batch)[0]) and logged["labelled"] == 0
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_the_z_loss_adds_the_squared_logarithm_of_the_normaliser_in_training_alone():
    model, plain = build("masked language modelling")
    weighted = AliBertMaskedLMLoss(MaskedLMCriterionConfig(z_loss=0.01), Task)
    (batch,) = batches("masked language modelling", FULL, 1)
    loss, count, logged = plain(model.train(), batch)
    more, same, theirs = weighted(model, batch)
    scores = model.scores(batch["net_input"]["src_tokens"])[batch["target"].ne(1)]
    assert (more - loss).item() == pytest.approx(0.01 * scores.logsumexp(-1).square().sum().item())
    assert count == same and theirs["loss"] == logged["loss"] == loss
    assert weighted(model.eval(), batch)[0] == loss


@pytest.mark.parametrize("objective", OBJECTIVES[2:])
def test_the_loss_that_is_logged_for_pairs_has_no_z_loss(objective):
    model, plain = build(objective)
    weighted = type(plain)(MaskedLMCriterionConfig(z_loss=0.01), Task)
    (batch,) = batches(objective, FULL, 1)
    assert weighted(model.train(), batch)[2]["loss"] == plain(model, batch)[2]["loss"]
    assert weighted(model, batch)[0] > plain(model, batch)[0]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_cannot_be_is_refused(value):
    for option in ("generator_weight", "discriminator_weight", "encoder_weight"):
        with pytest.raises(SystemExit, match=f"^error: --{option.replace('_', '-')} {value} is not a number of 0 or"):
            ElectraLoss(ElectraCriterionConfig(**{option: value}), Task)
    with pytest.raises(SystemExit, match=f"^error: --z-loss {value} is not a number of 0 or more; leave it out"):
        AliBertMaskedLMLoss(MaskedLMCriterionConfig(z_loss=value), Task)


def test_a_published_encoder_predicts_no_words_that_could_have_a_weight():
    model, _ = build("replaced token detection")
    criterion = ElectraLoss(ElectraCriterionConfig(encoder_weight=7.0), Task)
    with pytest.raises(SystemExit, match="^error: --encoder-weight 7 is for --arch electra_modern_"):
        criterion(model, next(batches("replaced token detection", FULL, 1)))
