"""Dropout from bits: its share, its mean, its independence, and what a seed fixes."""

import math

import pytest
import torch

from alibert_fairseq.layers import dropout as module
from alibert_fairseq.layers.dropout import LEVELS, Dropout, noise

NUMBER = 1_000_000
DEVIATIONS = 4  # one of 16,000 right generators is refused


def drawn(share: float, dtype=torch.float64) -> torch.Tensor:
    torch.manual_seed(3)
    return noise(torch.Size([NUMBER]), share, dtype)


@pytest.mark.parametrize("share, levels", [(0.1, 6554), (0.5, 32768)])
def test_the_share_of_zeros_and_the_mean_are_right(share, levels):
    found, dropped = drawn(share), levels / LEVELS
    assert found.unique().tolist() == [0, LEVELS / (LEVELS - levels)]
    deviation = math.sqrt(dropped * (1 - dropped) / NUMBER)
    assert abs(found.eq(0).double().mean() - dropped) < DEVIATIONS * deviation
    assert abs(found.mean() - 1) < DEVIATIONS * deviation / (1 - dropped)


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("lag", [1, 2, 3, 4])
def test_elements_are_independent_of_each_other(share, lag):
    """64 bits make four of them."""
    found = drawn(share) - 1
    correlation = (found[:-lag] * found[lag:]).mean() / found.square().mean()
    assert abs(correlation) < DEVIATIONS / math.sqrt(NUMBER)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_every_place_of_the_bits_has_the_same_share(share):
    zeros = drawn(share).eq(0).view(-1, 4).double().mean(0)
    assert (zeros - share).abs().max() < DEVIATIONS * math.sqrt(share * (1 - share) * 4 / NUMBER)


def test_the_same_seed_gives_the_same_noise():
    first, second = drawn(0.1), drawn(0.1)
    assert torch.equal(first, second)
    assert not torch.equal(second, noise(second.shape, 0.1, second.dtype))  # the generator has moved on


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_noise_of_a_seed_is_the_same_in_every_precision(dtype):
    found = drawn(0.1, dtype)
    assert found.dtype == dtype and torch.equal(found.eq(0), drawn(0.1).eq(0))


def test_in_an_evaluation_and_without_a_share_nothing_changes():
    x, state = torch.randn(5, 7), torch.get_rng_state()
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0).train()(x) is x
    assert torch.equal(torch.get_rng_state(), state)


def test_what_is_kept_is_scaled_and_so_is_its_gradient():
    x, layer = torch.randn(50, 7, requires_grad=True), Dropout(0.5).train()
    torch.manual_seed(5)
    y = layer(x)
    torch.manual_seed(5)
    times = noise(x.shape, 0.5, x.dtype)
    assert torch.equal(y, x * times) and 0 < times.count_nonzero() < times.numel()
    y.sum().backward()
    assert torch.equal(x.grad, times)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (2, 0, 3), (4, 4)])
def test_any_shape_has_its_noise(shape):
    """Also those that are no multiple of the four elements of 64 bits."""
    found = noise(torch.Size(shape), 0.1, torch.float32)
    assert found.shape == shape and found.is_contiguous() and found.isfinite().all()


@pytest.mark.parametrize("share", [1 - 1 / LEVELS, 1 - 1e-9])
def test_a_share_close_to_one_leaves_a_few_and_is_finite(share):
    found = drawn(share, torch.float32)
    expected = NUMBER / LEVELS
    assert found.unique().tolist() == [0, LEVELS]
    assert abs(found.count_nonzero() - expected) < DEVIATIONS * math.sqrt(expected)


def test_a_small_share_drops_a_few():
    found, share = drawn(1e-4), 7 / LEVELS  # the nearest
    assert abs(found.eq(0).sum() - NUMBER * share) < DEVIATIONS * math.sqrt(NUMBER * share)


def test_where_kernels_are_fused_it_is_pytorchs(monkeypatch):
    monkeypatch.setattr(module, "draws_bits", lambda _: False)
    x = torch.randn(50, 7)
    torch.manual_seed(5)
    ours = Dropout(0.3).train()(x)
    torch.manual_seed(5)
    assert torch.equal(ours, torch.nn.functional.dropout(x, 0.3))
