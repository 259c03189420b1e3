"""`--task electra`: replaced token detection, with ELECTRA's 85 % masked and 15 % left, none random."""

from dataclasses import dataclass, field

from fairseq.tasks import register_task

from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.tasks.pretraining import PretrainingConfig, PretrainingTask


@dataclass
class ElectraTaskConfig(PretrainingConfig):
    """Options of replaced token detection."""

    electra_leave_unmasked_prob: float = field(
        default=0.15,
        metadata={
            "help": "share of the drawn tokens the generator sees unmasked (google-research/electra "
            "`pretrain_helpers.py`: 15 %%); they are replaced by its samples all the same"
        },
    )


@register_task("electra", dataclass=ElectraTaskConfig)
class ElectraTask(PretrainingTask):
    """Samples with the original tokens, the drawn positions, and one uniform number a drawn position."""

    draw_uniforms = True

    def masking_rule(self) -> MaskingRule:
        kept = self.cfg.electra_leave_unmasked_prob
        return MaskingRule(mask_share=1 - kept, random_share=0.0, mask_prob=self.cfg.mask_prob)
