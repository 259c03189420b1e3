"""Losses and gradients against transformers' models: same weights, same batch, double precision.

A difference in any layer, in a tie, in a denominator or in what is masked shows in the gradient of some parameter.
"""

import pytest
import torch
from model_helpers import SHAPE, Task, dictionary, electra_batch, masked_dataset

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss
from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.criterions.segment_pairs import SegmentPairsLoss
from alibert_fairseq.hf.families import table
from alibert_fairseq.hf.families.part import Part
from alibert_fairseq.hf.families.rows import from_hugging_face, to_hugging_face
from alibert_fairseq.models.albert import AlbertModel
from alibert_fairseq.models.bert import AliBertModel, SegmentBertModel
from alibert_fairseq.models.config import EncoderConfig
from alibert_fairseq.models.electra import ElectraConfig, ElectraModel

TOLERANCE = 1e-9  # of the global norm of the gradient; double precision leaves 1e-15
LENGTHS = (23, 40, 31)  # one of three is not padded

pytestmark = pytest.mark.usefixtures("double_precision")


def scatter_weights(model) -> None:
    """Weights large enough, LayerNorms and biases too, that nothing is near the value it has everywhere."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)


def as_transformers(model, part: Part):
    """The Hugging Face model of a part, with its weights, in double precision and without dropout."""
    theirs = part.hugging_face_class(part.config(getattr(model, part.name).sentence_encoder.size, dictionary()))
    ours = {key: value for key, value in model.weights().items() if key.startswith(f"{part.name}.")}
    theirs.load_state_dict(to_hugging_face(part.rows(part.parameters(model)), ours, theirs.state_dict()))
    return theirs.double().train()


def assert_same_gradients(model, pairs, besides: str = "nothing") -> None:
    """pairs: (part, Hugging Face model) whose parameters are together all of ours, besides those of this name."""
    parameters = model.named_parameters(remove_duplicate=False)
    ours = {name: parameter.grad for name, parameter in parameters if not name.startswith(besides)}
    norm = torch.stack([gradient.norm() for gradient in ours.values()]).norm()
    compared = set()
    for part, theirs in pairs:
        gradients = {name: parameter.grad for name, parameter in theirs.named_parameters(remove_duplicate=False)}
        for row in part.rows(part.parameters(model)):
            if row.ours is None or row.theirs not in gradients:  # transformers ties some names of one parameter
                continue
            difference = (ours[row.ours][row.skipped :] - row.share(gradients[row.theirs])).abs().max()
            assert difference <= TOLERANCE * norm, (row, float(difference / norm))
            compared.add(row.ours)
    assert compared == set(ours)


def mlm_inputs(segments: bool) -> dict:
    """A batch with padding, and with both segments."""
    data = masked_dataset(LENGTHS)
    batch = data.collater([data[i] for i in range(len(LENGTHS))])
    if segments:
        batch["net_input"]["segments"] = torch.zeros_like(batch["target"])
        for row, length in enumerate(LENGTHS):
            batch["net_input"]["segments"][row, length // 3 : length] = 1
    return batch


def theirs_of(batch: dict) -> dict:
    """The same batch under transformers' names."""
    inputs = batch["net_input"]
    labels = batch["target"].masked_fill(batch["target"].eq(1), -100)
    return {
        "input_ids": inputs["src_tokens"], "attention_mask": inputs["src_tokens"].ne(1).long(), "labels": labels,
        "token_type_ids": inputs.get("segments"),
    }  # fmt: skip


def without_dropout(**options) -> dict:
    return {**SHAPE, "dropout": 0.0, "attention_dropout": 0.0, **options}


@pytest.mark.parametrize("segments", [0, 2])
def test_masked_language_modelling_is_robertas(segments):
    model = AliBertModel(EncoderConfig(**without_dropout(segments=segments)), dictionary())
    scatter_weights(model)
    theirs = as_transformers(model, table.ROBERTA)
    batch = mlm_inputs(segments=bool(segments))
    loss, drawn, _ = AliBertMaskedLMLoss(MaskedLMCriterionConfig(), Task)(model, batch)
    (loss / drawn).backward()
    expected = theirs(**theirs_of(batch)).loss
    expected.backward()
    assert abs(float(loss / drawn - expected)) < 1e-12
    assert_same_gradients(model, [(table.ROBERTA, theirs)])


