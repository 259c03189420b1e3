"""Pairs of segments, `<s> A </s> B </s>`, read from the lines of a data-bin as a plan says."""

import logging

import numpy as np
import torch
from fairseq.data import FairseqDataset
from fairseq.distributed.utils import get_global_rank

from alibert_common.errors import InputError
from alibert_fairseq.data.blocks import LongLinesCut, load_lines, split_path, spread
from alibert_fairseq.data.lines import Sized
from alibert_fairseq.data.mixed_lines import Mix
from alibert_fairseq.data.pairing import FOLLOWS, OTHERWISE, UNLABELLED, Lines, PairRule, Plan, plan_pairs
from alibert_fairseq.data.token_view import Readings
from preprocess.databin.split_reader import documents_in

logger = logging.getLogger(__name__)

PLAN = 1  # sets the plan's random numbers apart from those of masks, (seed, epoch, index), and of the order of samples
LABELS = {"0": FOLLOWS, "1": OTHERWISE, "none": UNLABELLED}
REMEDY = "binarize the text again, a sentence a line and an empty line between documents"


def load_pairs(
    data: str, split: str, epoch: int, dictionary, rule: PairRule, seed: int, fixed: bool, combine: bool,
    mix: Mix | None = None, readings: Readings | None = None,
):  # fmt: skip
    """Load one split as pairs; raises InputError as load_lines does, and for text that makes no pairs.

    Every line must end in </s>; one that is </s> alone ends a document: what fairseq-preprocess makes of text.
    """
    lines = load_lines(data, split, epoch, dictionary, combine, mix, readings)
    path = split_path(data, split, epoch)
    ends = (dictionary.eos(), dictionary.pad())  # padding: a document that was taken out
    for index in spread(lines):
        line = lines[index]  # ids below 0 are numbers of documents, those from V on may not be learned
        if not len(line) or (int(line[-1]) >= 0 and int(line[-1]) % len(dictionary) not in ends):
            place = f"line {index + 1}" + " of the mix" * (mix is not None)
            raise InputError(f"{path}.bin, {place}: does not end in {dictionary.eos_word}; {REMEDY}.")
    return SegmentPairs(lines, dictionary, rule, seed, epoch, fixed, path)


class SegmentPairs(Sized, FairseqDataset):
    """Pairs that depend on (seed, epoch) alone; `fixed` ones, for validation, are those of epoch 0.

    Invariants: a segment is lines of one document, next to each other; a pair that is not labelled as random is of one
    document; every line is used once a pass, but for what the plan cuts and logs. Tokens are read from the data-bin on
    access. Memory: 32 bytes a line, 49 bytes a sample.
    """

    def __init__(self, lines, dictionary, rule: PairRule, seed: int, epoch: int = 1, fixed: bool = False, name="pairs"):
        self.bos, self.eos = torch.tensor([dictionary.bos()]), torch.tensor([dictionary.eos()])
        self.rule, self.seed, self.fixed, self.name = rule, seed, fixed, name
        self.lines = LongLinesCut(lines, rule.room)
        self.text = text_of(np.asarray(lines.sizes), self.lines)._replace(original=getattr(lines, "document", None))
        self.cut_lines = int((np.bincount(self.lines.line) > 1).sum())
        self._check_documents()
        self.epoch = None
        self.set_epoch(epoch)

    def _check_documents(self) -> None:
        """Refuse text of which no label can be learned; warn where the lines may not be what they are taken for."""
        rule, documents = self.rule, self.text.documents
        originals = self.text.original
        one_document = len(documents if originals is None else np.unique(originals)) == 1  # copies count as one
        single_lines = bool((np.diff(documents) == 1).all())
        if one_document and (rule.objective == "nsp" or (rule.labelled and rule.single_chunks == "random")):
            raise InputError(
                f"{self.name}: holds one document, so no segment can come from another; give it more (mix --valid), "
                f"or {REMEDY}."
            )
        if single_lines and rule.labelled:
            raise InputError(f"{self.name}: every document is one line, so no line follows another; {REMEDY}.")
        if (one_document or single_lines) and get_global_rank() == 0:
            doubt = "holds one document" if one_document else "every document is one line"
            logger.warning("%s: %s; if the text is not like that, %s", self.name, doubt, REMEDY)

    def set_epoch(self, epoch):
        """Plan the pairs of the epoch, unless they are planned."""
        super().set_epoch(epoch)
        epoch = 0 if self.fixed else epoch
        if epoch != self.epoch:
            self.epoch = epoch
            self.plan = plan_pairs(self.text, self.rule, np.random.default_rng((self.seed, epoch, 0, PLAN)))
            self._sizes = 1 + (self.plan.keep + (self.plan.count > 0)).sum(1)  # (N,) tokens, special ones included
            logger.info("%s, epoch %d: %s", self.name, epoch, describe(self.plan, self.cut_lines, self.rule))

    def __getitem__(self, index):
        """(T,) int64: `<s> A </s> B </s>`, or `<s> A </s>`."""
        parts = [self.bos]
        for segment in np.flatnonzero(self.plan.count[index]).tolist():
            parts += self._segment(index, segment), self.eos
        return torch.cat(parts)

    def _segment(self, index: int, segment: int) -> torch.Tensor:
        first, count, skip, keep = (int(values[index, segment]) for values in self.plan[:4])
        sizes = np.diff(self.text.before[first : first + count + 1]).tolist()  # (count,) without the lines' </s>
        text = [self.lines[first + number][:size] for number, size in enumerate(sizes)]
        return torch.cat(text)[skip : skip + keep]

    def segments(self, index: int) -> np.ndarray:
        """(T,) int64: 0 for `<s> A </s>`, 1 for `B </s>`."""
        return (np.arange(self._sizes[index]) > self.plan.keep[index, 0] + 1).astype(np.int64)

    def label(self, index: int) -> int:
        """FOLLOWS, OTHERWISE or UNLABELLED of data/pairing.py."""
        return int(self.plan.label[index])


def text_of(line_sizes: np.ndarray, parts: LongLinesCut) -> Lines:
    """The text of lines cut into parts, in documents; the </s> of a line counts nowhere, one alone is no text."""
    has_end = parts.start + parts.sizes == line_sizes[parts.line]  # the last part of its line
    before = np.concatenate(([0], np.cumsum(parts.sizes - has_end)))
    return Lines(before, documents_in(line_sizes[parts.line]))


def describe(plan: Plan, cut_lines: int, rule: PairRule) -> str:
    """One line that says what the samples are and what became of what did not fit."""
    kept = int(plan.keep.sum(dtype=np.int64))
    parts = [f"{len(plan.label):,} samples, {int((plan.count[:, 1] == 0).sum()):,} of one segment"]
    if rule.labelled:
        labels = {name: int((plan.label == value).sum()) for name, value in LABELS.items()}
        parts += [f"label {name} {number:,} times" for name, number in labels.items()]
    share = plan.cut_tokens / max(1, kept + plan.cut_tokens)
    parts += [
        f"{kept:,} tokens, {plan.random_tokens:,} of them read once more from another document",
        f"{plan.cut_tokens:,} tokens ({share:.1%}) cut off to fit --tokens-per-sample {rule.tokens_per_sample}",
        f"{cut_lines:,} lines of more than {rule.room} tokens in parts",
    ]
    return "; ".join(parts)
