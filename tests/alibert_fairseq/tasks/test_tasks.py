"""What the tasks ask of the data, from their options' defaults."""

import math
from types import SimpleNamespace

import pytest
import torch
from fairseq.logging import metrics
from model_helpers import SHAPE, Task, blocks, dictionary, masked_dataset

from alibert_common.errors import InputError
from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.data.layout import Layout
from alibert_fairseq.data.pairing import PairRule
from alibert_fairseq.models.bert import AliBertModel
from alibert_fairseq.models.config import EncoderConfig
from alibert_fairseq.models.modern import ModernConfig, ModernModel
from alibert_fairseq.tasks import pretraining
from alibert_fairseq.tasks.electra import ElectraTask, ElectraTaskConfig
from alibert_fairseq.tasks.masked_lm import AliBertMaskedLMConfig, AliBertMaskedLMTask
from alibert_fairseq.tasks.segment_pairs import SegmentPairsConfig, SegmentPairsTask


def rules(task_class, config, **options):
    """(masking rule, pair rule, segments, sentence objective) of a task that has read no data."""
    task = object.__new__(task_class)
    task.cfg = SimpleNamespace(**{**vars(config()), **options})
    return task.masking_rule(), task.pair_rule(), task.segment_types, task.sentence_objective


def test_the_fates_are_those_of_the_papers():
    bert, *others = rules(AliBertMaskedLMTask, AliBertMaskedLMConfig)
    assert (bert.mask_share, bert.random_share) == (pytest.approx(0.8), 0.1) and bert.mask_prob == 0.15
    assert (bert.unit, bert.max_predictions) == ("token", 0) and others == [None, 1, None]
    words = rules(ElectraTask, ElectraTaskConfig, mask_unit="word", mask_word_selection="uniform")[0]
    assert (bert.word_selection, words.word_selection) == ("bert", "uniform")
    electra, *others = rules(ElectraTask, ElectraTaskConfig)
    assert (electra.mask_share, electra.random_share) == (0.85, 0.0) and electra.mask_prob == 0.15
    assert others == [None, 1, None]


@pytest.mark.parametrize(
    ("kept", "random"), [(0.9, 0.1), (0.8, 0.2), (0.7, 0.3), (0.0, 0.0003), (1.0, 0.0), (0.0, 1.0)]
)
def test_shares_that_sum_to_one_are_taken_whatever_floating_point_makes_of_it(kept, random):
    rule, *_ = rules(AliBertMaskedLMTask, AliBertMaskedLMConfig, leave_unmasked_prob=kept, random_token_prob=random)
    assert rule.mask_share == pytest.approx(1 - kept - random) and 0 <= rule.mask_share and rule.random_share == random


@pytest.mark.parametrize(("kept", "random"), [(0.9, 0.101), (-0.1, 0.1), (0.1, -0.1)])
def test_shares_that_cannot_be_are_refused_by_their_options(kept, random):
    sentence = (
        rf"^--leave-unmasked-prob {kept} and --random-token-prob {random} must be 0 or more and sum to at most 1\.$"
    )
    with pytest.raises(ValueError, match=sentence):
        rules(AliBertMaskedLMTask, AliBertMaskedLMConfig, leave_unmasked_prob=kept, random_token_prob=random)


def test_single_lines_are_bert_s_in_nsp_and_without_a_label_in_sop():
    _, nsp, segments, objective = rules(SegmentPairsTask, SegmentPairsConfig, sentence_objective="nsp")
    assert nsp == PairRule("nsp", 512, "random", 1, 0.1) and (segments, objective) == (2, "nsp")
    _, sop, segments, objective = rules(SegmentPairsTask, SegmentPairsConfig, sentence_objective="sop")
    assert sop == PairRule("sop", 512, "unlabelled", 1, 0.1) and (segments, objective) == (2, "sop")
    _, leaking, *_ = rules(
        SegmentPairsTask, SegmentPairsConfig, sentence_objective="sop", single_sentence_chunks="random"
    )
    assert leaking.single_chunks == "random"


