"""A table of names: pairs of our parameter names and Hugging Face's, and the conversion by it in both directions.

Every parameter of both sides must be named: a key that no row consumes stops the conversion.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from alibert_fairseq.layers.relative import Relative


class NamesError(ValueError):
    """A parameter has no counterpart, or its shape differs."""


@dataclass(frozen=True)
class Row:
    """One pair of names. `ours` is None where Hugging Face has a parameter this model does not: there it is zero.

    skipped: rows at the top of our table that theirs lacks, and that no token reads. fairseq and RobertaForMaskedLM
    count positions from padding_id + 1, the others from 0. Coming from theirs, these rows are zero.
    joined: (n, of) where their table is `of` of ours, one below the other, and this is the n-th.
    """

    ours: str | None
    theirs: str
    skipped: int = 0
    joined: tuple[int, int] = (0, 1)

    def share(self, theirs: Tensor) -> Tensor:
        """Their table, or what of it is ours."""
        number, of = self.joined
        return theirs if of == 1 else theirs.chunk(of)[number]


@dataclass(frozen=True)
class Parameters:
    """What of an encoder decides which parameters it has."""

    layers: int  # with weights of their own
    projected: bool  # embeddings narrower than the layers
    segments: bool
    padding_id: int
    sentence_head: bool = False
    relative: Relative | None = None  # of a DeBERTa body


def to_hugging_face(rows: list[Row], ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Values for every key of `theirs` (a fresh model's state dict, for its shapes) out of `ours`.

    Raises NamesError when a key of either side has no row, or a shape differs.
    """
    _check_keys(rows, ours, theirs)
    converted: dict[str, Tensor] = {}
    for row in rows:
        place = row.share(theirs[row.theirs])
        value = torch.zeros_like(place) if row.ours is None else ours[row.ours][row.skipped :]
        _same_shape(row, value, place)
        if place.shape == theirs[row.theirs].shape:
            converted[row.theirs] = value.contiguous()
        else:
            whole = converted.setdefault(row.theirs, torch.empty_like(theirs[row.theirs], dtype=value.dtype))
            row.share(whole).copy_(value)
    return converted


def from_hugging_face(rows: list[Row], theirs: dict[str, Tensor], ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Values for every key of `ours` (a fresh model's state dict, for its shapes) out of `theirs`.

    Raises NamesError when a key of either side has no row, or a shape differs. It also raises it when two names
    of one parameter of ours differ, or one that ours lacks is not zero.
    """
    _check_keys(rows, ours, theirs)
    converted: dict[str, Tensor] = {}
    for row in rows:
        value = row.share(theirs[row.theirs])
        if row.ours is None:
            if value.any():
                raise NamesError(f"{row.theirs} is not zero, and this model has no parameter for it")
            continue
        value = torch.cat([value.new_zeros(row.skipped, *value.shape[1:]), value]) if row.skipped else value
        _same_shape(row, ours[row.ours], value)
        if not torch.equal(converted.setdefault(row.ours, value), value):
            raise NamesError(f"{row.theirs} differs from what it is tied to in this model, {row.ours}")
    return converted


def _same_shape(row: Row, ours: Tensor, theirs: Tensor) -> None:
    if ours.shape != theirs.shape:
        raise NamesError(f"{row.ours} has shape {tuple(ours.shape)}, {row.theirs} {tuple(theirs.shape)}")


def _check_keys(rows: list[Row], ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    """Raise NamesError where a key of either side has no row, or a row no key."""
    for side, keys, named in (
        ("ours", set(ours), {row.ours for row in rows if row.ours}),
        ("Hugging Face's", set(theirs), {row.theirs for row in rows}),
    ):
        for complaint, left in (("no row for", keys - named), ("a row for the missing", named - keys)):
            if left:
                shown = f"{', '.join(sorted(left)[:3])}{' and more' if len(left) > 3 else ''} ({len(left)} keys)"
                raise NamesError(f"{side} names: {complaint} {shown}")
