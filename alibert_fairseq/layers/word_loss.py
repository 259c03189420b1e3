"""Words predicted at the masked tokens: the scores over the vocabulary, their cross-entropy, and samples of them.

The scores of a batch do not fit a core's cache. PyTorch's own functions read and write copies of all of them, and its
argmax is slow on a CPU (docs/results/speedrun.md, "The step"). Here each piece of the scores is turned into its
gradient where it lies.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from alibert_fairseq.layers.sampling import draw

KEPT_TIMES = {torch.float16: 2.0**12}  # it then has gradients of 1e-9, and holds their products with a table up to 8
SCORES_AT_A_TIME = {"cpu": 2**19, "cuda": 2**27}  # a GPU wants few and large kernels


class Samples(NamedTuple):
    """What words to sample: one number in [0, 1) for each of the M tokens, float64, and the temperature."""

    uniforms: Tensor
    temperature: float


class Words(NamedTuple):
    """Sums over the M masked tokens, in float32 or better."""

    loss: Tensor  # cross-entropy in nats, and the z-loss
    cross_entropy: Tensor  # without a gradient
    correct: Tensor  # first guesses that are right; of n words with the same highest score, each is a guess of 1 / n
    samples: Tensor  # (M,) ids; (0,) where none were asked for


def predict(
    features: Tensor, table: Tensor, bias: Tensor, target: Tensor, z_loss: float = 0.0, samples: Samples | None = None
) -> Words:
    """features: (M, E), in the precision of the scores; table: (V, E); bias: (V,); target: (M,) ids.

    z_loss: weight of the squared logarithm of the softmax's normalizer.
    """
    return Words(*_Predict.apply(features, table, bias, target, z_loss, samples))


class _Predict(torch.autograd.Function):
    @staticmethod
    def forward(ctx, features, table, bias, target, z_loss, samples):
        scores = torch.addmm(bias, features, table.t())  # (M, V)
        wide = torch.promote_types(scores.dtype, torch.float32)
        best, own, smaller, total = (torch.empty(len(target), dtype=wide, device=scores.device) for _ in range(4))
        drawn = torch.empty_like(target) if samples is not None else target.new_empty(0)
        learns, times = any(ctx.needs_input_grad[:3]), KEPT_TIMES.get(scores.dtype, 1.0)
        for rows in _pieces(scores):
            part = scores[rows].to(wide)  # where the precision is the same, this is a view
            best[rows] = part.amax(-1)
            part.sub_(best[rows, None])
            own[rows] = part.gather(-1, target[rows, None])[:, 0]
            smaller[rows] = part.sign().sum(-1)  # minus one for each word below the best
            if samples is not None and samples.temperature != 1:
                drawn[rows] = draw((part / samples.temperature).exp_().float(), samples.uniforms[rows])
            total[rows] = part.exp_().sum(-1)
            if samples is not None and samples.temperature == 1:
                drawn[rows] = draw(part.float(), samples.uniforms[rows])
            if learns:  # the gradient of each score: softmax minus one at the target
                pull = 1 + 2 * z_loss * (total[rows].log() + best[rows]) if z_loss else 1.0
                part.mul_((times * pull / total[rows])[:, None])
                part.scatter_add_(-1, target[rows, None], part.new_full((len(part), 1), -times))
                scores[rows] = part
        ctx.save_for_backward(features, table, scores)
        cross_entropy = (total.log() - own).sum()
        loss = cross_entropy + z_loss * (total.log() + best).square().sum() if z_loss else cross_entropy.clone()
        correct = ((own == 0) / (scores.shape[-1] + smaller)).sum()
        ctx.mark_non_differentiable(cross_entropy, correct, drawn)
        return loss, cross_entropy, correct, drawn

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor, *_):
        features, table, scores = ctx.saved_tensors
        grad = grad / KEPT_TIMES.get(scores.dtype, 1.0)
        to_features = (scores @ table).to(grad.dtype).mul_(grad).to(features.dtype)
        to_table = scores.t() @ (features.to(grad.dtype) * grad).to(features.dtype)
        to_bias = (scores.sum(0, dtype=grad.dtype) * grad).to(scores.dtype)
        return to_features, to_table, to_bias, None, None, None


def _pieces(scores: Tensor) -> list[slice]:
    if torch.compiler.is_compiling():  # its number would be part of the compiled program
        return [slice(None)]
    rows = max(1, SCORES_AT_A_TIME["cuda" if scores.is_cuda else "cpu"] // scores.shape[-1])
    return [slice(first, first + rows) for first in range(0, len(scores), rows)]
