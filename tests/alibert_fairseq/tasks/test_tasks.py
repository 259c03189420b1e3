"""What the tasks ask of the data, from their options' defaults."""

from types import SimpleNamespace

import pytest

from alibert_fairseq.data.pairing import PairRule
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
