"""Blocks with masks: the training samples of masked language modelling and of replaced token detection."""

import numpy as np
import torch
from fairseq.data import FairseqDataset

from alibert_fairseq.data.blocks import pad_together
from alibert_fairseq.data.masking import MaskingRule, corrupt, generator_for, select_positions


class MaskedDataset(FairseqDataset):
    """Samples whose masks, and whose draws for the generator of ELECTRA, depend on (seed, epoch, index) alone.

    blocks: sequences that begin with <s>. fixed_masks: the same masks every epoch, for validation.
    draw_uniforms: add to each sample one number in [0, 1) a position, from which ELECTRA samples its replacements.
    """

    def __init__(
        self, blocks, dictionary, rule: MaskingRule, seed: int, random_ids, fixed_masks=False, draw_uniforms=False
    ):
        self.blocks = blocks
        self.rule = rule
        self.seed = seed
        self.random_ids = random_ids
        self.fixed_masks = fixed_masks
        self.draw_uniforms = draw_uniforms
        self.pad, self.mask = dictionary.pad(), dictionary.index("<mask>")
        self.special = np.array([dictionary.bos(), dictionary.pad(), dictionary.eos(), self.mask])
        self.epoch = 1
        self.sizes = np.asarray(blocks.sizes)

    def __getitem__(self, index):
        original = self.blocks[index].numpy()  # (T,)
        generator = generator_for(self.seed, 0 if self.fixed_masks else self.epoch, int(index))
        positions = select_positions(~np.isin(original, self.special), self.rule.mask_prob, generator)
        corrupted = corrupt(original, positions, self.rule, self.mask, self.random_ids, generator)
        target = np.full_like(original, self.pad)
        target[positions] = original[positions]
        sample = {"id": index, "source": corrupted, "target": target, "original": original}
        if self.draw_uniforms:
            sample["uniforms"] = np.zeros(len(original), dtype=np.float64)
            sample["uniforms"][positions] = generator.random(len(positions))
        return sample

    def collater(self, samples):
        """(B, T) tensors; `target` holds the original id at drawn positions and padding elsewhere."""
        if not samples:
            return {}

        def together(key, pad):
            return pad_together([torch.from_numpy(sample[key]) for sample in samples], pad)

        lengths = torch.tensor([len(sample["source"]) for sample in samples])
        net_input = {
            "src_tokens": together("source", self.pad),
            "has_padding": bool((lengths != lengths.max()).any()),
        }
        target = together("target", self.pad)
        if self.draw_uniforms:
            net_input["original"] = together("original", self.pad)
            net_input["masked"] = target.ne(self.pad)
            net_input["uniforms"] = together("uniforms", 0)
        return {
            "id": torch.tensor([int(sample["id"]) for sample in samples]),
            "net_input": net_input,
            "target": target,
            "nsentences": len(samples),
            "ntokens": int(lengths.sum()),
        }

    def __len__(self):
        return len(self.blocks)

    def num_tokens(self, index):
        return self.sizes[index]

    def size(self, index):
        return self.sizes[index]

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
