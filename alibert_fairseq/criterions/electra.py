"""`--criterion electra`: the generator's masked language modelling plus 50 times the discriminator's detection."""

import math
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor

from alibert_fairseq.criterions.sums import at_least_float32, totals
from alibert_fairseq.data.layout import laid_out
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

    Tokens that may not be learned (binarize --min-patients) are neither judged nor counted.

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
        sample = laid_out(sample, self.padding_idx)
        target = sample["target"]  # (M,)
        output = model(**sample["net_input"], target=target)
        masked, guessed = target.numel(), output.generator
        detection = at_least_float32(output.discriminator_scores)  # (n,)
        of_each = F.binary_cross_entropy_with_logits(detection, output.replaced.to(detection.dtype), reduction="none")
        found = (of_each if output.judged is None else of_each * output.judged).sum()
        predictable = sample["net_input"].get("predictable")  # (n,)
        tokens = len(detection) if predictable is None else predictable.sum().clamp(min=1)
        loss = self.cfg.generator_weight * guessed.loss
        loss = loss + self.cfg.discriminator_weight * found * (masked / tokens)

        logged = {
            "loss": loss.detach(),
            "generator_loss": guessed.cross_entropy,
            "generator_correct": guessed.correct,
            "discriminator_loss": found.detach(),
            **detection_figures(detection.detach(), output.replaced, output.judged),
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": masked,
        }
        if self.training and output.words is None and self.cfg.encoder_weight != 1:
            raise SystemExit(
                f"error: --encoder-weight {self.cfg.encoder_weight:g} is for --arch electra_modern_*, whose encoder "
                "predicts words; leave it out."
            )
        if output.words is not None:
            loss = loss + self.cfg.encoder_weight * output.words.loss
            logged |= {
                "loss": loss.detach(),
                "encoder_loss": output.words.cross_entropy,
                "encoder_correct": output.words.correct,
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


def detection_figures(scores: Tensor, replaced: Tensor, judged: Tensor | None = None) -> dict:
    """Sums over the judged tokens of a batch from which precision, recall and AUC follow, without a look at the device.

    scores, replaced, judged: (n,); judged None: all. A token is flagged as replaced when its score is above 0, a
    probability of one half. AUC is the batch's Mann-Whitney statistic, times the replaced tokens so that batches can be
    averaged.
    """
    number: int | Tensor = scores.numel()
    flagged = scores > 0
    if judged is not None:
        scores = scores.masked_fill(~judged, torch.inf)  # above all others, whose ranks they do not change
        number, flagged = judged.sum(), flagged & judged
    positives = replaced.sum()
    in_order = scores.sort().values
    first, last = (torch.searchsorted(in_order, scores, right=right) for right in (False, True))
    ranks = (first + last + 1).double() / 2  # (n,) from 1, the mean rank where scores are equal
    above = (ranks * replaced).sum() - positives * (positives + 1) / 2  # pairs a replaced token wins
    return {
        "judged": number,
        "replaced": positives,
        "flagged": flagged.sum(),
        "found": (flagged & replaced).sum(),
        "auc_times_replaced": above / (number - positives).clamp(min=1),  # type: ignore[union-attr]
    }
