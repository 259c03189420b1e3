"""`--task segment_pairs`: masked language modelling of pairs of segments with a label, BERT's and ALBERT's samples."""

from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum
from fairseq.tasks import register_task

from alibert_fairseq.data.pairing import PairRule
from alibert_fairseq.options import option
from alibert_fairseq.tasks.masked_lm import AliBertMaskedLMConfig, AliBertMaskedLMTask

SINGLE_CHUNKS = {"nsp": "random", "sop": "unlabelled"}


@dataclass
class SegmentPairsConfig(AliBertMaskedLMConfig):
    """Options of pairs of segments."""

    sentence_objective: ChoiceEnum(tuple(SINGLE_CHUNKS)) = option("sop",  # type: ignore[valid-type]
        "label of a pair: nsp, does B follow A (BERT); sop, are A and B in order (default; ALBERT)")  # fmt: skip
    single_sentence_chunks: ChoiceEnum(("auto", "unlabelled", "random")) = option("auto",  # type: ignore[valid-type]
        "use of a line without another to pair: random pair, or unlabelled (default: auto, "
        "random for nsp, unlabelled for sop)")  # fmt: skip
    duplicate_factor: int = option(1, "number of times that each document is cut into pairs per epoch (default: 1)")
    short_seq_prob: float = option(0.1,
        "share of the documents cut into pairs of a random shorter length (default: 0.1, as BERT)")  # fmt: skip


@register_task("segment_pairs", dataclass=SegmentPairsConfig)
class SegmentPairsTask(AliBertMaskedLMTask):
    """Samples `<s> A </s> B </s>` with segment ids and a label for the sentence objective."""

    criterion_name = "segment_pairs"

    def pair_rule(self) -> PairRule:
        cfg, objective = self.cfg, str(self.cfg.sentence_objective)
        single = str(cfg.single_sentence_chunks)
        single = SINGLE_CHUNKS[objective] if single == "auto" else single
        return PairRule(objective, cfg.tokens_per_sample, single, cfg.duplicate_factor, cfg.short_seq_prob)
