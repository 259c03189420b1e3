"""The likelihood ratio, against a toy with a known answer and against transformers."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from model_helpers import SHAPE, dictionary, electra_model, mlm_model

from alibert_fairseq.audit.membership import SHARE, attack, losses, maskings_of
from alibert_fairseq.audit.texts import Text
from alibert_fairseq.audit.word_scores import WordScorer, in_batches
from alibert_fairseq.data.dictionary import special_ids
from alibert_fairseq.hf.families.rows import to_hugging_face
from alibert_fairseq.hf.families.table import parts_of
from alibert_fairseq.models.electra_modern import ElectraModernConfig, ElectraModernModel

TABLE = dictionary(40)
SPECIAL = np.array(special_ids(TABLE))


def scorer(seed: int, known: np.ndarray | None = None) -> WordScorer:
    """A model with random weights, or one that gives each id the probability `known`, whatever it reads."""
    model = mlm_model(seed).eval()
    if known is not None:
        with torch.no_grad():
            model.encoder.lm_head.layer_norm.weight.zero_()
            model.encoder.lm_head.layer_norm.bias.zero_()
            model.encoder.lm_head.bias.copy_(torch.from_numpy(np.log(known)))
    return WordScorer(SimpleNamespace(model=model, model_name="alibert", dictionary=TABLE, cfg={}, path="toy"))


def texts(number: int, seed=1) -> list[Text]:
    generator = np.random.default_rng(seed)
    rows = [
        [
            np.concatenate(([0], generator.integers(4, 44, size=generator.integers(2, 30)), [2]))
            for _ in range(1 + n % 3)
        ]
        for n in range(number)
    ]
    return [Text(n // 2, n % 2 == 0, own) for n, own in enumerate(rows)]


def test_the_losses_of_a_toy_are_the_known_ones():
    """Where a model gives each word its own probability, a loss is minus the logarithm of it."""
    known = np.random.default_rng(5).dirichlet(np.ones(len(TABLE)))
    some = texts(12)
    found = losses(scorer(1, known), some, SPECIAL, 3, seed=7)
    for number, text in enumerate(some):
        cases = maskings_of(text.rows, SPECIAL, 3, np.random.default_rng((7, 4, number)))
        tokens = np.concatenate([row[places] for row, places in cases])
        assert found[number] == pytest.approx([-np.log(known[tokens]).sum(), len(tokens)], rel=1e-5)


def test_the_ratio_of_a_toy_is_the_known_one():
    """Members hold word 4, which the audited model has learned and the reference has not."""
    plain = np.full(len(TABLE), 1 / len(TABLE))
    learned = np.where(np.arange(len(TABLE)) == 4, 0.5, 0.5 / (len(TABLE) - 1))
    some = [Text(n, n < 60, [np.array([0, *[4 if n < 60 else 5] * 9, 2])]) for n in range(120)]
    sums = [losses(scorer(1, known), some, SPECIAL, 2, seed=1) for known in (learned, plain)]
    ratio = sums[1][:, 0] / sums[1][:, 1] - sums[0][:, 0] / sums[0][:, 1]
    assert ratio[:60] == pytest.approx(np.log(0.5 * len(TABLE)), rel=1e-5)
    assert ratio[60:] == pytest.approx(np.log(0.5 * len(TABLE) / (len(TABLE) - 1)), rel=1e-4)
    found = attack(*sums, np.arange(120) < 60, np.arange(120), seed=1)
    assert found["document, calibrated"].auc.value == 1 and found["document, control"].auc.value == 0.5


def test_losses_are_those_of_transformers():
    """Each masking alone, by RobertaForMaskedLM and torch's cross-entropy: the mean of the masked places."""
    audited, some = scorer(3), texts(8)
    part = parts_of("alibert", False)[0]
    size = audited.part.sentence_encoder.size
    theirs = part.hugging_face_class(part.config(size, TABLE)).eval()
    ours = {f"encoder.{name}": value for name, value in audited.part.state_dict().items()}
    parameters = part.parameters(SimpleNamespace(encoder=audited.part))
    theirs.load_state_dict(to_hugging_face(part.rows(parameters), ours, theirs.state_dict()))
    found = losses(audited, some, SPECIAL, 4, seed=2)
    for number, text in enumerate(some):
        total, places_in_all = 0.0, 0
        for row, places in maskings_of(text.rows, SPECIAL, 4, np.random.default_rng((2, 4, number))):
            ids, labels = torch.from_numpy(row)[None].clone(), torch.full((1, len(row)), -100)
            labels[0, places] = ids[0, places]
            ids[0, places] = TABLE.index("<mask>")
            with torch.no_grad():
                total += float(theirs(input_ids=ids, labels=labels).loss) * len(places)
            places_in_all += len(places)
        assert found[number] == pytest.approx([total, places_in_all], rel=1e-5)


