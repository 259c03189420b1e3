"""`--criterion alibert_mlm`: cross-entropy over the masked tokens."""

import math
from dataclasses import dataclass

import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics

from alibert_fairseq.data.layout import laid_out
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
        sample = laid_out(sample, self.padding_idx)
        target = sample["target"]  # (M,)
        z_loss = self.z_loss if model.training else 0.0  # what is logged stays the cross-entropy
        output = model(**sample["net_input"], target=target, z_loss=z_loss)
        loss = output.words.cross_entropy
        logged = {
            "loss": loss,
            "correct": output.words.correct,
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": target.numel(),
        }
        if sample["net_input"].get("causal"):  # its loss is not compared with that of masked tokens
            logged |= {
                "loss": 0.0,
                "correct": 0,
                "sample_size": 0,
                "causal_loss": loss,
                "followed": target.numel(),
            }
        return output, output.words.loss, logged

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