def test_electra_s_pairs_have_segments_and_no_label():
    _, pairs, segments, objective = rules(ElectraTask, ElectraTaskConfig, sentence_pairs=True)
    assert pairs.objective == "none" and (segments, objective) == (2, None)


@pytest.mark.parametrize("body", [(ModernModel, ModernConfig), (AliBertModel, EncoderConfig)])
def test_an_update_predicts_the_next_token_by_its_number_not_by_the_clock(double_precision, body):
    """Model, criterion and task together: the causal loss is that of the next tokens, and is logged apart."""
    task = object.__new__(AliBertMaskedLMTask)
    task.cfg = SimpleNamespace(**{**vars(AliBertMaskedLMConfig()), "max_update": 100, "causal_share": 0.5})
    task.dictionary, task.curriculum, task.position = dictionary(), task._curriculum(), 40.0
    model = body[0](body[1](**SHAPE, dropout=0.0, attention_dropout=0.0), task.dictionary)
    criterion = AliBertMaskedLMLoss(MaskedLMCriterionConfig(), Task)
    data = masked_dataset((12, 15))
    batch = data.collater([data[0], data[1]])
    optimizer = SimpleNamespace(backward=lambda loss: loss.backward())
    for update, causal in ((0, False), (1, True), (2, False)):
        loss, size, logged = task.train_step(batch, model, criterion, optimizer, update)
        with metrics.aggregate() as found:
            criterion.reduce_metrics([logged])
        values = found.get_smoothed_values()
        assert ("causal_loss" in values, "accuracy_pct" in values) == (causal, not causal)
        if causal:
            tokens = torch.stack([torch.nn.functional.pad(row, (0, 15 - len(row)), value=1) for row in blocks()])
            layout = Layout.of(tokens.ne(1))
            features = layout.padded(model.encoder.sentence_encoder(layout.flat(tokens), layout, causal=True))
            scores = model.encoder.lm_head(features)[:, :-1].flatten(0, 1)
            mean = torch.nn.functional.cross_entropy(scores, tokens[:, 1:].flatten(), ignore_index=1).item()
            assert size == 11 + 14 and loss.item() / size == pytest.approx(mean)
            assert values["causal_loss"] == pytest.approx(mean / math.log(2), abs=1e-3)


