"""Where the tokens of a batch lie: even, padded and packed rows, masked tokens, and the way there and back."""

from dataclasses import fields

import pytest
import torch
from fairseq import utils
from model_helpers import electra_batch, masked_dataset

from alibert_fairseq.data.layout import Layout, Spans, laid_out

PADDED = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0]]).bool()
PACKED = torch.tensor([[0, 0, 0, 1], [0, 0, 1, -1], [1, 2, -1, -1]])  # the third row has a number of the second
MASKED = torch.tensor([[0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]).bool()


def told(spans: Spans) -> tuple:
    """Lengths, rows, ranks and ends of spans, whose other fields follow from the lengths."""
    assert spans.ends.dtype == torch.int32 and spans.number == len(spans.lengths)
    assert (spans.longest, spans.even) == (max(spans.lengths), len(set(spans.lengths)) == 1)
    return spans.lengths, spans.rows.tolist(), spans.ranks.tolist(), spans.ends.tolist()


def same(one, other) -> bool:
    """Whether two layouts, or two spans, have the same fields."""
    if isinstance(one, (Layout, Spans)):
        return type(one) is type(other) and all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if torch.is_tensor(one):
        return torch.is_tensor(other) and one.dtype == other.dtype and torch.equal(one, other)
    return one == other


def test_even_rows():
    layout = Layout.of(torch.ones(2, 3, dtype=torch.bool))
    assert told(layout.tokens) == ([3, 3], [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 3, 6])
    assert layout.tokens.even and layout.tokens.longest == 3
    assert layout.shape == [2, 3] and layout.real is None
    assert len(layout.masked) == 0 and layout.of_masked.lengths == [0, 0]


def test_padded_rows():
    layout = Layout.of(PADDED)
    assert told(layout.tokens) == ([3, 4, 1], [0, 0, 0, 1, 1, 1, 1, 2], [0, 1, 2, 0, 1, 2, 3, 0], [0, 3, 7, 8])
    assert not layout.tokens.even and layout.tokens.longest == 4
    assert layout.shape == [3, 4] and layout.real.tolist() == [0, 1, 2, 4, 5, 6, 7, 8]


def test_packed_rows():
    layout = Layout.of(PACKED >= 0, PACKED)
    rows, ranks = [0, 0, 0, 1, 2, 2, 3, 4, 5], [0, 1, 2, 0, 0, 1, 0, 0, 0]
    assert told(layout.tokens) == ([3, 1, 2, 1, 1, 1], rows, ranks, [0, 3, 4, 6, 7, 8, 9])
    assert layout.real.tolist() == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    full = Layout.of(torch.ones(2, 4, dtype=torch.bool), torch.tensor([[0, 0, 1, 1], [1, 1, 2, 2]]))
    assert full.real is None and full.tokens.lengths == [2, 2, 2, 2] and full.tokens.even


def test_masked_tokens():
    layout = Layout.of(PADDED, masked=MASKED)
    assert layout.masked.tolist() == [1, 2, 7]
    assert told(layout.of_masked) == ([2, 0, 1], [0, 0, 2], [0, 1, 0], [0, 2, 2, 3])
    assert torch.equal(layout.flat(MASKED).nonzero()[:, 0], layout.masked)
    packed = Layout.of(PACKED >= 0, PACKED, MASKED)
    assert packed.masked.tolist() == [1, 2, 7] and packed.of_masked.lengths == [2, 0, 0, 0, 1, 0]
    none = Layout.of(PADDED, masked=torch.zeros_like(PADDED))
    assert none.masked.tolist() == [] and told(none.of_masked) == ([0, 0, 0], [], [], [0, 0, 0, 0])
    assert none.of_masked.longest == 0


@pytest.mark.parametrize("real", [torch.ones(3, 4, dtype=torch.bool), PADDED, PACKED >= 0])
@pytest.mark.parametrize("more", [(), (2, 5)])
def test_flat_and_padded_are_inverse(real, more):
    layout, batch = Layout.of(real), torch.randn(3, 4, *more, requires_grad=True)
    flat = layout.flat(batch)
    assert torch.equal(flat, batch[real])
    back = layout.padded(flat)
    assert torch.equal(back[real], batch[real]) and not back[~real].any() and back.shape == batch.shape
    assert torch.equal(layout.flat(back), flat)
    back.square().sum().backward()
    assert torch.equal(batch.grad, 2 * back)


@pytest.mark.parametrize("masked", [None, MASKED])
@pytest.mark.parametrize("real", [torch.ones_like(PADDED), PADDED])
def test_what_is_written_is_read_as_it_was(real, masked):
    layout = Layout.of(real, masked=masked)
    written = layout.written()
    assert same(Layout.read(written), layout) and same(Layout.read(Layout.read(written).written()), layout)
    moved = utils.apply_to_sample(torch.clone, {"layout": written})["layout"]  # as fairseq moves a batch
    assert same(Layout.read(moved), layout) and moved["tokens"]["rows"] is not layout.tokens.rows
    assert not same(Layout.of(real.flip(0)[:2]), layout)


def test_a_batch_is_laid_out_once_and_stays_as_it_was():
    batch = electra_batch((12, 15, 9))
    before = batch | {"net_input": dict(batch["net_input"])}
    laid = laid_out(batch, 1)
    assert laid_out(laid, 1) is laid
    assert batch.keys() == before.keys() and batch["net_input"].keys() == before["net_input"].keys()
    assert all(batch["net_input"][name] is value for name, value in before["net_input"].items())


def test_a_laid_out_batch_has_the_masked_tokens_alone():
    batch = electra_batch((12, 15, 9))
    inputs, laid = batch["net_input"], laid_out(batch, 1)
    masked = batch["target"].ne(1)
    assert laid["net_input"].keys() == {"src_tokens", "original", "uniforms", "layout"}
    assert torch.equal(laid["target"], inputs["original"][masked])
    assert torch.equal(laid["net_input"]["uniforms"], inputs["uniforms"][masked]) and laid["target"].numel() > 5
    assert all(laid["net_input"][name] is inputs[name] for name in ("src_tokens", "original"))
    assert (laid["ntokens"], laid["nsentences"]) == (36, 3)
    layout = Layout.read(laid["net_input"]["layout"])
    assert same(layout, Layout.of(inputs["original"].ne(1), masked=masked)) and layout.tokens.lengths == [12, 15, 9]


def test_packed_sequences_are_laid_out_by_their_numbers():
    data = masked_dataset((12, 12))
    batch = data.collater([data[0], data[1]])
    batch["net_input"]["sequences"] = torch.tensor([[0] * 5 + [1] * 7, [0] * 12])
    inputs = laid_out(batch, 1)["net_input"]
    assert "sequences" not in inputs and Layout.read(inputs["layout"]).tokens.lengths == [5, 7, 12]
