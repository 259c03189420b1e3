"""`--criterion alibert_mlm`: cross-entropy over the masked tokens."""

import math
from dataclasses import dataclass

import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics

from alibert_fairseq.criterions.sums import at_least_float32
from alibert_fairseq.criterions.word_loss import word_loss
from alibert_fairseq.options import option, refuse_outside


@dataclass
class MaskedLMCriterionConfig(FairseqDataclass):
    """What is added to the cross-entropy."""

    z_loss: float = option(0.0,
        "weight of the squared logarithm of the softmax's normalizer (default: 0; PaLM, GPT-BERT: 1e-4)")  # fmt: skip


@register_criterion("alibert_mlm", dataclass=MaskedLMCriterionConfig)
class AliBertMaskedLMLoss(FairseqCriterion):
    """Sum of the losses in nats; `sample_size`, the gradient's denominator, is the number of masked tokens.

    fairseq adds both up over ranks and micro-batches, so the gradient is the exact mean over all masked tokens.
    """

    def __init__(self, cfg: MaskedLMCriterionConfig, task):
        super().__init__(task)
        refuse_outside("--z-loss", cfg.z_loss, 0 <= cfg.z_loss < math.inf, "a number of 0 or more")
        self.z_loss = cfg.z_loss

    def forward(self, model, sample, reduce=True):
        """Loss (nats, summed), sample_size (masked tokens), values to log."""
        _, loss, logged = self.masked_lm(model, sample)
        return loss, logged["sample_size"] or logged.get("followed", 0), logged

    def masked_lm(self, model, sample):
        """(the model's output, loss in nats summed over the masked tokens, values to log).

        In a causal batch, `target` is the next token of every token.
        """
        target = sample["target"]  # (B, T), padding where nothing is to be predicted
        masked = target.ne(self.padding_idx)
        target = target[masked]  # (M,)
        output = model(**sample["net_input"], masked=masked)
        loss, correct = word_loss(output.token_scores, target)
        logged = {
            "loss": loss.detach(),
            "correct": correct,
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": target.numel(),
        }
        if sample["net_input"].get("causal"):  # its loss is not compared with that of masked tokens
            logged |= {
                "loss": 0.0,
                "correct": 0,
                "sample_size": 0,
                "causal_loss": loss.detach(),
                "followed": target.numel(),
            }
        if self.z_loss and model.training:  # what is logged stays the cross-entropy
            loss = loss + self.z_loss * at_least_float32(output.token_scores).logsumexp(-1).square().sum()
        return output, loss, logged

    @staticmethod
    def reduce_metrics(logging_outputs) -> None:
        """`loss` in bits per masked token, as fairseq logs it; `accuracy_pct` of the first guess; `causal_loss` in bits
        per token of the batches that predict the next one."""
        total = {key: sum(log.get(key, 0) for log in logging_outputs) for key in ("loss", "correct", "sample_size")}
        masked, followed = total["sample_size"], sum(log.get("followed", 0) for log in logging_outputs)
        if followed:
            lost = sum(log.get("causal_loss", 0) for log in logging_outputs) / followed / math.log(2)
            metrics.log_scalar("causal_loss", lost, followed, round=3)
            metrics.log_scalar("loss", lost, 0, round=3)  # fairseq asks for one; without a weight it is in no mean
        if not masked:  # a batch of one short block may have none
            return
        metrics.log_scalar("loss", total["loss"] / masked / math.log(2), masked, round=3)
        metrics.log_derived("ppl", lambda meters: utils.get_perplexity(meters["loss"].avg))
        metrics.log_scalar("accuracy_pct", 100 * torch.as_tensor(total["correct"]) / masked, masked, round=2)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        """All figures are sums."""
        return True
