"""`--task segment_pairs`: masked language modelling of pairs of segments with a label, BERT's and ALBERT's samples."""

from dataclasses import dataclass, field

from fairseq.dataclass import ChoiceEnum
from fairseq.tasks import register_task

from alibert_fairseq.data.pairing import PairRule
from alibert_fairseq.tasks.masked_lm import AliBertMaskedLMConfig, AliBertMaskedLMTask

SINGLE_CHUNKS = {"nsp": "random", "sop": "unlabelled"}


@dataclass
class SegmentPairsConfig(AliBertMaskedLMConfig):
    """Options of pairs of segments."""

    sentence_objective: ChoiceEnum(tuple(SINGLE_CHUNKS)) = field(
        default="sop",
        metadata={
            "help": "nsp: does B follow A, or is it of another document (BERT); sop: are A and B in order, or swapped "
            "(ALBERT, the default: its section 4.6 found it the more useful one)"
        },
    )
    single_sentence_chunks: ChoiceEnum(("auto", "unlabelled", "random")) = field(
        default="auto",
        metadata={
            "help": "what becomes of a line that has no other to be paired with. random: a pair with lines of another "
            "document, label 1 (auto for nsp, as BERT; google-research/albert does so for sop too, which mixes the "
            "objectives); unlabelled: `<s> A </s>`, masked but without a label (auto for sop: nothing lost or mixed)"
        },
    )
    duplicate_factor: int = field(
        default=1,
        metadata={
            "help": "times that every document is cut into pairs in one epoch (1, for every epoch draws other pairs "
            "and masks; BERT and ALBERT write theirs once, 10 and 40 times over)"
        },
    )
    short_seq_prob: float = field(
        default=0.1,
        metadata={
            "help": "share of the documents cut into pairs of a random shorter length, as fine-tuning will have them "
            "(BERT and ALBERT `create_pretraining_data.py`: 0.1)"
        },
    )


@register_task("segment_pairs", dataclass=SegmentPairsConfig)
class SegmentPairsTask(AliBertMaskedLMTask):
    """Samples `<s> A </s> B </s>` with segment ids and a label for the sentence objective."""

    criterion_name = "segment_pairs"

    def pair_rule(self) -> PairRule:
        cfg, objective = self.cfg, str(self.cfg.sentence_objective)
        single = str(cfg.single_sentence_chunks)
        single = SINGLE_CHUNKS[objective] if single == "auto" else single
        return PairRule(objective, cfg.tokens_per_sample, single, cfg.duplicate_factor, cfg.short_seq_prob)
