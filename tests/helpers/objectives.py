"""A model, a criterion and a collated batch of every objective and body."""

import numpy as np
import torch
from model_helpers import SHAPE, Task, blocks, dictionary, electra_batch, masked_dataset

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss
from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.criterions.segment_pairs import SegmentPairsLoss
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.data.packed import Packed
from alibert_fairseq.models.albert import AlbertModel
from alibert_fairseq.models.bert import AliBertModel
from alibert_fairseq.models.config import EncoderConfig
from alibert_fairseq.models.deberta import DebertaConfig, DebertaModel, ElectraDebertaConfig, ElectraDebertaModel
from alibert_fairseq.models.electra import ElectraConfig, ElectraModel
from alibert_fairseq.models.electra_modern import ElectraModernConfig, ElectraModernModel
from alibert_fairseq.models.modern import ModernConfig, ModernModel


def mlm_batch(lengths=(12, 30, 12)):
    data = masked_dataset(lengths)
    return data.collater([data[number] for number in range(len(lengths))])


def packed_batch():
    sequences = Packed(blocks((12, 30, 9, 21, 17, 8)), 48, seed=1)
    data = MaskedDataset(sequences, dictionary(), MaskingRule(0.8, 0.1), 1, np.arange(4, 44))
    return data.collater([data[number] for number in range(len(data))])


def pairs_batch():
    batch = mlm_batch()
    batch["net_input"]["segments"] = torch.zeros_like(batch["target"])
    return batch | {"sentence_target": torch.tensor([1, -100, 0])}


def k_anonymous(objective):
    """That every third token may not be learned."""
    model, criterion, batch = objective
    predictable = batch["net_input"]["src_tokens"] != dictionary().pad()
    predictable[:, ::3] = False
    batch["net_input"]["predictable"] = predictable
    return objective


def mlm(model, batch, **options):
    return model, AliBertMaskedLMLoss(MaskedLMCriterionConfig(**options), Task), batch


def electra(model):
    return model, ElectraLoss(ElectraCriterionConfig(), Task), electra_batch((12, 30, 12))


ALBERT = {"segments": 2, "embedding_dim": 16, "layer_groups": 1}
OBJECTIVES = {
    "masked": lambda: mlm(AliBertModel(EncoderConfig(**SHAPE), dictionary()), mlm_batch()),
    "masked, full blocks": lambda: mlm(
        AliBertModel(EncoderConfig(**SHAPE), dictionary()), mlm_batch((30, 30)), z_loss=0.1
    ),
    "masked, modern": lambda: mlm(ModernModel(ModernConfig(**SHAPE, local_attention=8), dictionary()), mlm_batch()),
    "masked, packed": lambda: mlm(ModernModel(ModernConfig(**SHAPE, local_attention=8), dictionary()), packed_batch()),
    "masked, DeBERTa": lambda: mlm(
        DebertaModel(DebertaConfig(**SHAPE, position_buckets=8, convolution_width=3), dictionary()), mlm_batch()
    ),
    "pairs": lambda: (
        AlbertModel(EncoderConfig(**SHAPE, **ALBERT), dictionary(), sentence_head=True),
        SegmentPairsLoss(MaskedLMCriterionConfig(), Task), pairs_batch(),
    ),
    "electra": lambda: electra(ElectraModel(ElectraConfig(**SHAPE), dictionary())),
    "electra, DeBERTa": lambda: electra(
        ElectraDebertaModel(ElectraDebertaConfig(**SHAPE, position_buckets=8), dictionary())
    ),
    "electra, modern": lambda: electra(ElectraModernModel(ElectraModernConfig(**SHAPE), dictionary())),
    "electra, k-anonymous": lambda: k_anonymous(electra(ElectraModel(ElectraConfig(**SHAPE), dictionary()))),
}  # fmt: skip
