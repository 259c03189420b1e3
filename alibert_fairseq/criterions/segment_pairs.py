"""`--criterion segment_pairs`: masked language modelling plus next sentence or sentence order prediction."""

import math
from functools import partial

import torch.nn.functional as F
from fairseq.criterions import register_criterion
from fairseq.logging import metrics

from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.criterions.sums import at_least_float32, totals
from alibert_fairseq.data.pairing import UNLABELLED


@register_criterion("segment_pairs", dataclass=MaskedLMCriterionConfig)
class SegmentPairsLoss(AliBertMaskedLMLoss):
    """Mean over the masked tokens + mean over the labelled pairs, in nats (BERT, ALBERT: both with weight 1).

    Reduction: both means are multiplied by the number of masked tokens M, which is `sample_size`. fairseq sums over
    ranks and micro-batches and divides by the sum of M: exact for the tokens; the pairs of a micro-batch count in
    proportion to its M, which is exact where micro-batches have equally many. google-research/bert and albert average
    the means of their TPU shards instead.
    """

    def forward(self, model, sample, reduce=True):
        """Loss (nats times masked tokens), sample_size (masked tokens), values to log."""
        output, loss, logged = self.masked_lm(model, sample)
        labels = sample["sentence_target"]  # (B,)
        scores = at_least_float32(output.sentence_scores)  # (B, 2)
        labelled = labels.ne(UNLABELLED)
        pairs = labelled.sum()
        sentence_loss = F.cross_entropy(scores, labels, ignore_index=UNLABELLED, reduction="sum")
        of_pairs = logged["sample_size"] * sentence_loss / pairs.clamp(min=1)
        logged |= {
            "masked_lm_loss": logged["loss"],
            "loss": logged["loss"] + of_pairs.detach(),
            "sentence_loss": sentence_loss.detach(),
            "sentence_correct": ((scores.argmax(-1) == labels) & labelled).sum(),
            "labelled": pairs,
        }
        return loss + of_pairs, logged["sample_size"], logged

    @staticmethod
    def reduce_metrics(logging_outputs) -> None:
        """`loss` is the whole loss in bits, fairseq's unit; the others have their unit in their name."""
        total, log = totals(logging_outputs), partial(metrics.log_scalar, round=3)
        masked, pairs = total["sample_size"], total["labelled"]
        if masked:  # a batch of one short block may have none
            log("loss", total["loss"] / masked / math.log(2), masked)
            log("masked_lm_loss_nats", total["masked_lm_loss"] / masked, masked)
            log("accuracy_pct", 100 * total["correct"] / masked, masked)
        if pairs:
            log("sentence_loss_nats", total["sentence_loss"] / pairs, pairs)
            log("sentence_accuracy_pct", 100 * total["sentence_correct"] / pairs, pairs)