def test_packing_is_for_blocks_of_whole_lines_and_for_any_body(monkeypatch):
    monkeypatch.setattr(pretraining, "load_blocks", lambda *_: None)

    def task_of(task_class, config, **options):
        task = object.__new__(task_class)
        task.cfg, task.dictionary = SimpleNamespace(**{**vars(config()), **options}), None
        return task

    packed = {"pack_sequences": True, "data": "data-bin", "sample_break_mode": "none"}
    with pytest.raises(InputError, match="--pack-sequences.*blocks of --sample-break-mode none are full"):
        task_of(AliBertMaskedLMTask, AliBertMaskedLMConfig, **packed)._load_sequences("valid", 1, True, False)
    for options in (packed, {"causal_share": 0.1}, {"causal_until": 0.1, "max_update": 9}):
        with pytest.raises(SystemExit, match="--pack-sequences, --causal-share and .*pairs are samples of their own"):
            task_of(SegmentPairsTask, SegmentPairsConfig, **options)._curriculum()
    with pytest.raises(SystemExit, match="--pack-sequences, --causal-share and .*pairs are samples of their own"):
        task_of(ElectraTask, ElectraTaskConfig, sentence_pairs=True, **packed)._curriculum()
    for task_class, config in ((AliBertMaskedLMTask, AliBertMaskedLMConfig), (ElectraTask, ElectraTaskConfig)):
        assert task_of(task_class, config, **packed).packs and not task_of(task_class, config).packs
    task = SimpleNamespace(packs=True, causal_shares=(0.1, 0.0), segment_types=1, max_positions=lambda: 8)
    task.replaces_tokens, task.sentence_objective, task.source_dictionary = False, None, dictionary()
    for model, config in ((AliBertModel, EncoderConfig), (ModernModel, ModernConfig)):
        assert isinstance(model.build_model(config(**SHAPE), task), model)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"mask_prob_end": 0.4}, "--mask-prob-end 0.4 is not between 0 and --mask-prob 0.3"),
        ({"mask_prob_end": 0.0}, "--mask-prob-end 0.0 is not between"),
        ({"mask_prob_end": 0.15, "max_update": 0}, "need --max-update"),
        ({"length_schedule": "0.5:32", "max_update": 0}, "need --max-update"),
        ({"length_schedule": "0.5:100"}, "each length must divide --tokens-per-sample 512"),
        ({"length_schedule": "0.5:32", "pack_sequences": True}, "--length-schedule cuts blocks"),
        ({"causal_share": 1.0}, "--causal-share 1.0 must be 0 or more and below 1"),
        ({"causal_until": 1.0}, "--causal-until 1.0 must be 0 or more and below 1"),
        ({"causal_until": 0.5, "max_update": 0}, "and --causal-until need --max-update"),
        (
            {"length_schedule": "0.5:32", "sample_break_mode": "complete"},
            "--length-schedule cuts full blocks; give --sample-break-mode none, not complete",
        ),
        ({"length_schedule": "0.5:32", "sample_break_mode": "complete_doc"}, "give --sample-break-mode none, not"),
        (
            {"mask_prob_end": 0.15, "max_predictions": 20},
            "--mask-prob-end and --max-predictions 20 both lower the masking rate; leave one of them out",
        ),
    ],
)
def test_a_curriculum_that_cannot_be_is_refused_in_one_sentence(options, sentence):
    task = object.__new__(AliBertMaskedLMTask)
    task.cfg = SimpleNamespace(**{**vars(AliBertMaskedLMConfig()), "mask_prob": 0.3, "max_update": 9, **options})
    with pytest.raises(SystemExit, match=f"^error: .*{sentence}[^\n]*$"):
        task._curriculum()


@pytest.mark.parametrize(
    "options",
    [
        {"sample_break_mode": "complete", "mask_prob_end": 0.15},
        {"max_predictions": 20},
        {"max_predictions": 20, "mask_prob_end": 0.3, "length_schedule": "0.5:32"},
    ],
)
def test_what_does_not_meet_is_taken(options):
    task = object.__new__(AliBertMaskedLMTask)
    task.cfg = SimpleNamespace(**{**vars(AliBertMaskedLMConfig()), "mask_prob": 0.3, "max_update": 9, **options})
    task._curriculum()


def test_pairs_are_not_cut():
    task = object.__new__(SegmentPairsTask)
    task.cfg = SimpleNamespace(**{**vars(SegmentPairsConfig()), "length_schedule": "0.5:32", "max_update": 9})
    with pytest.raises(SystemExit, match="^error: --length-schedule cuts blocks; leave it out for pairs"):
        task._curriculum()


def test_a_falling_masking_rate_is_validated_at_its_end(monkeypatch):
    made = []
    monkeypatch.setattr(
        pretraining, "MaskedDataset", lambda *args, **options: made.append((args[2], options["thinned"]))
    )
    monkeypatch.setattr(AliBertMaskedLMTask, "_load_sequences", lambda *_: [])
    task = object.__new__(AliBertMaskedLMTask)
    options = {"mask_prob": 0.3, "mask_prob_end": 0.15, "max_update": 9, "train_subset": "train"}
    task.cfg = SimpleNamespace(**{**vars(AliBertMaskedLMConfig()), **options})
    task.dictionary = task.random_ids = None
    task.datasets, task.curriculum = {}, task._curriculum()
    task.load_dataset("train")
    task.load_dataset("valid")
    assert [(rule.mask_prob, thinned) for rule, thinned in made] == [(0.3, True), (0.15, False)]
