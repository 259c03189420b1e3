"""The ways to compute attention against a plain one: the same outputs, the same gradients, in double precision."""

import importlib
import inspect
import sys
import weakref
from types import SimpleNamespace

import pytest
import torch
from long_cases import long_except

from alibert_fairseq.data.layout import Layout
from alibert_fairseq.layers import attention as module
from alibert_fairseq.layers import pieces
from alibert_fairseq.layers.attention import attend
from alibert_fairseq.layers.dropout import noise
from alibert_fairseq.layers.sight import Sight, visible

HEADS, WIDTH, TOLERANCE = 3, 4, 1e-12
LENGTHS = {"even": (5, 5, 5, 5, 5), "uneven": (7, 2, 7, 7, 1, 4), "one": (6,)}
VISIBLE = {"all": (None, False), "window": (4, False), "causal": (None, True), "causal window": (4, True)}
QUERIES = {"even": (2, 2, 0, 0, 1), "uneven": (3, 0, 3, 3, 1, 1), "one": (2,)}  # of each sequence
AT_A_TIME = {"one head each": 1, "some heads": 2 * 7 * 7, "several sequences": 2**18}

pytestmark = pytest.mark.usefixtures("double_precision")


def sight_of(lengths, queries=None, window=None, causal=False) -> Sight:
    """queries: how many of each sequence are computed, at random places; None: all."""
    generator = torch.Generator().manual_seed(2)
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    chosen = torch.zeros_like(real)
    for row, number in enumerate(queries or ()):
        chosen[row, torch.randperm(lengths[row], generator=generator)[:number]] = True
    layout = Layout.of(real, masked=chosen)
    tokens = layout.tokens
    mask, near = visible(tokens, window, causal)
    if queries is None:
        return Sight(tokens, tokens, tokens.ranks, mask, near)
    return Sight(tokens, layout.of_masked, tokens.ranks[layout.masked], mask, near)


def parts_of(sight: Sight, together: bool = True) -> list[torch.Tensor]:
    """Queries, keys and values; together: in as few tensors as a layer makes them in."""
    generator = torch.Generator().manual_seed(1)
    tokens, asked = len(sight.keys.rows), len(sight.queries.rows)
    sizes = [(tokens, 3)] if sight.queries is sight.keys else [(asked, 1), (tokens, 2)]
    if not together:
        sizes = [(asked, 1), (tokens, 1), (tokens, 1)]
    return [torch.randn(*size, HEADS, WIDTH, generator=generator).requires_grad_() for size in sizes]


def plainly(sight: Sight, parts, times=None) -> torch.Tensor:
    """One sequence and one head after the other. times: of each of both, what its probabilities are multiplied by."""
    q, k, v = (view for part in parts for view in part.unbind(1))
    result, ends, begun = [], sight.keys.ends.tolist(), sight.queries.ends.tolist()
    for row, length in enumerate(sight.keys.lengths):
        own, asked = slice(ends[row], ends[row + 1]), slice(begun[row], begun[row + 1])
        heads = []
        for head in range(HEADS):
            scores = q[asked, head] @ k[own, head].T / WIDTH**0.5
            if sight.mask is not None:
                scores = scores.masked_fill(~sight.mask[sight.places[asked]][:, :length], -torch.inf)
            probabilities = scores.softmax(-1)
            heads.append((probabilities if times is None else probabilities * times[row, head]) @ v[own, head])
        result.append(torch.stack(heads, 1))
    return torch.cat(result)


def in_pieces(sight: Sight, parts, dropout: float = 0.0) -> torch.Tensor:
    return pieces.InPieces.apply(sight, dropout, None, None, *parts)


def by(way: str):
    """One that takes queries, keys and values apart."""
    return lambda sight, parts: getattr(module, way)(*pieces.views(parts), sight, 0.0)


WAYS = {way: by(way) for way in ("_rows", "_one_by_one", "_padded")} | {"InPieces": in_pieces}


def with_gradients(compute, sight: Sight, parts) -> list[torch.Tensor]:
    """What is computed, and the gradient of a weighted sum of it."""
    result = compute(sight, parts)
    weights = torch.randn(result.shape, generator=torch.Generator().manual_seed(3))
    return [result, *torch.autograd.grad((result * weights).sum(), parts)]


