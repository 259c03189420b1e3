"""`--task electra`: replaced token detection, with ELECTRA's 85 % masked and 15 % left, none random."""

import logging
from dataclasses import dataclass

from fairseq.distributed.utils import get_global_rank
from fairseq.tasks import register_task

from alibert_fairseq.criterions.detection_health import DetectionHealth
from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.data.pairing import PairRule
from alibert_fairseq.options import option
from alibert_fairseq.tasks.pretraining import PretrainingConfig, PretrainingTask

logger = logging.getLogger(__name__)


@dataclass
class ElectraTaskConfig(PretrainingConfig):
    """Options of replaced token detection."""

    electra_leave_unmasked_prob: float = option(0.15,
        "share of the masked tokens that the generator sees unchanged; its samples replace them too "
        "(default: 0.15, as google-research/electra)")  # fmt: skip
    sentence_pairs: bool = option(False,
        "pairs of segments without a label, as in google-research/electra "
        "(default: blocks, as in AliBERT)")  # fmt: skip


@register_task("electra", dataclass=ElectraTaskConfig)
class ElectraTask(PretrainingTask):
    """Samples with the original tokens, the masked positions, and one uniform number per masked position."""

    criterion_name = "electra"
    replaces_tokens = True

    def __init__(self, cfg, dictionary):
        super().__init__(cfg, dictionary)
        self.health = DetectionHealth()

    def masking_rule(self) -> MaskingRule:
        return self.rule_with(mask_share=1 - self.cfg.electra_leave_unmasked_prob, random_share=0.0)

    def pair_rule(self) -> PairRule | None:
        return PairRule("none", self.cfg.tokens_per_sample) if self.cfg.sentence_pairs else None

    def reduce_metrics(self, logging_outputs, criterion):
        """Log the metrics of an update, and now and then what is wrong with the discriminator."""
        super().reduce_metrics(logging_outputs, criterion)
        if criterion.training and (sentence := self.health.update(logging_outputs)) and get_global_rank() == 0:
            logger.warning(sentence)  # the metrics are those of all processes
