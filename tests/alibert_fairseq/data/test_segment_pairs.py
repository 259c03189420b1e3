"""Pairs of segments: hand-traced samples, and what holds of every sample of random text."""

import logging

import numpy as np
import pytest
import torch
from fairseq.data import ListDataset
from model_helpers import dictionary

from alibert_fairseq.data import pairing, segment_pairs
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.data.pairing import Lines, PairRule, fit, plan_pairs
from alibert_fairseq.data.segment_pairs import SegmentPairs

# Lengths of the lines of each document. Tokens are numbered from 4 on: 4-7, 8-10, 11-15, 16-17; 18-23, 24-25; 26-28.
TOY = [[4, 3, 5, 2], [6, 2], [3]]


def text(documents) -> ListDataset:
    """Lines of consecutive numbers and </s>, 2; a line of </s> alone between documents."""
    rows, token = [], 4
    for document in documents:
        rows += [torch.tensor([2])] if rows else []
        for length in document:
            rows.append(torch.tensor([*range(token, token + length), 2]))
            token += length
    return ListDataset(rows, np.array([len(row) for row in rows]))


class Script:
    """Draws that were written down beforehand; `below` also checks the limit it is asked for."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)

    def below(self, limit):
        expected, number = self.numbers.pop(0)
        assert limit == expected
        return number


class Even:
    """A generator that cuts half of what is to go at the front, rounded down."""

    def binomial(self, numbers, probability):
        assert probability == 0.5
        return numbers // 2


def samples(monkeypatch, rule, *script):
    """(tokens, segments, label) of every sample of the toy text under scripted draws, all of which must be used."""
    draws = Script(*script)
    monkeypatch.setattr(pairing, "Draws", lambda generator: draws)
    monkeypatch.setattr(segment_pairs, "plan_pairs", lambda lines, rule, _: plan_pairs(lines, rule, Even()))
    pairs = SegmentPairs(text(TOY), dictionary(), rule, seed=1)
    assert draws.numbers == []
    return [(pairs[i].tolist(), pairs.segments(i).tolist(), pairs.label(i)) for i in range(len(pairs))]


def sample(first, second, label):
    """`<s> A </s> B </s>` of two runs of tokens (from, to), the ends included."""
    a, b = (list(range(run[0], run[1] + 1)) if run else [] for run in (first, second))
    tokens = [0, *a, 2, *b, 2] if b else [0, *a, 2]
    return tokens, [0] * (len(a) + 2) + [1] * (len(tokens) - len(a) - 2), label


def test_next_sentence_by_hand(monkeypatch):
    found = samples(
        monkeypatch, PairRule("nsp", 13, "random"),
        # Document 1: not short, so chunks of 10 tokens: lines 1 to 3, cut after the first; random: of the two others
        0.5, (2, 0), 0.2, (2, 0), (2, 1),  # the first, which is document 2, from its second line on.
        (2, 1), 0.5,  # Lines 2 and 3 were put back; lines 2 to 4, cut after the second of them; next.
        # Document 2: short, 5 tokens. Line 1 alone: the second other, document 3. Line 2 alone: the first other,
        0.05, (9, 3), (2, 1), (1, 0), (2, 0), (4, 1),  # document 1, from line 2 on, whose 3 tokens are enough.
        0.1, (2, 1), (2, 1),  # Document 3: not short; alone: document 2, from line 2 on.
    )  # fmt: skip
    assert found == [
        sample((4, 7), (24, 25), 1),
        sample((8, 15), (16, 17), 0),
        sample((18, 23), (26, 28), 1),
        sample((24, 25), (8, 10), 1),
        sample((26, 28), (24, 25), 1),
    ]


def test_sentence_order_by_hand(monkeypatch):
    found = samples(
        monkeypatch, PairRule("sop", 13, "unlabelled"),
        0.5, (2, 0), 0.4,  # Document 1: lines 1 to 3, cut after the first, swapped; line 4 is alone.
        0.5, (1, 0), 0.6,  # Document 2: both lines, in order.
        0.05, (9, 0),  # Document 3: short, 2 tokens; alone.
    )  # fmt: skip
    assert found == [
        sample((9, 14), (4, 7), 1),  # 12 tokens, 2 too many: the longer segment loses one at each end
        sample((16, 17), None, -100),
        sample((18, 23), (24, 25), 0),
        sample((26, 28), None, -100),
    ]


def test_two_segments_by_hand(monkeypatch):
    found = samples(
        monkeypatch, PairRule("none", 13),
        0.5, 0.5, 0.3,  # Document 1: all lines; line 1 stays below half, 5 tokens, and line 2 spills over.
        0.5, 0.5,  # Document 2: line 1 alone is more than half, so nothing spills over.
        0.01, (9, 0), 0.05,  # Document 3: short, 5 tokens; one segment.
    )  # fmt: skip
    assert found == [
        sample((4, 10), (11, 13), -100),  # B loses the 4 tokens that do not fit
        sample((18, 23), (24, 25), -100),
        sample((26, 28), None, -100),
    ]


def popped(a, b, room):
    """BERT's truncate_seq_pair, token by token: what is left of each."""
    while a + b > room:
        a, b = (a - 1, b) if a > b else (a, b - 1)
    return a, b


