"""Sequences with masks: the training samples of masked language modelling and of replaced token detection."""

import numpy as np
import torch
from fairseq.data import FairseqDataset

from alibert_fairseq.data.dictionary import mask_id, special_ids
from alibert_fairseq.data.lines import Sized
from alibert_fairseq.data.mask_units import select_units
from alibert_fairseq.data.masking import MaskingRule, corrupt, generator_for
from alibert_fairseq.data.packed import Packed
from alibert_fairseq.data.predictable import lowered
from alibert_fairseq.data.segment_pairs import SegmentPairs


class MaskedDataset(Sized, FairseqDataset):
    """Samples whose masks, and whose random numbers for ELECTRA's generator, depend on (seed, epoch, index) alone.

    sequences: blocks, Packed or SegmentPairs, each begins with <s>. random_ids: (n,) the ids of random subwords.
    starts: (V,) bool, whether a token starts a word, for all units but tokens. fixed_masks: the same masks every epoch,
    for validation. with_uniforms: add one number in [0, 1) per position, from which ELECTRA samples its replacements.
    thinned: add one number in [0, 1) per masked unit, the order in which a falling masking rate keeps them.
    marked: some tokens may not be learned, those whose ids are raised (data/predictable.py); hidden: they are <mask>.
    """

    def __init__(
        self, sequences, dictionary, rule: MaskingRule, seed: int, random_ids: np.ndarray,
        starts: np.ndarray | None = None, fixed_masks: bool = False, with_uniforms: bool = False,
        thinned: bool = False, marked: bool = False, hidden: bool = False,
    ):  # fmt: skip
        self.sequences, self.rule, self.seed, self.random_ids = sequences, rule, seed, random_ids
        self.starts, self.fixed_masks, self.with_uniforms = starts, fixed_masks, with_uniforms
        self.thinned, self.marked, self.hidden = thinned, marked, hidden
        self.pad, self.mask = dictionary.pad(), mask_id(dictionary)
        self.maskable = np.ones(len(dictionary), dtype=bool)  # (V,)
        self.maskable[special_ids(dictionary)] = False
        self.epoch, self._sizes = 1, np.asarray(sequences.sizes)

    def __getitem__(self, index):
        original, predictable = self.sequences[index].numpy(), np.True_  # (T,)
        if self.marked:
            original, predictable = lowered(original, len(self.maskable))  # (T,), (T,)
        generator = generator_for(self.seed, 0 if self.fixed_masks else self.epoch, int(index))
        starts = None if self.starts is None else self.starts[original]
        there = (original != self.pad) & predictable  # a document that was taken out of the text is padding
        candidates = self.maskable[original] & predictable
        masked = select_units(candidates, starts, self.rule, generator, np.count_nonzero(there))
        if self.hidden:
            original = np.where(predictable, original, self.mask)
        corrupted = corrupt(original, masked, self.rule, self.mask, self.random_ids, generator)
        target = np.full_like(original, self.pad)
        target[masked.positions] = original[masked.positions]
        sample = {"id": index, "source": corrupted, "target": target, "original": original}
        if self.marked:
            sample["predictable"] = predictable
        if self.with_uniforms:
            sample["uniforms"] = np.zeros(len(original), dtype=np.float64)
            sample["uniforms"][masked.positions] = generator.random(len(masked.positions))
        if self.thinned:
            units = masked.units.max(initial=-1) + 1
            sample["thinning"] = np.zeros(len(original), dtype=np.float64)  # fairseq rounds float32 under --bf16
            sample["thinning"][masked.positions] = ((generator.permutation(units) + 0.5) / max(1, units))[masked.units]
        if isinstance(self.sequences, Packed):
            sample["sequences"] = self.sequences.numbers(index)
        if isinstance(self.sequences, SegmentPairs):
            sample["segments"] = self.sequences.segments(index)
            sample["sentence_target"] = self.sequences.label(index)
        return sample

    def collater(self, samples):
        """(B, T) tensors; `target` holds the original id at masked positions and padding elsewhere.

        Where some tokens may not be learned, net_input also holds `predictable`.

        For packed rows, net_input also holds `sequences`, the number of the sequence of each token.
        For pairs, net_input also holds `segments`: 0 for `<s> A </s>` and padding, 1 for `B </s>`. With a sentence
        objective the batch also holds `sentence_target` (B,), -100 for samples without a label.
        """
        if not samples:
            return {}

        def together(key, pad):
            rows = [torch.from_numpy(sample[key]) for sample in samples]
            return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)

        lengths = torch.tensor([len(sample["source"]) for sample in samples])
        net_input = {"src_tokens": together("source", self.pad), "has_padding": bool((lengths != lengths.max()).any())}
        target = together("target", self.pad)
        if self.with_uniforms:
            net_input["original"] = together("original", self.pad)
            net_input["uniforms"] = together("uniforms", 0)
        batch = {
            "id": torch.tensor([int(sample["id"]) for sample in samples]),
            "net_input": net_input,
            "target": target,
            "nsentences": len(samples),
            "ntokens": int(lengths.sum()),
        }
        if self.marked:
            net_input["predictable"] = together("predictable", False)
        if isinstance(self.sequences, Packed):
            net_input["sequences"] = together("sequences", -1)  # padding sees padding alone
        if self.thinned:
            batch["thinning"] = together("thinning", 0)
        if isinstance(self.sequences, SegmentPairs):
            net_input["segments"] = together("segments", 0)
            if self.sequences.rule.labelled:
                batch["sentence_target"] = torch.tensor([sample["sentence_target"] for sample in samples])
        return batch

    def ordered_indices(self):
        """A new order every epoch, then by length, so that batches hold little padding."""
        shuffled = np.random.default_rng((self.seed, self.epoch)).permutation(len(self))
        return shuffled[np.argsort(self.sizes[shuffled], kind="stable")]

    @property
    def can_reuse_epoch_itr_across_epochs(self):
        return False  # each epoch forms its batches anew

    def set_epoch(self, epoch):
        super().set_epoch(epoch)
        self.epoch = epoch
        self.sequences.set_epoch(epoch)
        self._sizes = np.asarray(self.sequences.sizes)  # every epoch has other pairs
