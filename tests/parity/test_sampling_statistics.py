"""15,000 sequences of real French text a masking unit (50,000 with --long), and the pairs of 20 epochs: do they follow
their laws?

Tolerances are five standard deviations of the law: a test of some hundred such bounds fails by chance once in 10,000
seeds, and the seed is fixed.
"""

from dataclasses import replace

import numpy as np
import pytest

from alibert_fairseq.data.dictionary import word_starts
from alibert_fairseq.data.mask_units import select_units, words_of
from alibert_fairseq.data.masking import MASK_UNITS, MaskingRule, corrupt, generator_for
from alibert_fairseq.tasks.masked_lm import AliBertMaskedLMConfig, AliBertMaskedLMTask
from alibert_fairseq.tasks.segment_pairs import SegmentPairsConfig, SegmentPairsTask
from preprocess.binarize import binarize
from preprocess.train_tokenizer import train_tokenizer

SEED, LENGTH = 11, 128  # 2,567 sequences an epoch
BERT, ELECTRA = (0.8, 0.1), (0.85, 0.0)  # masked, replaced by a random piece


@pytest.fixture(scope="session")
def clinical_cases(shared_data, tmp_path_factory):
    """A data-bin of 654 clinical cases, 10,000 lines, 315,000 tokens of 6,000 pieces."""
    directory = tmp_path_factory.mktemp("cases")
    text = shared_data / "fr_raw" / "pamj_cas_cliniques.txt"
    train_tokenizer([text], directory / "tokenizer", vocab_size=6000)
    binarize(directory / "tokenizer", {"train": [text]}, directory / "data")
    return directory / "data"


class Statistics:
    """What was drawn of every sequence in every epoch, as the dataset draws it, for one unit."""

    def __init__(self, data, unit, epochs):
        config = AliBertMaskedLMConfig(
            data=str(data), tokens_per_sample=LENGTH, mask_unit=unit, seed=SEED, train_subset="train"
        )
        self.task = AliBertMaskedLMTask.setup_task(config)
        self.task.load_dataset("train")
        self.dataset = self.task.dataset("train")
        self.starts = word_starts(self.task.dictionary)
        self.rows = [block.numpy() for block in self.dataset.sequences]
        self.candidates = [self.dataset.maskable[row] for row in self.rows]
        self.drawn = np.zeros((epochs, len(self.rows)), dtype=np.int64)
        self.places = np.zeros(LENGTH, dtype=np.int64)  # how often each position was drawn
        self.fates = {BERT: np.zeros(3, dtype=np.int64), ELECTRA: np.zeros(3, dtype=np.int64)}  # mask, other, same
        self.specials = 0
        self.squared_sizes = 0  # of the spans of every second epoch, in pieces
        for epoch in range(epochs):
            shares = (ELECTRA, BERT)[epoch % 2]
            self.run(epoch, MaskingRule(*shares, unit=unit), self.fates[shares])

    def run(self, epoch, rule, fates):
        places, seen = [], []
        for index, (row, candidates) in enumerate(zip(self.rows, self.candidates, strict=True)):
            generator = generator_for(SEED, epoch, index)
            drawn = select_units(candidates, self.starts[row], rule, generator)
            corrupted = corrupt(row, drawn, rule, self.task.mask_id, self.task.random_ids, generator)
            if epoch == 1 and index < 100:  # the dataset does the same
                assert (self.dataset[index]["source"] == corrupted).all()
            places.append(drawn.positions)
            seen.append((row[drawn.positions], corrupted[drawn.positions]))
            self.drawn[epoch, index] = len(drawn.positions)
            if rule.unit == "span":
                self.squared_sizes += int((np.bincount(drawn.units) ** 2).sum()) if epoch % 2 else 0
        originals, found = (np.concatenate(ids) for ids in zip(*seen, strict=True))
        self.places += np.bincount(np.concatenate(places), minlength=LENGTH)
        self.specials += int((~self.dataset.maskable[originals]).sum())
        same, masked = found == originals, found == self.task.mask_id
        fates += [masked.sum(), (~masked & ~same).sum(), same.sum()]


@pytest.fixture(scope="module", params=MASK_UNITS)
def statistics(request, clinical_cases):
    found = Statistics(clinical_cases, request.param, epochs=20 if request.config.getoption("--long") else 6)
    found.unit = request.param
    return found


def test_the_number_drawn(statistics):
    wanted = np.array([max(1, round(0.15 * len(row))) for row in statistics.rows])
    assert statistics.drawn.size > 15_000 and (statistics.drawn <= wanted).all()
    if statistics.unit == "token":
        assert (statistics.drawn == wanted).all()
    # Other units may leave places that no unit fits into. Words and spans: only where no word of one piece is left.
    assert statistics.drawn.sum() > 0.999 * len(statistics.drawn) * wanted.sum()


def test_special_tokens_are_never_drawn(statistics):
    assert statistics.specials == 0
    assert sum((~candidates).sum() for candidates in statistics.candidates) > 10_000  # though there are many


@pytest.mark.parametrize("shares", [BERT, ELECTRA], ids=["80/10/10", "85/15/0"])
def test_the_shares_of_the_fates(statistics, shares):
    fates = statistics.fates[shares]
    chance = shares[1] / len(statistics.task.random_ids)  # a random piece is the original
    law = np.array([shares[0], shares[1] - chance, 1 - shares[0] - shares[1] + chance])
    draws = fates.sum()
    if statistics.unit == "span":  # the pieces of a span share their fate: as many free draws as give the same variance
        draws = draws**2 / statistics.squared_sizes
    deviation = np.sqrt(law * (1 - law) / draws)
    assert (np.abs(fates / fates.sum() - law) <= 5 * deviation).all()
    assert shares != ELECTRA or fates[1] == 0