def test_what_is_kept_of_pairs_that_are_too_long():
    lengths = [(a, b) for a in range(1, 14) for b in range(1, 14)]
    before = np.concatenate(([0], np.cumsum(lengths)))
    table = np.array([[2 * i, 2 * i + 1, 2 * i + 1, 2 * i + 2, 0] for i in range(len(lengths))])
    for room in range(2, 12):
        plan = fit(table, Lines(before, None), PairRule("sop", room + 3), np.random.default_rng(1))
        assert plan.keep.tolist() == [list(popped(a, b, room)) for a, b in lengths]
        assert plan.cut_tokens == sum(max(0, a + b - room) for a, b in lengths)


def test_tokens_are_cut_at_the_front_as_often_as_at_the_back():
    table = np.array([[0, 1, 1, 2, 0]] * 2000)
    plan = fit(table, Lines(np.array([0, 20, 30]), None), PairRule("sop", 23), np.random.default_rng(1))
    assert (plan.keep == 10).all() and (plan.skip[:, 1] == 0).all()
    # The front is a binomial number of 10: standard deviation 1.58, of the mean 0.035.
    assert plan.skip[:, 0].mean() == pytest.approx(5, abs=5 * 0.035)
    assert plan.skip[:, 0].std() == pytest.approx(1.58, abs=0.2)


def random_text(seed):
    """40 documents of 1 to 12 lines of 1 to 60 tokens."""
    generator = np.random.default_rng(seed)
    return [generator.integers(1, 61, size=generator.integers(1, 13)).tolist() for _ in range(40)]