def assert_same(found, expected) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("size", AT_A_TIME)
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("seen", VISIBLE)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_all_ways_give_the_same_numbers_and_gradients(monkeypatch, lengths, seen, some, size, together):
    monkeypatch.setattr(pieces, "SCORES_AT_A_TIME", AT_A_TIME[size])
    sight = sight_of(LENGTHS[lengths], QUERIES[lengths] if some else None, *VISIBLE[seen])
    assert (sight.mask is None) == (seen == "all")
    parts = parts_of(sight, together)
    expected = with_gradients(plainly, sight, parts)
    assert all(one.abs().max() > 0.1 for one in expected)
    for way, compute in WAYS.items():
        if way != "_rows" or not some and sight.keys.even:
            assert_same(with_gradients(compute, sight, parts), expected)


def varlen_attn(q, k, v, ends_q, ends_k, longest_q, longest_k, window_size=(-1, -1)):
    """PyTorch's, which has no kernel for a CPU. window_size: tokens before and behind; -1: all."""
    queries, keys = ends_q.diff().tolist(), ends_k.diff().tolist()
    assert (max(queries), max(keys)) == (longest_q, longest_k)
    before, behind = (size if size >= 0 else longest_k for size in window_size)
    found = []
    for own_q, own_k, own_v in zip(q.split(queries), k.split(keys), v.split(keys), strict=True):
        places = torch.arange(len(own_q))[:, None] + len(own_k) - len(own_q)  # from the end
        distance = torch.arange(len(own_k)) - places
        scores = torch.einsum("qnh,knh->nqk", own_q, own_k) / WIDTH**0.5
        scores = scores.masked_fill((distance < -before) | (distance > behind), -torch.inf)
        found.append(torch.einsum("nqk,knh->qnh", scores.softmax(-1), own_v))
    return torch.cat(found)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("seen, some", [*((one, False) for one in VISIBLE), ("all", True)])
def test_pytorchs_attention_of_different_lengths_is_told_the_same(monkeypatch, lengths, seen, some):
    monkeypatch.setitem(sys.modules, module.VARLEN, SimpleNamespace(varlen_attn=varlen_attn))
    sight = sight_of(LENGTHS[lengths], QUERIES[lengths] if some else None, *VISIBLE[seen])
    parts = parts_of(sight)
    found = with_gradients(lambda sight, parts: module._varlen(*pieces.views(parts), sight), sight, parts)
    assert_same(found, with_gradients(plainly, sight, parts))


def test_pytorchs_attention_of_different_lengths_is_taken_where_it_can(monkeypatch):
    monkeypatch.setattr(module, "TORCH", (2, 11))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    q = torch.zeros(1, 2, 64, dtype=torch.bfloat16)
    (all_of_all, all_of_some), (near_of_all, near_of_some) = (
        [sight_of(LENGTHS["uneven"], queries, window) for queries in (None, QUERIES["uneven"])] for window in (None, 4)
    )
    assert all(module._has_varlen(q, sight, 0.0) for sight in (all_of_all, all_of_some, near_of_all))
    assert not module._has_varlen(q, near_of_some, 0.0)  # its window would count from the last query
    assert not module._has_varlen(q, all_of_all, 0.1) and not module._has_varlen(q.float(), all_of_all, 0.0)
    for width in (71, 264):  # heads that FlashAttention refuses
        assert not module._has_varlen(torch.zeros(1, 2, width, dtype=torch.bfloat16), all_of_all, 0.0)
    for build, without, with_window in (((2, 10), True, False), ((2, 9), False, False), ((3, 0), True, True)):
        monkeypatch.setattr(module, "TORCH", build)
        assert (module._has_varlen(q, all_of_all, 0.0), module._has_varlen(q, near_of_all, 0.0)) == (
            without,
            with_window,
        )
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert not module._has_varlen(q, all_of_all, 0.0)


