"""A data-bin that says which tokens may be learned is obeyed by every kind of sample and every objective.

No token occurs twice in the text, so a token of a sample tells whether it may be learned.
"""

import numpy as np
import pytest
import torch
from batch_helpers import batches
from binarize_helpers import items
from mix_helpers import MixedText
from model_helpers import SHAPE

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss
from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.models.bert import AliBertModel
from alibert_fairseq.models.config import EncoderConfig
from alibert_fairseq.models.electra import ElectraConfig, ElectraModel
from alibert_fairseq.models.electra_modern import ElectraModernConfig, ElectraModernModel
from alibert_fairseq.tasks.electra import ElectraTask, ElectraTaskConfig
from alibert_fairseq.tasks.masked_lm import AliBertMaskedLMConfig, AliBertMaskedLMTask
from alibert_fairseq.tasks.segment_pairs import SegmentPairsConfig, SegmentPairsTask
from preprocess.databin.predictable import predictable_path, written_bits

TASKS = {
    "mlm": (AliBertMaskedLMTask, AliBertMaskedLMConfig),
    "pairs": (SegmentPairsTask, SegmentPairsConfig),
    "electra": (ElectraTask, ElectraTaskConfig),
}
SAMPLES = {
    "blocks": {},
    "whole lines": {"sample_break_mode": "complete"},
    "documents": {"sample_break_mode": "complete_doc"},
    "packed": {"sample_break_mode": "complete_doc", "pack_sequences": True},
    "words": {"mask_unit": "word"},
    "uniform words": {"mask_unit": "word", "mask_word_selection": "uniform"},
    "n-grams": {"mask_unit": "ngram"},
    "spans": {"mask_unit": "span"},
    "thinned": {"mask_prob_end": 0.05, "max_update": 10},
}


def mark(prefix, seed: int, share: float = 0.6) -> set[int]:
    """Write which tokens of a split may be learned, at random; returns those that may not."""
    generator, rare = np.random.default_rng(seed), set()
    with written_bits(prefix) as bits:
        for line in items(prefix):
            may = generator.random(len(line)) < share
            may[-1] = may[-2] if len(line) > 1 else True
            bits.add(may)
            rare |= {token for token, learned in zip(line[:-1], may, strict=False) if not learned}
    return rare


class Marked:
    """A data-bin of one corpus, or of two, marked."""

    def __init__(self, place, weights=None):
        sizes = {"a": 15, "b": 20} if weights else {"a": 25}
        self.path = MixedText(place, sizes, weights).directory
        names = ("train", "train1") if weights else ("train",)
        self.rare = set().union(*(mark(self.path / name, seed) for seed, name in enumerate(names)))

    def task(self, kind="mlm", epoch=1, **options):
        task_class, config = TASKS[kind]
        options = {"data": str(self.path), "tokens_per_sample": 24, "seed": 5, "train_subset": "train"} | {
            "max_update": 10,
            **options,
        }
        task = task_class.setup_task(config(**options))
        task.load_dataset("train", epoch=epoch)
        return task


@pytest.fixture
def marked(tmp_path):
    return Marked(tmp_path / "data-bin")


def read(task) -> tuple[set[int], set[int], float]:
    """The tokens of all samples that are to be predicted, and that are seen; the share of those that may be learned
    which is masked."""
    targets, seen, masked, learned = set(), set(), 0, 0
    data = task.dataset("train")
    for number in range(len(data)):
        sample = data[number]
        chosen = sample["target"] != 1
        targets.update(sample["target"][chosen].tolist())
        seen.update(sample["source"].tolist())
        masked, learned = masked + chosen.sum(), learned + sample["predictable"].sum()
        assert not (chosen & ~sample["predictable"]).any()
        assert sample["source"].max() < len(task.dictionary) and sample["original"].max() < len(task.dictionary)
    return targets, seen, masked / learned


@pytest.mark.parametrize("name", SAMPLES)
def test_tokens_that_may_not_be_learned_are_seen_and_never_predicted(marked, name):
    options, targets, seen = SAMPLES[name], set(), set()
    task = marked.task(**options)
    for epoch in range(1, 26):
        task.dataset("train").set_epoch(epoch)
        some = read(task)
        targets, seen = targets | some[0], seen | some[1]
    assert targets and not targets & marked.rare and marked.rare <= seen
    if "mask_unit" not in options:  # units end at such tokens, so a few positions stay unused
        assert some[2] == pytest.approx(0.15, abs=0.02)
    everything = {token for line in items(marked.path / "train") for token in line}
    assert len(everything - marked.rare - targets) < 0.05 * len(everything)


@pytest.mark.parametrize("kind, options", [("pairs", {}), ("electra", {"sentence_pairs": True})])
def test_pairs_too(marked, kind, options):
    for epoch in (1, 2):
        task = marked.task(kind, epoch=epoch, tokens_per_sample=40, **options)
        targets, seen, _ = read(task)
        assert targets and not targets & marked.rare and seen & marked.rare


def test_the_corpora_of_a_mix_too(tmp_path):
    marked = Marked(tmp_path / "data-bin", {"a": 2.5, "b": 1.0})
    for epoch in (1, 2):
        targets, seen, _ = read(marked.task(epoch=epoch))
        assert targets and not targets & marked.rare and seen & marked.rare


