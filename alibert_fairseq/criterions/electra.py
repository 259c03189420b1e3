"""`--criterion electra`: the generator's masked language modelling plus 50 times the discriminator's detection."""

import math
from dataclasses import dataclass
from functools import partial

import torch.nn.functional as F
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor

from alibert_fairseq.criterions.sums import at_least_float32, totals
from alibert_fairseq.criterions.word_loss import word_loss
from alibert_fairseq.options import option, refuse_outside


@dataclass
class ElectraCriterionConfig(FairseqDataclass):
    """Weights of the two losses."""

    generator_weight: float = option(1.0, "weight of the generator's loss (default: 1, as ELECTRA)")
    discriminator_weight: float = option(50.0, "weight of the discriminator's loss (default: 50, as ELECTRA)")
    encoder_weight: float = option(1.0,
        "weight of the encoder's own prediction of words, with --arch electra_modern_* (default: 1)")  # fmt: skip


@register_criterion("electra", dataclass=ElectraCriterionConfig)
class ElectraLoss(FairseqCriterion):
    """Mean over the masked tokens + weight x mean over all tokens but padding (<s> and </s> count), in nats.

    Reduction: both means are multiplied by the number of masked tokens M, which is `sample_size`. fairseq sums over
    ranks and micro-batches and divides by the sum of M: exact for the generator; for the discriminator each
    micro-batch's mean counts in proportion to its M, which is exact where sequences are full (M is a fixed share of
    them). google-research/electra averages the means of its TPU shards instead.

    With --arch electra_modern_*, the encoder's own mean over the masked tokens is added, and tokens whose mask stayed
    are not judged: they count as 0 in the mean over all tokens.
    """

    def __init__(self, cfg: ElectraCriterionConfig, task):
        super().__init__(task)
        for name in ("generator_weight", "discriminator_weight", "encoder_weight"):
            weight = getattr(cfg, name)
            refuse_outside(f"--{name.replace('_', '-')}", weight, 0 <= weight < math.inf, "a number of 0 or more")
        self.cfg = cfg

    def forward(self, model, sample, reduce=True):
        """Loss (nats times masked tokens), sample_size (masked tokens), values to log."""
        inputs = sample["net_input"]
        target = sample["target"][inputs["masked"]]  # (M,)
        output = model(**inputs)
        judged = output.judged  # (B, T)
        masked, real = target.numel(), inputs["original"].ne(self.padding_idx).sum()

        generator_loss, generator_correct = word_loss(output.generator_scores, target)
        detection = at_least_float32(output.discriminator_scores[judged])  # (tokens,)
        replaced = output.replaced[judged]
        labels = replaced.to(detection.dtype)
        discriminator_loss = F.binary_cross_entropy_with_logits(detection, labels, reduction="mean")
        share = detection.numel() / real  # judged: all, but for --arch electra_modern_*
        loss = self.cfg.generator_weight * generator_loss
        loss = loss + self.cfg.discriminator_weight * discriminator_loss * masked * share

        logged = {
            "loss": loss.detach(),
            "generator_loss": generator_loss.detach(),
            "generator_correct": generator_correct,
            "discriminator_loss": discriminator_loss.detach() * detection.numel(),
            **detection_figures(detection.detach(), replaced),
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": masked,
        }
        if self.training and output.word_scores is None and self.cfg.encoder_weight != 1:
            raise SystemExit(
                f"error: --encoder-weight {self.cfg.encoder_weight:g} is for --arch electra_modern_*, whose encoder "
                "predicts words; leave it out."
            )
        if output.word_scores is not None:
            encoder_loss, encoder_correct = word_loss(output.word_scores, target)
            loss = loss + self.cfg.encoder_weight * encoder_loss
            logged |= {
                "loss": loss.detach(),
                "encoder_loss": encoder_loss.detach(),
                "encoder_correct": encoder_correct,
            }
        return loss, masked, logged

    @staticmethod
    def reduce_metrics(logging_outputs) -> None:
        """Named units: `_nats` and `_pct` (of masked tokens for the generator, of all tokens for the discriminator).

        `loss` is the whole loss in bits, fairseq's unit; `electra_loss_nats` is what other implementations print.
        """
        total = totals(logging_outputs)
        masked, judged, replaced = total["sample_size"], total["judged"], total["replaced"]
        if not masked:  # a batch of one short block may have none
            return
        log = partial(metrics.log_scalar, round=3)
        log("loss", total["loss"] / masked / math.log(2), masked)
        log("electra_loss_nats", total["loss"] / masked, masked)
        log("generator_loss_nats", total["generator_loss"] / masked, masked)
        log("generator_accuracy_pct", 100 * total["generator_correct"] / masked, masked)
        if "encoder_loss" in total:
            log("encoder_loss_nats", total["encoder_loss"] / masked, masked)
            log("encoder_accuracy_pct", 100 * total["encoder_correct"] / masked, masked)
        log("discriminator_loss_nats", total["discriminator_loss"] / judged, judged)
        log("replaced_pct", 100 * replaced / judged, judged)
        if total["flagged"]:
            log("discriminator_precision_pct", 100 * total["found"] / total["flagged"], total["flagged"])
        if replaced:
            log("discriminator_recall_pct", 100 * total["found"] / replaced, replaced)
            log("discriminator_auc", total["auc_times_replaced"] / replaced, replaced)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        """All figures are sums."""
        return True


def detection_figures(scores: Tensor, replaced: Tensor) -> dict:
    """Sums over the tokens of a batch from which precision, recall and AUC follow.

    scores, replaced: (tokens,). A token is flagged as replaced when its score is above 0, a probability of one half.
    AUC is the batch's Mann-Whitney statistic, times the replaced tokens so that batches can be averaged.
    """
    flagged = scores > 0
    positives, negatives = replaced.sum(), (~replaced).sum()
    _, place, ties = scores.unique(return_inverse=True, return_counts=True)
    ranks = (ties.cumsum(0).double() - (ties - 1) / 2)[place]  # (tokens,) from 1, the mean rank where scores are equal
    above = ranks[replaced].sum() - positives * (positives + 1) / 2  # pairs a replaced token wins
    return {
        "judged": scores.numel(),
        "replaced": positives,
        "flagged": flagged.sum(),
        "found": (flagged & replaced).sum(),
        "auc_times_replaced": above / negatives.clamp(min=1),
    }
