"""Tiny dictionaries, models and batches for the tests."""

import numpy as np
import torch
from fairseq.data import Dictionary, ListDataset

from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.models.bert import AliBertConfig, AliBertModel
from alibert_fairseq.models.electra import ElectraConfig, ElectraModel

SHAPE = {
    "encoder_layers": 2, "encoder_embed_dim": 32, "encoder_ffn_embed_dim": 64, "encoder_attention_heads": 2,
    "max_positions": 64,
}  # fmt: skip


def dictionary(pieces: int = 40) -> Dictionary:
    """Four specials, `pieces` pieces, two fillers, <mask>."""
    result = Dictionary()
    for i in range(pieces):
        result.add_symbol(f"▁m{i}")
    for i in range(2):
        result.add_symbol(f"<unused{i}>")
    result.add_symbol("<mask>")
    return result


def blocks(lengths=(12, 15), seed=0) -> ListDataset:
    """Random sequences <s> ... </s> of the given lengths."""
    rng = np.random.default_rng(seed)
    rows = [torch.tensor([0, *rng.integers(4, 44, length - 2).tolist(), 2]) for length in lengths]
    return ListDataset(rows, np.array(lengths))


def masked_dataset(lengths=(12, 15), rule=None, draw_uniforms=False, seed=1, **options) -> MaskedDataset:
    """Masked samples over random blocks."""
    rule = rule or MaskingRule(mask_share=0.8, random_share=0.1)
    return MaskedDataset(blocks(lengths), dictionary(), rule, seed, (4, 44), draw_uniforms=draw_uniforms, **options)


def electra_batch(lengths=(12, 15)) -> dict:
    """One batch for replaced token detection."""
    data = masked_dataset(lengths, MaskingRule(mask_share=0.85, random_share=0.0, mask_prob=0.3), draw_uniforms=True)
    return data.collater([data[i] for i in range(len(data))])


def electra_model(seed=0, **options) -> ElectraModel:
    """A random ELECTRA of two layers, embeddings narrower than the encoder."""
    torch.manual_seed(seed)
    return ElectraModel(ElectraConfig(**SHAPE, embedding_dim=16, generator_width_fraction=0.5, **options), dictionary())


def mlm_model(seed=0, **options) -> AliBertModel:
    """A random AliBERT of two layers."""
    torch.manual_seed(seed)
    return AliBertModel(AliBertConfig(**SHAPE, embedding_dim=32, **options), dictionary())