def test_the_marks_of_a_sample_are_those_of_the_file(marked):
    data = marked.task().dataset("train")
    tokens = np.fromfile(marked.path / "train.bin", np.uint16)
    bits = np.unpackbits(np.fromfile(marked.path / "train.predictable", np.uint8))[: len(tokens)]
    samples = [data[number] for number in range(len(data))]
    assert np.concatenate([sample["original"][1:] for sample in samples]).tolist() == tokens.tolist()
    assert np.concatenate([sample["predictable"][1:] for sample in samples]).tolist() == bits.tolist()
    assert all(sample["predictable"][0] for sample in samples)  # <s>


def test_they_are_masks_in_the_input_by_option(marked):
    for kind in TASKS:
        task = marked.task(kind, mask_unpredictable=True, **({} if kind == "electra" else {"random_token_prob": 0.0}))
        _, seen, _ = read(task)
        assert not seen & marked.rare
        for batch in batches(task).next_epoch_itr(shuffle=False):
            assert not set(batch["net_input"].get("original", torch.zeros(1)).flatten().tolist()) & marked.rare


@pytest.mark.parametrize("hidden", [False, True])
def test_the_next_token_is_not_predicted_where_it_may_not_be_learned(marked, hidden):
    task, followed = marked.task(causal_share=0.9, mask_unpredictable=hidden), set()
    for batch in batches(task).next_epoch_itr(shuffle=False):
        batch = task.prepared(batch, 8)
        assert batch["net_input"]["causal"] and "predictable" not in batch["net_input"]
        followed |= set(batch["target"].tolist())
    everything = {token for line in items(marked.path / "train") for token in line}
    assert not followed & marked.rare and len(everything - marked.rare - followed) < 10


def models(task):
    options = SHAPE | {"encoder_layers": 1, "dropout": 0.0, "attention_dropout": 0.0}
    table = task.dictionary
    return {
        "electra": lambda: ElectraModel(ElectraConfig(**options), table),
        "electra, modern": lambda: ElectraModernModel(ElectraModernConfig(**options), table),
    }


@pytest.mark.parametrize("name", ["electra", "electra, modern"])
def test_the_discriminator_learns_nothing_from_such_tokens(marked, name, monkeypatch):
    """Its loss is the mean over the others, and the gradient of the scores of such tokens is zero."""
    task = marked.task("electra")
    model, criterion = models(task)[name](), ElectraLoss(ElectraCriterionConfig(), task)
    kept = []
    forward = type(model).forward

    def remember(self, *arguments, **options):
        kept.append(forward(self, *arguments, **options))
        kept[-1].discriminator_scores.retain_grad()
        return kept[-1]

    monkeypatch.setattr(type(model), "forward", remember)
    batch = task.prepared(next(batches(task).next_epoch_itr(shuffle=False)), 0)
    loss, masked, logged = criterion(model, batch)
    loss.backward()
    [output], may = kept, batch["net_input"]["predictable"]
    assert 0 < may.sum() < len(may) and not (output.judged & ~may).any() and not (output.replaced & ~may).any()
    gradient = output.discriminator_scores.grad
    assert (gradient[~output.judged] == 0).all() and (gradient[output.judged] != 0).all()
    assert int(logged["judged"]) == int(output.judged.sum())
    of_each = torch.nn.functional.binary_cross_entropy_with_logits(
        output.discriminator_scores.detach(), output.replaced.float(), reduction="none"
    )
    expected = output.generator.loss + 50 * masked * of_each[output.judged].sum() / may.sum()
    expected = expected + (output.words.loss if output.words else 0)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_batch_without_a_token_to_learn_has_a_loss_of_zero(tmp_path):
    marked = Marked(tmp_path / "data-bin")
    mark(marked.path / "train", 1, share=0.0)
    for kind in ("mlm", "electra"):
        task = marked.task(kind, sample_break_mode="complete_doc")
        batch = task.prepared(next(batches(task).next_epoch_itr(shuffle=False)), 0)
        if kind == "mlm":
            model = AliBertModel(EncoderConfig(**SHAPE), task.dictionary)
            loss, masked, _ = AliBertMaskedLMLoss(MaskedLMCriterionConfig(), task)(model, batch)
        else:
            model = models(task)["electra"]()
            loss, masked, _ = ElectraLoss(ElectraCriterionConfig(), task)(model, batch)
        assert masked == 0 and loss.item() == 0


def test_what_does_not_fit_is_refused(tmp_path, marked):
    def refused(**options):
        with pytest.raises(SystemExit) as stopped:
            marked.task(**options)
        return str(stopped.value)

    other = MixedText(tmp_path / "other", {"a": 5}, None).directory
    said = refused(data=f"{marked.path}:{other}")
    assert said.startswith(
        f"error: {other / 'train.predictable'}: no such file, so that all its tokens would be learned"
    )
    assert "does not say what is unpredictable" in refused(data=str(other), mask_unpredictable=True)
    (other / "anonymity.json").write_text("{}")
    assert "no such file" in refused(data=str(other))
    with open(predictable_path(marked.path / "train"), "ab") as file:
        file.write(b"\0")
    assert "train.predictable" in refused() and "bytes for" in refused()
