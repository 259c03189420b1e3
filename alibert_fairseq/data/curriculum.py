"""What a batch looks like at a point of the training: how much is masked, how long sequences are, what is predicted.

These are functions of a batch and of the progress of the run alone. The masks that are left are drawn with the sample
(`masked_dataset.py`), so a run on any number of processes, or resumed, sees the same batches.
"""

from dataclasses import dataclass

import torch

from alibert_common.errors import InputError


@dataclass(frozen=True)
class Curriculum:
    """Masking rate from `first` to `last`, linear; `lengths`: (share of the run, longest sequence) until that share;
    `causal`: share of the updates that predict the next token (GPT-BERT, Charpentier and Samuel 2024). `causal_until`:
    share of the run in which all do, from its beginning (Touchent and de la Clergerie 2026, arXiv 2605.12438)."""

    first: float
    last: float
    lengths: tuple[tuple[float, int], ...] = ()
    causal: float = 0.0
    causal_until: float = 0.0

    @property
    def thins(self) -> bool:
        """Whether the masking rate changes."""
        return self.first != self.last

    def masked_share(self, progress: float) -> float:
        """Share of the drawn masks that stay, at a progress in [0, 1]."""
        return 1 + min(1.0, progress) * (self.last / self.first - 1)

    def length(self, progress: float) -> int | None:
        """Longest sequence at a progress, or None for all of it."""
        return next((length for share, length in self.lengths if progress < share), None)

    def is_causal(self, update: int, progress: float) -> bool:
        """Whether an update predicts the next token: all at the beginning, or those of a share, evenly spread."""
        return progress < self.causal_until or int((update + 1) * self.causal) > int(update * self.causal)

    def apply(self, batch: dict, progress: float, update: int, pad: int, begin: int) -> dict:
        """The batch as it is at a progress and in an update. begin: the id of <s>."""
        if self.thins:
            batch = thinned(batch, self.masked_share(progress), pad)
        length = self.length(progress)
        batch = shortened(batch, length) if length else batch
        return causal(batch, pad, begin) if self.is_causal(update, progress) else batch


def parse_lengths(text: str, longest: int) -> tuple[tuple[float, int], ...]:
    """Read 0.5:32,0.85:64. Raises InputError for shares that do not rise and lengths that do not divide the longest."""
    try:
        lengths = tuple((float(share), int(length)) for share, length in (p.split(":") for p in text.split(",") if p))
        if text and not lengths:
            raise ValueError
    except ValueError:
        raise InputError(f"--length-schedule {text}: give SHARE:LENGTH,SHARE:LENGTH, as 0.5:32,0.85:64.") from None
    shares = [share for share, _ in lengths]
    if shares != sorted(set(shares)) or not all(0 < share <= 1 for share in shares):
        raise InputError(f"--length-schedule {text}: the shares must rise and lie in (0, 1].")
    if any(length < 1 or longest % length for _, length in lengths):
        raise InputError(f"--length-schedule {text}: each length must divide --tokens-per-sample {longest}.")
    return lengths


def thinned(batch: dict, share: float, pad: int) -> dict:
    """The batch with this share of its masks; what is no longer masked has its own token again.

    batch["thinning"]: (B, T) in [0, 1), the order in which units are kept.
    """
    inputs, target = batch["net_input"], batch["target"]
    back = target.ne(pad) & (batch["thinning"] >= share)
    inputs = inputs | {"src_tokens": target.where(back, inputs["src_tokens"])}
    return batch | {"net_input": inputs, "target": target.masked_fill(back, pad)}


def shortened(batch: dict, length: int) -> dict:
    """Rows of `length` tokens from longer ones. A batch with padding, such as the end of a text, stays as it is."""
    inputs, shape = batch["net_input"], batch["target"].shape
    if inputs["has_padding"] or shape[1] <= length or shape[1] % length:
        return batch
    cut = {name: v.reshape(-1, length) if getattr(v, "shape", ()) == shape else v for name, v in inputs.items()}
    target = batch["target"].reshape(-1, length)
    return batch | {"net_input": cut, "target": target, "nsentences": len(target)}


def causal(batch: dict, pad: int, begin: int) -> dict:
    """The batch without masks, where each token sees those before it and predicts the next one of its sequence.

    <s>, padding, and tokens that may not be learned are not predicted.
    """
    inputs, target = batch["net_input"], batch["target"]
    tokens = target.where(target.ne(pad), inputs["src_tokens"])
    following = torch.full_like(tokens, pad)
    following[:, :-1] = tokens[:, 1:].masked_fill((tokens[:, 1:] == begin) | (tokens[:, :-1] == pad), pad)
    if "sequences" in inputs:
        numbers = inputs["sequences"]
        following[:, :-1].masked_fill_(numbers[:, 1:] != numbers[:, :-1], pad)
    if "predictable" in inputs:
        following[:, :-1].masked_fill_(~inputs["predictable"][:, 1:], pad)
    return batch | {"net_input": inputs | {"src_tokens": tokens, "causal": True}, "target": following}
