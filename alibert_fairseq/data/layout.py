"""Where the tokens of a batch lie, so that a model computes no padding, and waits for no answer of its device.

A model reads the real tokens of a batch one behind the other: n tokens of S sequences, M of them masked. What it needs
to know of them is found here, on the processor that has made the batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Spans:
    """Tokens that lie one behind the other, of S sequences: all of them, or the masked ones."""

    lengths: list[int]  # of each sequence
    number: int  # of sequences, S
    longest: int  # length of the longest sequence
    even: bool  # whether all sequences are equally long
    rows: Tensor  # (n,) the number of its sequence
    ranks: Tensor  # (n,) the number of each in its sequence
    ends: Tensor  # (S + 1,) int32, where the sequences end, from 0


@dataclass
class Layout:
    """The tokens of a batch of B rows and T columns. A batch holds it as a dictionary, which fairseq can move."""

    shape: list[int]  # B and T
    tokens: Spans
    real: Tensor | None  # (n,) their places in the flattened batch; None: all are real
    masked: Tensor  # (M,) the places of the masked ones among the n
    of_masked: Spans

    @classmethod
    def of(cls, real: Tensor, sequences: Tensor | None = None, masked: Tensor | None = None) -> "Layout":
        """real, masked: (B, T) bool; sequences: (B, T) numbers of the sequences that are packed in a row."""
        begins = torch.zeros_like(real)
        begins[:, 0] = True
        if sequences is not None:
            begins[:, 1:] = sequences[:, 1:] != sequences[:, :-1]
        places = None if bool(real.all()) else real.flatten().nonzero()[:, 0]
        numbers = (begins.flatten().cumsum(0) - 1)[slice(None) if places is None else places]
        tokens = _spans(torch.unique_consecutive(numbers, return_counts=True)[1])
        masked = torch.zeros_like(real) if masked is None else masked
        chosen = masked.flatten()[slice(None) if places is None else places].nonzero()[:, 0]
        counts = torch.bincount(tokens.rows[chosen], minlength=len(tokens.lengths))
        return cls(list(real.shape), tokens, places, chosen, _spans(counts))

    @classmethod
    def read(cls, layout: dict) -> "Layout":
        """From `written`."""
        return cls(**(layout | {name: Spans(**layout[name]) for name in ("tokens", "of_masked")}))

    def written(self) -> dict:
        """As a dictionary of lists and tensors."""
        return vars(self) | {"tokens": vars(self.tokens), "of_masked": vars(self.of_masked)}

    def flat(self, batch: Tensor) -> Tensor:
        """(B, T, ...) to (n, ...)."""
        batch = batch.flatten(0, 1)
        return batch if self.real is None else batch.index_select(0, self.real)

    def padded(self, flat: Tensor) -> Tensor:
        """(n, ...) to (B, T, ...), with zeros as padding."""
        rows, columns = self.shape
        if self.real is not None:
            flat = flat.new_zeros(rows * columns, *flat.shape[1:]).index_copy(0, self.real, flat)
        return flat.unflatten(0, (rows, columns))


def _spans(lengths: Tensor) -> Spans:
    number, total = len(lengths), lengths.sum()
    ends = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    rows = torch.repeat_interleave(torch.arange(number, device=lengths.device), lengths)
    ranks = torch.arange(int(total), device=lengths.device) - ends[rows]
    own = lengths.tolist()
    longest = max(own, default=0)
    return Spans(own, number, longest, min(own, default=0) == longest, rows, ranks, ends.int())


def laid_out(batch: dict, pad: int) -> dict:
    """A batch of `MaskedDataset` with its layout; `target` and `uniforms` are those of the M masked tokens.

    `predictable` is that of the n real tokens, for models that judge every token, and for no others.
    """
    inputs = dict(batch["net_input"])
    if "layout" in inputs:
        return batch
    real, masked = inputs["src_tokens"].ne(pad), batch["target"].ne(pad)
    layout = Layout.of(real, inputs.pop("sequences", None), masked)
    inputs.pop("has_padding", None)
    predictable = inputs.pop("predictable", None)
    if "uniforms" in inputs:
        inputs["uniforms"] = inputs["uniforms"][masked]
        if predictable is not None:
            inputs["predictable"] = layout.flat(predictable)
    return batch | {"net_input": inputs | {"layout": layout.written()}, "target": batch["target"][masked]}


def for_compiled(batch: dict) -> dict:
    """A batch without the lists of lengths, which a compiled model never reads, and would be compiled for anew."""
    inputs = batch["net_input"]
    spans = {name: inputs["layout"][name] | {"lengths": []} for name in ("tokens", "of_masked")}
    return batch | {"net_input": inputs | {"layout": inputs["layout"] | spans}}
