"""Cross-entropy over the vocabulary, some rows at a time.

The scores of a batch do not fit a core's cache. PyTorch's own functions read and write copies of all of them, and its
argmax is slow on a CPU (docs/results/speedrun.md, "The step").
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

SCORES_AT_A_TIME = {"cpu": 2**19, "cuda": 2**27}  # a GPU wants few and large kernels


def word_loss(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """(cross-entropy in nats, first guesses that are right), each a sum over the M masked tokens.

    scores: (M, V), in any precision; the sums are float32 or better. target: (M,) ids. Of n words with
    the same highest score, each is a guess of 1 / n.
    """
    return _WordLoss.apply(scores, target)


class _WordLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        wide = torch.promote_types(scores.dtype, torch.float32)
        best, own, ties, normalizer = (torch.empty(len(target), dtype=wide, device=scores.device) for _ in range(4))
        for rows in _pieces(scores):
            part = scores[rows].to(wide)
            best[rows] = part.amax(-1)
            own[rows] = part.gather(-1, target[rows, None])[:, 0]
            ties[rows] = (part == best[rows, None]).sum(-1).to(wide)
            normalizer[rows] = (part - best[rows, None]).exp_().sum(-1)
        normalizer.log_().add_(best)
        ctx.save_for_backward(scores, target, normalizer)
        correct = ((own == best) / ties).sum()
        ctx.mark_non_differentiable(correct)
        return (normalizer - own).sum(), correct

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor, _):
        """Softmax minus one at the target."""
        scores, target, normalizer = ctx.saved_tensors
        result = torch.empty_like(scores)
        for rows in _pieces(scores):
            part = (scores[rows] - normalizer[rows, None]).exp_()
            part.scatter_add_(-1, target[rows, None], part.new_full((len(part), 1), -1.0))
            result[rows] = part.mul_(grad)
        return result, None


def _pieces(scores: Tensor) -> list[slice]:
    rows = max(1, SCORES_AT_A_TIME["cuda" if scores.is_cuda else "cpu"] // scores.shape[-1])
    return [slice(first, first + rows) for first in range(0, len(scores), rows)]