@pytest.mark.parametrize("name", ["electra", "electra_modern"])
def test_of_electra_the_generator_is_audited(name):
    """With --encoder-weight 0 the modern encoder learns no words, so its generator is audited too."""
    cfg = {"criterion": {"encoder_weight": 0.0}}
    model = electra_model() if name == "electra" else ElectraModernModel(ElectraModernConfig(**SHAPE), TABLE)
    model = model.eval()
    found = WordScorer(SimpleNamespace(model=model, model_name=name, dictionary=TABLE, cfg=cfg, path="toy"))
    assert found.part is model.generator
    row, places = np.array([0, 5, 6, 7, 2]), np.array([2, 3])
    hidden = torch.tensor([[0, 5, TABLE.index("<mask>"), TABLE.index("<mask>"), 2]])
    with torch.no_grad():
        features = model.generator.sentence_encoder.of_rows(hidden)[0, places]
        expected = -model.generator.lm_head(features).log_softmax(-1)[[0, 1], row[places]]
    assert next(found.losses([row], [places])) == pytest.approx(expected.numpy(), rel=1e-5)


def test_maskings_take_their_share_of_a_row_and_never_a_special_token():
    row = np.array([0, *range(4, 44), 2])
    for _, places in maskings_of([row], SPECIAL, 50, np.random.default_rng(1)):
        assert len(places) == round(SHARE * 40) == len(set(places)) and not set(row[places]) & set(SPECIAL)
    assert maskings_of([np.array([0, 2])], SPECIAL, 5, np.random.default_rng(1)) == []


def test_the_losses_of_a_document_depend_on_its_number_alone():
    some, model = texts(9), scorer(2)
    whole = losses(model, some, SPECIAL, 2, seed=1)
    parts = [losses(model, some[first : first + 4], SPECIAL, 2, 1, first) for first in (0, 4, 8)]
    assert np.concatenate(parts) == pytest.approx(whole, rel=1e-6)


def test_the_score_of_a_patient_is_the_mean_over_the_documents_by_their_places():
    audited = np.array([[2.0, 2], [30.0, 10], [6.0, 3], [8.0, 8]])
    reference = np.array([[4.0, 2], [20.0, 10], [3.0, 3], [8.0, 8]])
    found = attack(audited, reference, np.array([True, True, False, False]), np.array([7, 7, 9, 5]), seed=1)
    assert found["patient, simple"].members == 1 and found["patient, simple"].others == 2
    assert found["patient, standardised"].auc.value == 0  # -0.67 x 3.5 against -1 x 1.7 and 0
    # Patient 7: (2 + 30) / 12 = 2.67, calibrated 24 / 12 - 2.67 < 0; the others: 2 and 1, calibrated -1 and 0.
    assert found["patient, simple"].auc.value == 0 and found["patient, calibrated"].auc.value == 0.5


def test_batches_hold_all_rows_and_few_tokens(monkeypatch):
    monkeypatch.setattr("alibert_fairseq.audit.word_scores.TOKENS_AT_ONCE", 20)
    lengths = [3, 9, 30, 4, 4, 4, 4, 4, 1]
    parts = [lengths[part] for part in in_batches(lengths)]
    assert sum(parts, []) == lengths
    assert all(len(part) == 1 or max(part) * len(part) <= 20 for part in parts) and len(parts) == 4