@pytest.mark.parametrize("seen", ["all", "window"])
def test_where_no_token_is_asked_for_nothing_is_computed(seen, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_IN_PIECES", 0)
    sight = sight_of(LENGTHS["uneven"], (0,) * 6, *VISIBLE[seen])
    parts = parts_of(sight)
    for way in ("InPieces", "_padded"):
        result, *gradients = with_gradients(WAYS[way], sight, parts)
        assert result.shape == (0, HEADS, WIDTH) and not any(one.any() for one in gradients)
    result, *gradients = with_gradients(lambda sight, parts: module.attend(parts, sight, 0.0), sight, parts)
    assert result.shape == (0, HEADS, WIDTH) and not any(one.any() for one in gradients)


@pytest.mark.parametrize("size", AT_A_TIME)
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("seen", VISIBLE)
def test_pieces_hold_each_score_once_and_fit_the_cache(monkeypatch, seen, some, size):
    monkeypatch.setattr(pieces, "SCORES_AT_A_TIME", AT_A_TIME[size])
    sight = sight_of(LENGTHS["uneven"], QUERIES["uneven"] if some else None, *VISIBLE[seen])
    q, k, _ = pieces.views(parts_of(sight))
    asked, read = (torch.zeros(x.shape[:2], dtype=torch.long) for x in (q, k))
    for piece in pieces._pieces(q, sight):
        asked[piece.queries, piece.heads] += 1
        read[piece.keys, piece.heads] += 1
        rows, heads, number, _ = piece.of(q, piece.queries).shape
        scores = rows * heads * number * piece.of(k, piece.keys).shape[2]
        assert scores <= AT_A_TIME[size] or (rows, heads) == (1, 1)
    assert asked.eq(1).all() and read.eq(1).all()


def test_sequences_of_one_length_share_a_piece_and_heads_of_a_long_one_do_not(monkeypatch):
    def sizes(sight: Sight) -> list[tuple[int, int]]:
        """Sequences and heads of each piece."""
        q = pieces.views(parts_of(sight))[0]
        return [tuple(piece.of(q, piece.queries).shape[:2]) for piece in pieces._pieces(q, sight)]

    whole = sight_of(LENGTHS["uneven"], None, 4)
    assert sizes(whole) == [(1, 3), (1, 3), (2, 3), (1, 3), (1, 3)]
    assert sizes(sight_of(LENGTHS["uneven"], QUERIES["uneven"])) == [(1, 3), (1, 3), (2, 3), (1, 3), (1, 3)]
    assert sizes(sight_of(LENGTHS["uneven"], QUERIES["uneven"], 4)) == [(1, 3)] * 6  # each sees other places
    monkeypatch.setattr(pieces, "SCORES_AT_A_TIME", 2 * 7 * 7)
    assert sizes(whole) == [(1, 2), (1, 1), (1, 3), (1, 2), (1, 1), (1, 2), (1, 1), (1, 3), (1, 3)]


class Recorded:
    """The noise that was drawn, in its order."""

    def __init__(self):
        self.drawn = []

    def __call__(self, *args):
        self.drawn.append(noise(*args))
        return self.drawn[-1]

    def of_heads(self, q: torch.Tensor, sight: Sight) -> dict[tuple[int, int], torch.Tensor]:
        """By the number of its sequence and of its head, (its queries, its tokens) each."""
        found, row = {}, 0
        for piece, drawn in zip(pieces._pieces(q, sight), self.drawn, strict=True):
            heads = range(HEADS)[piece.heads]
            for number, of_row in enumerate(drawn.unflatten(0, (piece.rows, len(heads)))):
                found |= {(row + number, head): one for head, one in zip(heads, of_row, strict=True)}
            row += piece.rows if heads[-1] == HEADS - 1 else 0
        return found


@pytest.mark.parametrize("size", AT_A_TIME)
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("seen", VISIBLE)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_dropout_is_that_of_the_noise_that_was_drawn(monkeypatch, lengths, seen, some, size):
    recorded = Recorded()
    monkeypatch.setattr(pieces, "SCORES_AT_A_TIME", AT_A_TIME[size])
    monkeypatch.setattr(pieces, "noise", recorded)
    sight = sight_of(LENGTHS[lengths], QUERIES[lengths] if some else None, *VISIBLE[seen])
    parts = parts_of(sight)
    torch.manual_seed(4)
    found = with_gradients(lambda *given: attend(given[1], given[0], 0.3), sight, parts)
    times = recorded.of_heads(pieces.views(parts)[0], sight)
    assert len(times) == HEADS * len(LENGTHS[lengths]) and any(one.eq(0).any() for one in times.values())
    assert_same(found, with_gradients(lambda *given: plainly(*given, times), sight, parts))


@pytest.mark.parametrize("queries", [None, (1, 0, 2, 1)])
@pytest.mark.parametrize("dropout", long_except([0.0, 0.3], 0.3))
@pytest.mark.parametrize("seen", ["all", "causal window"])
def test_the_gradient_of_pieces_is_that_of_finite_differences(monkeypatch, seen, dropout, queries):
    def fixed(shape, share, dtype):
        return (torch.arange(shape.numel(), dtype=dtype) % 3).view(shape)  # a third of it is 0

    monkeypatch.setattr(pieces, "SCORES_AT_A_TIME", 2 * 3 * 3)
    monkeypatch.setattr(pieces, "noise", fixed)
    sight = sight_of((3, 2, 3, 3), queries, *VISIBLE[seen])
    assert torch.autograd.gradcheck(lambda *parts: in_pieces(sight, parts, dropout), parts_of(sight))


def test_the_gradient_of_tokens_is_the_same_with_frozen_distances():
    """Of disentangled attention, whose products with distances are part of the scores."""
    sight = sight_of((3, 5))
    generator = torch.Generator().manual_seed(3)
    keys, queries = torch.randn(2, 2 * 5 - 1, HEADS, WIDTH, generator=generator)

    def gradient(trained: bool) -> torch.Tensor:
        (part,), distances = parts_of(sight), [x.clone().requires_grad_(trained) for x in (keys, queries)]
        return torch.autograd.grad(pieces.InPieces.apply(sight, 0.0, *distances, part).square().sum(), part)[0]

    assert torch.equal(gradient(True), gradient(False)) and gradient(True).any()


@pytest.mark.parametrize(
    "lengths, some, longest, compiled, dropout, way",
    [
        ("even", False, 1024, False, 0.0, "_rows"),
        ("even", False, 1024, False, 0.3, "InPieces"),
        ("even", True, 1024, False, 0.0, "InPieces"),
        ("uneven", False, 7, False, 0.0, "InPieces"),
        ("uneven", False, 6, False, 0.0, "_one_by_one"),
        ("uneven", True, 6, False, 0.0, "_one_by_one"),
        ("uneven", True, 6, False, 0.3, "InPieces"),
        ("uneven", False, 1024, True, 0.0, "_padded"),
        ("even", True, 1024, True, 0.3, "_padded"),
        ("even", False, 1024, True, 0.3, "_rows"),
    ],
)
def test_a_batch_is_computed_in_its_way(monkeypatch, lengths, some, longest, compiled, dropout, way):
    monkeypatch.setattr(module, "LONGEST_IN_PIECES", longest)
    monkeypatch.setattr(module, "draws_bits", lambda _: not compiled)
    sight, called = sight_of(LENGTHS[lengths], QUERIES[lengths] if some else None, 4), []
    for name in ("_rows", "_one_by_one", "_padded", "_varlen"):
        compute = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, c=compute, n=name: called.append(n) or c(*given))
    parts = parts_of(sight)
    result = attend(parts, sight, dropout)
    assert called == ([] if way == "InPieces" else [way])
    assert torch.allclose(result, plainly(sight, parts), rtol=0, atol=TOLERANCE) == (not dropout)


def test_the_build_here_takes_what_its_version_says():
    varlen = importlib.import_module(module.VARLEN) if module.TORCH >= module.VARLEN_SINCE else None
    options = inspect.signature(varlen.varlen_attn).parameters if varlen else ()
    assert ("window_size" in options) == (module.TORCH >= module.WINDOWS_SINCE)


@pytest.mark.parametrize("evaluates", [True, False])
def test_an_evaluation_keeps_no_scores(evaluates, monkeypatch):
    sight, kept, held = sight_of(LENGTHS["uneven"], None, 4), [], []

    def softmax(x, dim):
        held.append(sum(one() is not None for one in kept))
        found = x.softmax(dim)
        kept.append(weakref.ref(found))
        return found

    monkeypatch.setattr(torch, "softmax", softmax)
    parts = [part.requires_grad_(not evaluates) for part in parts_of(sight)]
    in_pieces(sight, parts, 0.3)
    assert len(held) > 3 and (max(held) == 1) == evaluates
