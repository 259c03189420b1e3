"""Every body in half precision, with padding: the numbers of float32 as far as half precision goes, and no NaN.

The ways of a CPU and of a GPU without FlashAttention (V100, Turing), whose attention is PyTorch's own.
"""

import pytest
import torch
from model_helpers import SHAPE, dictionary

from alibert_fairseq.data.layout import Layout
from alibert_fairseq.layers import attention
from alibert_fairseq.layers.relative import Positions
from alibert_fairseq.layers.sight import Sight
from alibert_fairseq.models.albert import AlbertModel
from alibert_fairseq.models.bert import AliBertModel
from alibert_fairseq.models.config import EncoderConfig
from alibert_fairseq.models.deberta import DebertaConfig, DebertaModel
from alibert_fairseq.models.modern import ModernConfig, ModernModel

NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0, "embedding_dim": 32}
BODIES = {
    "roberta": (AliBertModel, EncoderConfig(**SHAPE, **NO_DROPOUT)),
    "albert": (AlbertModel, EncoderConfig(**SHAPE, **NO_DROPOUT | {"embedding_dim": 16}, layer_groups=1)),
    "modern": (ModernModel, ModernConfig(**SHAPE, **NO_DROPOUT, local_attention=8)),
    "deberta": (DebertaModel, DebertaConfig(**SHAPE, **NO_DROPOUT, position_buckets=8)),
    "deberta with a convolution": (DebertaModel, DebertaConfig(**SHAPE, **NO_DROPOUT, convolution_width=3)),
}
LENGTHS = (1, 33, 7, 64)
CLOSE = {torch.bfloat16: 0.1, torch.float16: 0.01}  # of logits that reach 1


def result(model, ids: torch.Tensor, layout: Layout) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The scores of the real tokens, and every gradient."""
    model.zero_grad()
    features = model.encoder.sentence_encoder(ids, layout)
    scores = model.encoder.lm_head(features)
    torch.nn.functional.cross_entropy(scores.float(), ids).backward()
    return scores.detach().float(), [parameter.grad for parameter in model.parameters()]


def layouts() -> dict[str, Layout]:
    """The same sequences padded, and packed in one row."""
    real = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    packed = torch.repeat_interleave(torch.arange(len(LENGTHS)), torch.tensor(LENGTHS))[None]
    return {"padded": Layout.of(real), "packed": Layout.of(torch.ones_like(packed, dtype=torch.bool), packed)}


@pytest.mark.parametrize("way", ["a CPU's", "a GPU's"])
@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("body", BODIES)
def test_half_precision_has_no_nan_and_single_sequences_agree(body, dtype, way, monkeypatch):
    if way == "a GPU's":
        monkeypatch.setattr(attention, "draws_bits", lambda x: False)
        monkeypatch.setattr(attention, "_has_varlen", lambda *given: False)
    torch.manual_seed(0)
    cls, config = BODIES[body]
    model = cls(config, dictionary()).train()
    ids = torch.randint(4, 44, (sum(LENGTHS),))
    found = {name: result(model, ids, layout) for name, layout in layouts().items()}
    assert torch.allclose(found["padded"][0], found["packed"][0], atol=1e-5)
    alone = [
        model.encoder.lm_head(
            model.encoder.sentence_encoder(part, Layout.of(torch.ones(1, len(part), dtype=torch.bool)))
        )
        for part in ids.split(LENGTHS)
    ]
    assert torch.allclose(found["padded"][0], torch.cat(alone), atol=1e-5)
    for layout in layouts().values():
        scores, gradients = result(model.to(dtype), ids, layout)
        assert all(torch.isfinite(one).all() for one in [scores, *gradients])
        assert (scores - found["padded"][0]).abs().max() < CLOSE[dtype] * max(1.0, found["padded"][0].abs().max())


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
def test_attention_with_distances_in_half_precision_as_on_a_gpu(dtype):
    """There, scores, mask and softmax are in half precision, and padding is masked."""
    torch.manual_seed(0)
    spans = layouts()["padded"].tokens
    q, k, v = torch.randn(3, sum(LENGTHS), 2, 16).unbind(0)
    positions = torch.randn(2, 2 * max(LENGTHS) - 1, 2, 16)
    sight = Sight(spans, spans, spans.ranks)
    expected = attention._padded_with_positions(q, k, v, sight, 0.0, Positions(*positions))
    parts = [x.to(dtype).requires_grad_() for x in (q, k, v, *positions)]
    found = attention._padded_with_positions(*parts[:3], sight, 0.0, Positions(*parts[3:]))
    gradients = torch.autograd.grad(found.float().square().sum(), parts)
    assert found.dtype == dtype and all(torch.isfinite(one).all() for one in [found, *gradients])
    assert (found.float() - expected).abs().max() < CLOSE[dtype] * expected.abs().max()
