"""Adam and LAMB in one class: LAMB is BERT's Adam whose step each tensor scales by its trust ratio."""

import math
from inspect import unwrap

import torch
from torch import Tensor
from torch.optim import Optimizer

PIECE = 1 << 18  # weights: with gradients, moments and steps 5 MB, which stay in the cache of a CPU


class AdamLamb(Optimizer):
    """m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; u = m' / (sqrt(v') + eps) + wd p; p -= lr r u.

    r, the trust ratio, is |p| / |u| for a tensor of a group with `adapt`, 1 elsewhere or where a norm is 0.
    m', v' are divided by 1 - b^t when `bias_correction`. Gradients are first divided by
    max(1, |g| / max_grad_norm), |g| over all tensors, when `max_grad_norm` is given.

    LAMB: every source agrees on the above but for bias correction and clip (You et al. 2020, algorithm 2; apex
    `FusedLAMB` has both; google-research/albert neither). With `adapt` off and bias correction off this is the Adam of
    BERT and ELECTRA (`AdamWeightDecayOptimizer`); with bias correction on it is `torch.optim.AdamW`.
    """

    # torch wraps these to keep torch.compile away, and the wrapper imports torch._dynamo: two seconds of a start
    add_param_group, zero_grad, state_dict, load_state_dict = (
        unwrap(method)
        for method in (Optimizer.add_param_group, Optimizer.zero_grad, Optimizer.state_dict, Optimizer.load_state_dict)
    )

    def __init__(
        self, params, lr: float, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01,
        bias_correction=True, adapt=True, max_grad_norm: float | None = None,
    ):  # fmt: skip
        defaults = {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "adapt": adapt}
        super().__init__(params, defaults | {"step": 0})
        self.bias_correction = bias_correction
        self.max_grad_norm = max_grad_norm
        self.scale: Tensor | None = None  # of the gradients of this step
        self.steps: Tensor | None = (
            None  # of the tensor that LAMB is at on a CPU: fresh memory takes longer than the step
        )
        self.clipped_over: list | None = None  # other tensors than the groups', where these are a share of the model's

    @torch.no_grad()
    def step(self, closure=None):
        """One update of every tensor that has a gradient."""
        loss = closure() if closure is not None else None
        self.scale = self._clip_scale()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            if params or not group["params"]:  # a process's share of a group may be empty; its count still rises
                group["step"] += 1
            if params:
                self._update(group, params, [p.grad for p in params])
        return loss

    def _clip_scale(self) -> Tensor | None:
        """1 / max(1, |g| / max_grad_norm) over the gradients of all groups, or of `clipped_over`; or None."""
        if self.max_grad_norm is None:
            return None
        params = self.clipped_over or [p for group in self.param_groups for p in group["params"]]
        grads = [p.grad for p in params if p.grad is not None]
        norms = torch._foreach_norm(grads)
        total = torch.linalg.vector_norm(torch.stack(norms)) if norms else torch.ones(())
        return 1 / (total / self.max_grad_norm).clamp(min=1)

    def _update(self, group: dict, params: list, grads: list) -> None:
        first, second = self._moments(params, "exp_avg"), self._moments(params, "exp_avg_sq")
        if not group["adapt"]:
            self._adam(group, params, grads, first, second, group["lr"])
        elif params[0].device.type != "cpu":
            self._lamb(group, params, grads, first, second)
        else:
            for tensors in zip(params, grads, first, second, strict=True):
                self._lamb_in_pieces(group, *tensors)

    def _adam(self, group: dict, params: list, grads: list, first: list, second: list, lr: float) -> None:
        """PyTorch's kernel of AdamW, in one pass. It decays before it steps, which is the same.

        The kernel reads memory as it lies, so a gradient of another layout than its parameter's is copied.
        """
        pairs = zip(params, grads, strict=True)
        grads = [grad if grad.stride() == p.stride() else torch.empty_like(p).copy_(grad) for p, grad in pairs]
        if self.scale is not None:
            grads = list(torch._foreach_mul(grads, self.scale))
        beta1, beta2 = group["betas"]
        count = float(group["step"]) if self.bias_correction else math.inf  # 1 - b^inf = 1
        counts = [torch.full((), count, device=params[0].device)] * len(params)
        torch._fused_adamw_(
            params, grads, first, second, [], counts, lr=lr, beta1=beta1, beta2=beta2, eps=group["eps"],
            weight_decay=group["weight_decay"], amsgrad=False, maximize=False,
        )  # fmt: skip

    def _lamb(self, group: dict, params: list, grads: list, first: list, second: list) -> None:
        """Adam's step of rate 1 moves a copy of p by -u."""
        steps = [p.clone() for p in params]
        self._adam(group, steps, grads, first, second, 1.0)
        torch._foreach_sub_(steps, params)  # -u
        ratios = list(map(trust_ratio, torch._foreach_norm(params), torch._foreach_norm(steps)))
        torch._foreach_mul_(steps, ratios)
        torch._foreach_add_(params, steps, alpha=group["lr"])

    def _lamb_in_pieces(self, group: dict, whole: Tensor, grad: Tensor, *moments: Tensor) -> None:
        """The same for one tensor, piece by piece: a CPU reads each from memory once and not six times."""
        if self.steps is None or self.steps.numel() < whole.numel() or self.steps.dtype != whole.dtype:
            self.steps = torch.empty(whole.numel(), dtype=whole.dtype)
        flat = [whole.view(-1), grad.reshape(-1), *(moment.view(-1) for moment in moments), self.steps[: whole.numel()]]
        pieces = [tensor.split(PIECE) for tensor in flat]
        norms = []
        for p, g, first, second, step in zip(*pieces, strict=True):
            self._adam(group, [step.copy_(p)], [g], [first], [second], 1.0)
            norms.append(torch.stack([p.norm(), step.sub_(p).norm()]))
        ratio = trust_ratio(*torch.stack(norms).norm(dim=0))
        for p, step in zip(pieces[0], pieces[-1], strict=True):
            p.addcmul_(step, ratio, value=group["lr"])

    def _moments(self, params: list, name: str) -> list:
        for p in params:
            if name not in self.state[p]:
                self.state[p][name] = torch.zeros_like(p, memory_format=torch.preserve_format)
        return [self.state[p][name] for p in params]


def trust_ratio(weights: Tensor, step: Tensor) -> Tensor:
    """|p| / |u| of these norms, 1 where one of them is 0."""
    return torch.where((weights > 0) & (step > 0), weights / step, torch.ones_like(weights))


def decay_groups(params, weight_decay: float, adapt: bool) -> list[dict]:
    """Matrices decay (and adapt); vectors and scalars, LayerNorms and biases, do neither.

    By shape and not by name: fairseq hands unnamed copies to the optimizer, and the names BERT's pattern looks for
    miss `layernorm_embedding`.
    """
    params = list(params)
    return [
        {"params": [p for p in params if p.ndim > 1], "weight_decay": weight_decay, "adapt": adapt},
        {"params": [p for p in params if p.ndim <= 1], "weight_decay": 0.0, "adapt": False},
    ]
