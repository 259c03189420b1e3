"""What a batch looks like at a point of the training: how much of it is masked, and how long its sequences are.

These are functions of a batch and of the progress of the run alone. The masks that are left are drawn with the sample
(`masked_dataset.py`), so a run on any number of processes, or resumed, sees the same batches.
"""

from dataclasses import dataclass

from alibert_common.errors import InputError


@dataclass(frozen=True)
class Curriculum:
    """Masking rate from `first` to `last`, linear; `lengths`: (share of the run, longest sequence) until that share."""

    first: float
    last: float
    lengths: tuple[tuple[float, int], ...] = ()

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

    def apply(self, batch: dict, progress: float, pad: int) -> dict:
        """The batch as it is at a progress."""
        if self.thins:
            batch = thinned(batch, self.masked_share(progress), pad)
        length = self.length(progress)
        return shortened(batch, length) if length else batch


def parse_lengths(text: str, longest: int) -> tuple[tuple[float, int], ...]:
    """Read 0.5:32,0.85:64. Raises InputError for shares that do not rise and lengths that do not divide the longest."""
    try:
        lengths = tuple((float(share), int(length)) for share, length in (p.split(":") for p in text.split(",") if p))
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
    if "masked" in inputs:
        inputs["masked"] = inputs["masked"] & ~back
    return batch | {"net_input": inputs, "target": target.masked_fill(back, pad)}


def shortened(batch: dict, length: int) -> dict:
    """Rows of `length` tokens from longer ones. A batch with padding, such as the end of a text, stays as it is."""
    inputs, shape = batch["net_input"], batch["target"].shape
    if inputs["has_padding"] or shape[1] <= length or shape[1] % length:
        return batch
    cut = {name: v.reshape(-1, length) if getattr(v, "shape", ()) == shape else v for name, v in inputs.items()}
    target = batch["target"].reshape(-1, length)
    return batch | {"net_input": cut, "target": target, "nsentences": len(target)}
