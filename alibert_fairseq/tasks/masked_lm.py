"""`--task alibert_mlm`: masked language modelling with AliBERT's 15 % and BERT's 80/10/10."""

from dataclasses import dataclass

from fairseq.tasks import register_task

from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.options import option
from alibert_fairseq.tasks.pretraining import PretrainingConfig, PretrainingTask


@dataclass
class AliBertMaskedLMConfig(PretrainingConfig):
    """Options of masked language modelling."""

    causal_share: float = option(0.0,
        "share of the updates that predict the next token (default: 0; GPT-BERT: 1/16)")  # fmt: skip
    causal_until: float = option(0.0,
        "share of the run, from its beginning, that predicts the next token (default: 0; ModernCamemBERT-bio: "
        "0.91)")  # fmt: skip
    leave_unmasked_prob: float = option(0.1, "share of the masked tokens left unchanged (default: 0.1, as BERT)")
    random_token_prob: float = option(0.1,
        "share of the masked tokens replaced by a random subword (default: 0.1, as BERT)")  # fmt: skip


@register_task("alibert_mlm", dataclass=AliBertMaskedLMConfig)
class AliBertMaskedLMTask(PretrainingTask):
    """Masked language modelling; <s>, </s> and padding are never masked, unlike fairseq's `masked_lm`."""

    criterion_name = "alibert_mlm"

    @property
    def causal_shares(self) -> tuple[float, float]:
        return self.cfg.causal_share, self.cfg.causal_until

    def masking_rule(self) -> MaskingRule:
        kept, random = self.cfg.leave_unmasked_prob, self.cfg.random_token_prob
        masked = 1 - kept - random
        if min(kept, random) < 0 or masked < -1e-9:  # 1 - 0.9 - 0.1 is -3e-17 in floating point
            raise ValueError(
                f"--leave-unmasked-prob {kept} and --random-token-prob {random} must be 0 or more and sum to at most 1."
            )
        return self.rule_with(mask_share=max(0.0, masked), random_share=random)
