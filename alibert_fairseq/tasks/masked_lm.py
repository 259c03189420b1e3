"""`--task alibert_mlm`: masked language modelling with AliBERT's 15 % and BERT's 80/10/10."""

from dataclasses import dataclass, field

from fairseq.tasks import register_task

from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.tasks.pretraining import PretrainingConfig, PretrainingTask


@dataclass
class AliBertMaskedLMConfig(PretrainingConfig):
    """Options of masked language modelling."""

    leave_unmasked_prob: float = field(
        default=0.1, metadata={"help": "share of the drawn tokens left as they are (BERT section 3.1: 10 %%)"}
    )
    random_token_prob: float = field(
        default=0.1, metadata={"help": "share of the drawn tokens replaced by a random piece (BERT section 3.1: 10 %%)"}
    )


@register_task("alibert_mlm", dataclass=AliBertMaskedLMConfig)
class AliBertMaskedLMTask(PretrainingTask):
    """Masked language modelling; <s>, </s> and padding are never drawn, unlike fairseq's `masked_lm`."""

    criterion_name = "alibert_mlm"

    def masking_rule(self) -> MaskingRule:
        kept, random = self.cfg.leave_unmasked_prob, self.cfg.random_token_prob
        return self.rule_with(mask_share=1 - kept - random, random_share=random)
