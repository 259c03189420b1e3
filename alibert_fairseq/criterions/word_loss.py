"""Cross-entropy over the vocabulary, some rows at a time.

The scores of a batch do not fit a core's cache. PyTorch's own functions read and write copies of all of them, and its
argmax is slow on a CPU (docs/results/speedrun.md, "The step").
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

KEPT_TIMES = {torch.float16: 2.0**15}  # so that float16 has small gradients before the loss scale multiplies them
SCORES_AT_A_TIME = {"cpu": 2**19, "cuda": 2**27}  # a GPU wants few and large kernels


def word_loss(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """(cross-entropy in nats, first guesses that are right), each a sum over the M masked tokens.

    scores: (M, V), in any precision; the sums are float32 or better. target: (M,) ids. Of n words with
    the same highest score, each is a guess of 1 / n.
    """
    return _WordLoss.apply(scores, target)


class _WordLoss(torch.autograd.Function):
    """The gradient is made beside the loss, while the scores of a piece are in the cache."""

    @staticmethod
    def forward(ctx, scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        wide = torch.promote_types(scores.dtype, torch.float32)
        best, own, smaller, total = (torch.empty(len(target), dtype=wide, device=scores.device) for _ in range(4))
        grad = torch.empty_like(scores) if ctx.needs_input_grad[0] else None
        times = KEPT_TIMES.get(scores.dtype, 1.0)
        for rows in _pieces(scores):
            part = scores[rows].to(wide, copy=True)
            best[rows] = part.amax(-1)
            part.sub_(best[rows, None])
            own[rows] = part.gather(-1, target[rows, None])[:, 0]
            smaller[rows] = part.sign().sum(-1)  # minus one for each word below the best
            total[rows] = part.exp_().sum(-1)
            if grad is not None:
                part.mul_(times / total[rows, None])
                part.scatter_add_(-1, target[rows, None], part.new_full((len(part), 1), -times))
                grad[rows] = part
        ctx.save_for_backward(grad)
        correct = ((own == 0) / (scores.shape[-1] + smaller)).sum()
        ctx.mark_non_differentiable(correct)
        return (total.log() - own).sum(), correct

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor, _):
        """Softmax minus one at the target."""
        (kept,) = ctx.saved_tensors
        result, grad = torch.empty_like(kept), grad / KEPT_TIMES.get(kept.dtype, 1.0)
        for rows in _pieces(kept):
            result[rows] = kept[rows].to(grad.dtype).mul(grad)  # whose scale float16 would round
        return result, None


def _pieces(scores: Tensor) -> list[slice]:
    rows = max(1, SCORES_AT_A_TIME["cuda" if scores.is_cuda else "cpu"] // scores.shape[-1])
    return [slice(first, first + rows) for first in range(0, len(scores), rows)]
