"""The cross-entropy in pieces against PyTorch's, and its gradient."""

import pytest
import torch
import torch.nn.functional as F
from model_helpers import sample_tokens

from alibert_fairseq.layers import word_loss as module
from alibert_fairseq.layers.word_loss import Samples, Words, predict

WORDS, WIDTH = 40, 6


def example(rows: int, dtype: torch.dtype) -> tuple:
    """Features, table and bias, and the targets."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((rows, WIDTH), (WORDS, WIDTH), (WORDS,))
    given = [2 * torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return [one.to(dtype).requires_grad_() for one in given], torch.randint(WORDS, (rows,), generator=generator)


def of_scores(scores: torch.Tensor, target: torch.Tensor, **options) -> Words:
    """The loss of given scores: of a table that hands the features on."""
    words = scores.shape[-1]
    return predict(scores, torch.eye(words, dtype=scores.dtype), scores.new_zeros(words), target, **options)


@pytest.fixture
def small_pieces(monkeypatch):
    """Five tokens each; the last is smaller."""
    monkeypatch.setitem(module.SCORES_AT_A_TIME, "cpu", 5 * WORDS)


@pytest.mark.parametrize("z_loss", [0.0, 0.01])
@pytest.mark.parametrize("rows", [0, 1, 7, 12])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-13), (torch.float32, 1e-5), (torch.bfloat16, 1e-2)])
def test_loss_gradient_and_right_guesses_are_those_of_pytorch(small_pieces, rows, dtype, tolerance, z_loss):
    given, target = example(rows, dtype)
    words = predict(*given, target, z_loss)
    (3 * words.loss).backward()
    features, table, bias = twins = [one.detach().clone().requires_grad_() for one in given]
    scores = torch.addmm(bias, features, table.t()).to(words.loss.dtype)
    theirs = F.cross_entropy(scores, target, reduction="sum")
    more = theirs + z_loss * scores.logsumexp(-1).square().sum()
    (3 * more).backward()
    assert words.loss.dtype == words.cross_entropy.dtype == torch.promote_types(dtype, torch.float32)
    assert abs(words.loss - more) <= tolerance * abs(more)
    assert abs(words.cross_entropy - theirs) <= tolerance * abs(theirs) and not words.cross_entropy.requires_grad
    for one, twin in zip(given, twins, strict=True):
        assert one.grad.dtype == dtype and (one.grad - twin.grad).norm() <= tolerance * twin.grad.norm()
    best = scores == scores.amax(-1, keepdim=True)
    right = best[torch.arange(rows), target] / best.sum(-1)  # bfloat16 has equal scores
    assert words.correct.item() == pytest.approx(right.sum().item()) and len(words.samples) == 0


def test_equal_scores_share_a_guess():
    scores = torch.tensor([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert of_scores(scores, torch.tensor([1, 0, 2])).correct.item() == pytest.approx(1 / 2 + 1 + 1 / 3)


@pytest.mark.parametrize("z_loss", [0.0, 0.3])
def test_the_gradient_is_that_of_finite_differences(small_pieces, z_loss):
    given, target = example(7, torch.float64)
    assert torch.autograd.gradcheck(lambda *values: predict(*values, target, z_loss).loss, given)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_samples_are_those_of_the_softmax_and_change_no_loss(small_pieces, temperature, dtype):
    given, target = example(500, dtype)
    uniforms = torch.rand(500, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    words, plain = predict(*given, target, samples=Samples(uniforms, temperature)), predict(*given, target)
    features, table, bias = given
    scores = torch.addmm(bias, features, table.t())
    assert torch.equal(words.samples, sample_tokens(scores, uniforms, temperature)) and len(words.samples.unique()) > 20
    assert torch.equal(words.loss, plain.loss) and torch.equal(words.correct, plain.correct)
    gradients = (torch.autograd.grad(one.loss, given) for one in (words, plain))
    assert all(torch.equal(*pair) for pair in zip(*gradients, strict=True))


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_samples_of_many_words_are_those_of_float32(temperature):
    generator = torch.Generator().manual_seed(1)
    scores, target = torch.randn(500, 2000, generator=generator), torch.zeros(500, dtype=torch.long)
    uniforms = torch.rand(500, generator=generator, dtype=torch.float64)
    words = of_scores(scores, target, samples=Samples(uniforms, temperature))
    assert torch.equal(words.samples, sample_tokens(scores, uniforms, temperature))


def test_without_a_gradient_the_numbers_are_the_same(small_pieces):
    given, target = example(12, torch.float32)
    uniforms = torch.rand(12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    learned = predict(*given, target, 0.01, Samples(uniforms, 1.0))
    with torch.no_grad():
        measured = predict(*given, target, 0.01, Samples(uniforms, 1.0))
    assert all(torch.equal(*pair) for pair in zip(learned, measured, strict=True))
    assert learned.loss.requires_grad and not measured.loss.requires_grad


def test_the_loss_scale_of_float16_reaches_small_gradients():
    """A probability of 1e-9 is 0 in float16, and so is what is multiplied too late. It cannot hold a scale of 1e5."""
    scores = torch.tensor([[0.0, -20.7, -1.0]], dtype=torch.float16, requires_grad=True)
    (1e5 * of_scores(scores, torch.tensor([2])).loss).backward()
    twin = scores.detach().double().requires_grad_()
    (1e5 * F.cross_entropy(twin, torch.tensor([2]))).backward()
    assert scores.grad[0, 1] > 0 and scores.grad[0, 1].item() == pytest.approx(twin.grad[0, 1].item(), rel=1e-2)
    assert twin.grad[0, 2] < -65504 and scores.grad[0, 2].isinf()  # so that the scale is lowered


def test_a_scale_is_not_rounded_to_the_precision_of_the_scores():
    scores = torch.tensor([[30.0, 0.0]], dtype=torch.float16, requires_grad=True)
    (0.3 * of_scores(scores, torch.tensor([1])).loss).backward()
    assert scores.grad[0].tolist() == pytest.approx([0.3, -0.3], rel=5e-4)


def test_large_scores_do_not_overflow():
    scores = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    loss = of_scores(scores, torch.tensor([1])).loss
    loss.backward()
    assert loss == 2e4 and torch.equal(scores.grad, torch.tensor([[1.0, -1.0, 0.0]]))
