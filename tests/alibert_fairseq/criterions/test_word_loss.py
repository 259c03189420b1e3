"""The cross-entropy in pieces against PyTorch's, and its gradient."""

import pytest
import torch
import torch.nn.functional as F

from alibert_fairseq.criterions import word_loss as module
from alibert_fairseq.criterions.word_loss import word_loss


def example(rows: int, dtype: torch.dtype) -> tuple:
    generator = torch.Generator().manual_seed(0)
    scores = 5 * torch.randn(rows, 40, generator=generator, dtype=torch.float64)
    scores = scores.to(dtype).requires_grad_()
    return scores, torch.randint(40, (rows,), generator=generator)


@pytest.mark.parametrize("rows", [0, 1, 7, 12])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-13), (torch.float32, 1e-5), (torch.bfloat16, 1e-2)])
def test_loss_gradient_and_right_guesses_are_those_of_pytorch(monkeypatch, rows, dtype, tolerance):
    monkeypatch.setitem(module.SCORES_AT_A_TIME, "cpu", 5 * 40)  # the last piece is smaller
    scores, target = example(rows, dtype)
    loss, correct = word_loss(scores, target)
    (3 * loss).backward()
    twin = scores.detach().clone().requires_grad_()
    theirs = F.cross_entropy(twin.to(loss.dtype), target, reduction="sum")
    (3 * theirs).backward()
    assert loss.dtype == torch.promote_types(dtype, torch.float32)
    assert abs(loss - theirs) <= tolerance * abs(theirs)
    assert scores.grad.dtype == dtype and (scores.grad - twin.grad).norm() <= tolerance * twin.grad.norm()
    assert correct == (twin.argmax(-1) == target).sum() or dtype == torch.bfloat16  # which has equal scores


def test_equal_scores_share_a_guess():
    scores = torch.tensor([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert word_loss(scores, torch.tensor([1, 0, 2]))[1].item() == pytest.approx(1 / 2 + 1 + 1 / 3)


def test_the_gradient_is_that_of_finite_differences():
    scores, target = example(4, torch.float64)
    assert torch.autograd.gradcheck(lambda values: word_loss(values, target)[0], scores)


def test_the_loss_scale_of_float16_reaches_small_gradients():
    """A probability of 1e-9 is 0 in float16, and so is what is multiplied too late. It cannot hold a scale of 1e5."""
    scores = torch.tensor([[0.0, -20.7, -1.0]], dtype=torch.float16, requires_grad=True)
    loss, _ = word_loss(scores, torch.tensor([2]))
    (1e5 * loss).backward()
    twin = scores.detach().double().requires_grad_()
    (1e5 * F.cross_entropy(twin, torch.tensor([2]))).backward()
    assert scores.grad[0, 1] > 0 and scores.grad[0, 1].item() == pytest.approx(twin.grad[0, 1].item(), rel=1e-2)
    assert twin.grad[0, 2] < -65504 and scores.grad[0, 2].isinf()  # so that the scale is lowered


def test_a_scale_is_not_rounded_to_the_precision_of_the_scores():
    scores = torch.tensor([[30.0, 0.0]], dtype=torch.float16, requires_grad=True)
    (0.3 * word_loss(scores, torch.tensor([1]))[0]).backward()
    assert scores.grad[0].tolist() == pytest.approx([0.3, -0.3], rel=5e-4)


def test_large_scores_do_not_overflow():
    scores = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    loss, _ = word_loss(scores, torch.tensor([1]))
    loss.backward()
    assert loss == 2e4 and torch.equal(scores.grad, torch.tensor([[1.0, -1.0, 0.0]]))