def test_every_position_is_drawn_as_often(statistics):
    """A place is drawn with the probability drawn / candidates of its sequence, whatever its number.

    n-grams and spans reach the words next to a special token from one side only, so the two ends are left out.
    """
    expected, variance = np.zeros(LENGTH), np.zeros(LENGTH)
    for candidates, drawn in zip(statistics.candidates, statistics.drawn.T, strict=True):
        share = drawn / candidates.sum()  # (epochs,)
        where = np.flatnonzero(candidates)
        expected[where] += share.sum()
        variance[where] += (share * (1 - share)).sum()
    inner = slice(1, LENGTH) if statistics.unit in ("token", "word") else slice(15, LENGTH - 15)
    places, expected = statistics.places[inner], expected[inner]
    expected = expected * places.sum() / expected.sum()
    z = (places - expected) / np.sqrt(variance[inner])
    assert statistics.places[0] == 0 and np.abs(z).max() < 5
    assert 0.8 < z.std() < 1.25  # and scattered as independent draws are


NGRAM = np.array([6, 3, 2]) / 11  # 1, 1/2, 1/3: ALBERT section 4.1
SPAN = 0.2 * 0.8 ** np.arange(10) / (1 - 0.8**10)  # SpanBERT section 3.1


@pytest.mark.parametrize(("unit", "law"), [("ngram", NGRAM), ("span", SPAN)], ids=["ngram", "span"])
def test_the_lengths_of_units(unit, law, clinical_cases):
    """The first unit of each sequence, where as many words follow as the longest unit has, and half may be drawn."""
    config = AliBertMaskedLMConfig(
        data=str(clinical_cases), tokens_per_sample=LENGTH, mask_unit=unit, seed=SEED, train_subset="train"
    )
    task = AliBertMaskedLMTask.setup_task(config)
    task.load_dataset("train")
    dataset, starts = task.dataset("train"), word_starts(task.dictionary)
    rule = replace(dataset.rule, mask_prob=0.5)
    counts = np.zeros(len(law))
    for index, block in enumerate(dataset.sequences):
        row = block.numpy()
        candidates = dataset.maskable[row]
        words = words_of(candidates, starts[row])
        for epoch in range(2):
            drawn = select_units(candidates, starts[row], rule, generator_for(SEED, epoch, index))
            inside = np.searchsorted(words.first, drawn.positions[drawn.units == 0], side="right") - 1
            if words.left[inside[0]] >= len(law):
                counts[inside[-1] - inside[0]] += 1
    assert counts.sum() > 1000
    deviation = np.sqrt(law * (1 - law) / counts.sum())
    assert (np.abs(counts / counts.sum() - law) < 5 * deviation).all()


def plans(data, **options):
    """(pairs, plan) of 20 epochs."""
    config = SegmentPairsConfig(data=str(data), tokens_per_sample=LENGTH, seed=SEED, train_subset="train", **options)
    task = SegmentPairsTask.setup_task(config)
    task.load_dataset("train")
    pairs = task.dataset("train").sequences
    for epoch in range(1, 21):
        pairs.set_epoch(epoch)
        yield pairs, pairs.plan


def documents_of(pairs, plan):
    """(N, 2) the number of the document each segment's first line stands in."""
    return np.searchsorted(pairs.text.documents[:, 0], plan.first, side="right") - 1


@pytest.mark.parametrize(
    ("objective", "single"), [("sop", "unlabelled"), ("nsp", "unlabelled"), ("nsp", "random")], ids=str
)
def test_the_labels_of_pairs(objective, single, clinical_cases):
    labels, at_front, cut = [], 0, 0
    for pairs, plan in plans(clinical_cases, sentence_objective=objective, single_sentence_chunks=single):
        documents = documents_of(pairs, plan)
        paired = plan.count[:, 1] > 0
        same = documents[paired, 0] == documents[paired, 1]
        assert (same == (plan.label[paired] == 0)).all() if objective == "nsp" else same.all()
        ends = plan.first + plan.count <= pairs.text.documents[documents, 1]
        assert ends.all() and pairs.sizes.max() <= LENGTH  # no segment runs on into the next document
        labels.append(plan.label[plan.label != -100])
        at_front += int(plan.skip.sum())
        cut += plan.cut_tokens
    labels = np.concatenate(labels)
    deviation = 0.5 / np.sqrt(len(labels))
    assert len(labels) > 45_000
    if single == "random":
        assert labels.mean() > 0.5 + 5 * deviation  # BERT's: the lines left alone are random pairs too
    else:
        assert abs(labels.mean() - 0.5) < 5 * deviation
    assert abs(at_front / cut - 0.5) < 5 * 0.5 / np.sqrt(cut)


def test_random_segments_come_from_every_document_and_line_alike(clinical_cases):
    picked, places = [], []
    for pairs, plan in plans(clinical_cases, sentence_objective="nsp"):
        random = plan.label == 1
        documents, first = documents_of(pairs, plan)[random, 1], plan.first[random, 1]
        begin, end = pairs.text.documents[documents].T
        picked.append(documents)
        places.append((first - begin + 0.5) / (end - begin))
    picked, places = np.bincount(np.concatenate(picked)), np.concatenate(places)
    mean = picked.sum() / len(picked)
    assert len(picked) == 654 and np.abs(picked - mean).max() < 5 * np.sqrt(mean)
    assert abs(places.mean() - 0.5) < 5 * np.sqrt(1 / 12 / len(places))