RULES = [
    PairRule("nsp", 48, "random"), PairRule("nsp", 48, "unlabelled", 2), PairRule("sop", 48, "unlabelled"),
    PairRule("sop", 48, "random", 3), PairRule("none", 48), PairRule("sop", 5, "unlabelled"),
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_every_pair_is_what_its_label_says(rule, seed):
    documents = random_text(seed)
    document_of = np.repeat(np.arange(40), [sum(document) for document in documents])
    pairs = SegmentPairs(text(documents), dictionary(), rule, seed)
    for i in range(len(pairs)):
        tokens, segments, label = pairs[i].numpy(), pairs.segments(i), pairs.label(i)
        assert len(tokens) == len(segments) == pairs.sizes[i] <= rule.tokens_per_sample
        ends = np.flatnonzero(tokens == 2).tolist()
        assert tokens[0] == 0 and ends[-1] == len(tokens) - 1
        assert segments.tolist() == [0] * (ends[0] + 1) + [1] * (len(tokens) - ends[0] - 1)
        runs = [part for part in np.split(tokens[1:-1], np.array(ends[:-1], dtype=int) - 1)]
        runs = [part[part != 2] for part in runs]
        where = [set(document_of[run - 4].tolist()) for run in runs]
        assert all(len(run) and (np.diff(run) == 1).all() for run in runs)  # no token lost or repeated inside
        assert all(len(found) == 1 for found in where)  # of one document
        if len(runs) == 1:
            assert label == -100
        elif rule.objective == "none" or label == 0:
            assert label == (-100 if rule.objective == "none" else 0)
            assert where[0] == where[1] and runs[0][-1] < runs[1][0]
        elif rule.objective == "nsp" or where[0] != where[1]:
            assert label == 1 and where[0] != where[1] and rule.single_chunks + rule.objective != "unlabelledsop"
        else:
            assert label == 1 and runs[1][-1] < runs[0][0]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_line_is_used_once_a_pass_and_every_token_accounted_for(rule):
    documents = random_text(7)
    pairs = SegmentPairs(text(documents), dictionary(), rule, 1)
    plan = pairs.plan
    used = np.zeros(len(pairs.lines), dtype=int)
    for i in range(len(pairs)):
        end = plan.first[i] + plan.count[i]
        touching = plan.count[i, 1] and (end[0] == plan.first[i, 1] or end[1] == plan.first[i, 0])
        for segment in (0, 1) if touching else (0,):  # a second segment from elsewhere is read once more
            used[plan.first[i, segment] : end[segment]] += 1
    of_text = np.diff(pairs.text.before) > 0
    if rule.objective != "none":  # where a long A may leave no room for the lines of B
        assert (used[of_text] == rule.passes).all() and not used[~of_text].any()
    if rule.objective != "nsp" and rule.single_chunks != "random":
        assert plan.keep.sum() + plan.cut_tokens == rule.passes * sum(map(sum, documents)) and not plan.random_tokens


@pytest.mark.parametrize(("objective", "single"), [("sop", "unlabelled"), ("nsp", "unlabelled"), ("nsp", "random")])
def test_labels_come_in_their_shares(objective, single):
    pairs = SegmentPairs(text([[10] * 5] * 1000), dictionary(), PairRule(objective, 43, single), 1)
    labels = pairs.plan.label[pairs.plan.label != -100]
    deviation = 0.5 / np.sqrt(len(labels))
    assert len(labels) > 900
    if single == "random":  # BERT's lines without another to follow them are pairs of label 1
        assert labels.mean() > 0.5 + 5 * deviation
    else:
        assert abs(labels.mean() - 0.5) < 5 * deviation


def test_lengths_come_in_their_shares():
    """Lines of one token, so that a chunk is as long as its target."""
    starts = np.arange(4000) * 60
    text = Lines(np.arange(4000 * 60 + 1), np.stack((starts, starts + 60), 1))  # no empty lines are needed here
    plan = plan_pairs(text, PairRule("sop", 48), np.random.default_rng(1))
    first_of_document = plan.count[plan.first.min(1) % 60 == 0].sum(1)
    short = 0.1 * 43 / 44  # a random target, of 2 to 45, is 45 once in 44
    assert len(first_of_document) == 4000
    assert (first_of_document < 45).mean() == pytest.approx(short, abs=5 * 0.0047)

    text = Lines(np.arange(400_001), np.array([[0, 400_000]]))
    plan = plan_pairs(text, PairRule("none", 48), np.random.default_rng(1))
    whole = plan.count.sum(1) == 48
    alone = plan.count[:, 1] == 0
    assert len(whole) > 8000  # standard deviations 0.0024, 0.0033, 0.006
    assert (~whole).mean() == pytest.approx(0.05 * 43 / 44, abs=5 * 0.0024)
    assert alone.mean() == pytest.approx(0.1, abs=5 * 0.0033)
    spilt = plan.count[whole & ~alone, 0]  # half is 22: A stays below it, or takes one line more
    assert set(spilt.tolist()) == {21, 22} and (spilt == 22).mean() == pytest.approx(0.5, abs=5 * 0.006)


def test_a_plan_is_logged_in_one_line(caplog):
    caplog.set_level(logging.INFO)
    pairs = SegmentPairs(text([[4, 30, 8], [9, 5]]), dictionary(), PairRule("sop", 23, "unlabelled"), 1, name="train")
    pairs.set_epoch(1)
    assert len(caplog.messages) == 1
    kept, cut = int(pairs.plan.keep.sum()), pairs.plan.cut_tokens
    assert kept + cut == 56 and cut
    assert caplog.messages[0].startswith(f"train, epoch 1: {len(pairs)} samples, ")
    assert f"{cut} tokens ({cut / 56:.1%}) cut off to fit --tokens-per-sample 23" in caplog.messages[0]
    assert caplog.messages[0].endswith("1 lines of more than 20 tokens in parts")


def test_pairs_depend_on_the_seed_and_the_epoch_only():
    def tokens(seed, epoch, fixed=False):
        pairs = SegmentPairs(text(random_text(1)), dictionary(), PairRule("sop", 48), seed, fixed=fixed)
        pairs.set_epoch(epoch)
        return [pairs[i].tolist() for i in range(len(pairs))]

    assert tokens(1, 2) == tokens(1, 2)
    assert tokens(1, 2) != tokens(2, 2) and tokens(1, 2) != tokens(1, 3)
    assert tokens(1, 2, fixed=True) == tokens(1, 3, fixed=True) == tokens(1, 0)  # validation


def test_a_batch_has_segments_and_labels():
    for objective in ("sop", "none"):
        pairs = SegmentPairs(text(TOY), dictionary(), PairRule(objective, 13), 1)
        data = MaskedDataset(pairs, dictionary(), MaskingRule(0.8, 0.1), 1, np.arange(4, 44))
        batch = data.collater([data[i] for i in range(len(data))])
        segments, tokens = batch["net_input"]["segments"], batch["net_input"]["src_tokens"]
        assert segments.dtype == torch.int64 and segments.shape == tokens.shape
        assert not segments[tokens == 1].any() and segments.any()
        if objective == "sop":
            assert batch["sentence_target"].dtype == torch.int64
            assert batch["sentence_target"].tolist() == pairs.plan.label.tolist()
        else:
            assert "sentence_target" not in batch


def test_an_objective_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="one of nsp, sop, none, not NSP"):
        PairRule("NSP", 13)
