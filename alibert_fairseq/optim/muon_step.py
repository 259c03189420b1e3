"""Muon for hidden matrices and Adam for the other tensors, in one optimizer."""

from collections import defaultdict

import torch
from torch import Tensor

from alibert_fairseq.optim.adam_lamb_step import AdamLamb

QUINTIC = (3.4445, -4.7750, 2.0315)  # a, b, c of a X + b (X X^T) X + c (X X^T)^2 X (Jordan et al. 2024)
ITERATIONS = 5
SMALLEST_NORM = 1e-7  # a matrix of zeros stays one


class MuonAdam(AdamLamb):
    """m = b m + (1 - b) g; u = (1 - b) g + b m; p -= lr (sqrt(max(1, rows / columns)) NS(u) + wd p).

    That is for tensors of a group with `momentum` b: Muon with Nesterov's momentum (Jordan et al. 2024; the same as
    `torch.optim.Muon`). NS: `orthogonalised`. Groups without it are Adam's, with bias correction (`AdamLamb`).
    """

    def __init__(self, params, lr: float, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.01, bfloat16=False):
        self.bfloat16 = bfloat16
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay, adapt=False)

    def _update(self, group: dict, params: list, grads: list) -> None:
        momentum = group.get("momentum")
        if momentum is None:
            super()._update(group, params, grads)
            return
        averages = self._moments(params, "exp_avg")
        torch._foreach_lerp_(averages, grads, 1 - momentum)
        directions = torch._foreach_lerp(grads, averages, momentum)
        torch._foreach_mul_(params, 1 - group["lr"] * group["weight_decay"])
        by_shape = defaultdict(list)
        for place, p in enumerate(params):
            by_shape[p.shape].append(place)
        for (rows, columns), places in by_shape.items():
            steps = orthogonalised(torch.stack([directions[place] for place in places]), self.bfloat16)
            rate = group["lr"] * max(1, rows / columns) ** 0.5
            torch._foreach_add_([params[place] for place in places], list(steps.to(params[places[0]])), alpha=-rate)


def orthogonalised(matrices: Tensor, bfloat16: bool = False) -> Tensor:
    """(N, R, C): U S' V^T for each U S V^T, with the singular values S' near 1, by five steps of Newton and Schulz.

    The steps run in bfloat16 on a GPU, as the author's, and on a CPU only if `bfloat16` is true: few CPUs are fast in
    it. Otherwise they run in the precision of the matrices.
    """
    tall = matrices.size(1) > matrices.size(2)
    x = matrices.bfloat16() if matrices.is_cuda or bfloat16 else matrices
    x = x.mT if tall else x
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST_NORM)
    a, b, c = QUINTIC
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