@pytest.mark.parametrize(
    ("name", "groups"), [("BertForPreTraining", None), ("AlbertForPreTraining", 1), ("AlbertForPreTraining", 2)]
)
def test_words_and_sentences_together_are_berts_and_alberts(name, groups):
    if name == "BertForPreTraining":
        model = SegmentBertModel(EncoderConfig(**without_dropout(segments=2)), dictionary(), sentence_head=True)
        part, label = table.BERT, "next_sentence_label"
    else:
        options = without_dropout(segments=2, embedding_dim=16, layer_groups=groups, activation_fn="gelu_tanh")
        options["encoder_layers"] = 4
        model = AlbertModel(EncoderConfig(**options), dictionary(), sentence_head=True)
        part, label = table.ALBERT, "sentence_order_label"
    assert part.cls == name
    scatter_weights(model)
    theirs = as_transformers(model, part)
    if name == "AlbertForPreTraining":
        assert theirs.config.num_hidden_groups == groups
        theirs.sop_classifier.dropout.p = 0.0  # transformers' own; google-research/albert has none there
    batch = mlm_inputs(segments=True)
    batch["sentence_target"] = torch.tensor([1, -100, 0])
    loss, drawn, _ = SegmentPairsLoss(MaskedLMCriterionConfig(), Task)(model, batch)
    (loss / drawn).backward()
    expected = theirs(**theirs_of(batch), **{label: batch["sentence_target"]}).loss
    expected.backward()
    assert abs(float(loss / drawn - expected)) < 1e-12
    assert_same_gradients(model, [(part, theirs)])


class DoubleLoss(torch.nn.BCEWithLogitsLoss):
    """transformers hands over labels in single precision, with which torch's loss is in single precision too."""

    def forward(self, scores, labels):
        return super().forward(scores, labels.double())


def electra_pair(model):
    """transformers' two models, tied as ELECTRA ties them, which transformers leaves to its user."""
    theirs = [as_transformers(model, part) for part in (table.DISCRIMINATOR, table.GENERATOR)]
    if model.cfg.embedding_sharing == "all":
        theirs[0].electra.embeddings = theirs[1].electra.embeddings
    return theirs


@pytest.mark.parametrize("sharing", ["all", "none", "gradient_disentangled"])
@pytest.mark.parametrize("segments", [0, 2])
def test_replaced_token_detection_is_electras(sharing, segments, monkeypatch):
    monkeypatch.setattr(torch.nn, "BCEWithLogitsLoss", DoubleLoss)
    options = without_dropout(segments=segments, embedding_dim=16, generator_width_fraction=0.5)
    model = ElectraModel(ElectraConfig(**options, embedding_sharing=sharing), dictionary())
    scatter_weights(model)
    discriminator, generator = electra_pair(model)
    batch = electra_batch(LENGTHS)
    inputs = batch["net_input"]
    inputs["segments"] = mlm_inputs(segments=True)["net_input"]["segments"] if segments else None
    seen = {}
    model.discriminator.sentence_encoder.register_forward_pre_hook(lambda _, args: seen.update(fake=args[0]))
    loss, drawn, _ = ElectraLoss(ElectraCriterionConfig(), Task)(model, batch)
    (loss / drawn).backward()

    fake = inputs["original"].clone()
    fake[fake.ne(1)] = seen["fake"]
    labels = (fake != inputs["original"]).long()
    assert 0 < labels.sum() <= batch["target"].ne(1).sum()
    found = discriminator(**theirs_of(batch) | {"input_ids": fake, "labels": labels}).loss
    expected = generator(**theirs_of(batch)).loss + 50 * found
    expected.backward()
    assert abs(float(loss / drawn - expected)) < 1e-12
    if sharing == "gradient_disentangled":
        return check_disentangled(model, discriminator, generator)
    assert_same_gradients(model, [(table.DISCRIMINATOR, discriminator), (table.GENERATOR, generator)])


def check_disentangled(model, discriminator, generator) -> None:
    """The generator's table has the generator's gradient alone, the difference the discriminator's."""
    tables = {
        "discriminator": (discriminator.electra.embeddings, "difference"),
        "generator": (generator.electra.embeddings, "weight"),
    }
    for part, (theirs, parameter) in tables.items():
        encoder = getattr(model, part).sentence_encoder
        assert torch.allclose(
            getattr(encoder.embed_tokens, parameter).grad, theirs.word_embeddings.weight.grad, atol=1e-9
        )
        ours = getattr(encoder.embed_positions, parameter).grad[2:]
        assert torch.allclose(ours, theirs.position_embeddings.weight.grad, atol=1e-9) and ours.any()


def test_hugging_face_weights_come_back_as_they_were():
    model = ElectraModel(ElectraConfig(**without_dropout(embedding_dim=16, generator_width_fraction=0.5)), dictionary())
    scatter_weights(model)
    for part in (table.DISCRIMINATOR, table.GENERATOR):
        ours = {key: value for key, value in model.state_dict().items() if key.startswith(f"{part.name}.")}
        rows = part.rows(part.parameters(model))
        positions = f"{part.name}.sentence_encoder.embed_positions.weight"
        ours[positions] = torch.cat([torch.zeros_like(ours[positions][:2]), ours[positions][2:]])
        theirs = as_transformers(model, part).state_dict()
        back = from_hugging_face(rows, theirs, ours)
        assert back.keys() == ours.keys() and all(torch.equal(back[key], ours[key]) for key in ours)
