"""Which Hugging Face classes our models become."""

from dataclasses import replace
from functools import partial

from alibert_fairseq.hf.families import names
from alibert_fairseq.hf.families.deberta import DebertaPart
from alibert_fairseq.hf.families.modern import ModernPart
from alibert_fairseq.hf.families.part import Part

ROBERTA = Part("RobertaForMaskedLM", "encoder", names.roberta, counts_from_padding=True)
BERT = Part("BertForPreTraining", "encoder", names.bert)
BERT_WORDS = Part("BertForMaskedLM", "encoder", names.bert)
ALBERT = Part("AlbertForPreTraining", "encoder", names.albert, factorised=True, grouped=True)
ALBERT_WORDS = Part("AlbertForMaskedLM", "encoder", names.albert, factorised=True, grouped=True)
DISCRIMINATOR = Part("ElectraForPreTraining", "discriminator", names.discriminator, factorised=True)
GENERATOR = Part("ElectraForMaskedLM", "generator", names.generator, factorised=True, folder="generator")
MODERN = ModernPart("ModernBertForMaskedLM", "encoder", names.modern)
MODERN_GENERATOR = replace(MODERN, name="generator", rows=partial(names.modern, part="generator"), folder="generator")
DEBERTA = DebertaPart("DebertaV2ForMaskedLM", "encoder", names.deberta)
# Microsoft's names of the head, which some folders have. transformers 4 ties that head wrongly: it is not written.
DEBERTA_MICROSOFT = replace(DEBERTA, rows=partial(names.deberta, head=names.MICROSOFTS_HEAD), legacy=False)
DEBERTA_GENERATOR = replace(
    DEBERTA, name="generator", rows=partial(names.deberta, part="generator"), folder="generator"
)
MICROSOFTS_GENERATOR = replace(
    DEBERTA_GENERATOR, rows=partial(names.deberta, part="generator", head=names.MICROSOFTS_HEAD), legacy=False
)
DEBERTA_DISCRIMINATOR = replace(
    DEBERTA, cls="DebertaV2Detector", name="discriminator", rows=names.deberta_discriminator
)
# What our models may become. Where there are several, the first that the file fills is read, and the last is written,
# or the first by a model with a sentence head.
CLASSES: dict[str, tuple[Part, ...]] = {"alibert_modern": (MODERN,), "alibert": (ROBERTA,)}
CLASSES |= {"segment_bert": (BERT, BERT_WORDS), "albert": (ALBERT, ALBERT_WORDS)}
CLASSES |= {"alibert_deberta": (DEBERTA_MICROSOFT, DEBERTA)}
# The models with a discriminator, which stands first: it is what one fine-tunes.
DETECTORS = {"electra": (DISCRIMINATOR, GENERATOR), "electra_deberta": (DEBERTA_DISCRIMINATOR, DEBERTA_GENERATOR)}
GENERATORS = {"electra": (GENERATOR,), "electra_deberta": (MICROSOFTS_GENERATOR, DEBERTA_GENERATOR)}  # as CLASSES


def parts_of(model_name: str, sentence_head: bool) -> tuple[Part, ...]:
    """What a model of this plugin becomes."""
    if model_name in DETECTORS:
        return DETECTORS[model_name]
    if model_name == "electra_modern":  # its detector stays here: no class of transformers has both heads
        return MODERN, MODERN_GENERATOR
    return (CLASSES[model_name][0 if sentence_head else -1],)
