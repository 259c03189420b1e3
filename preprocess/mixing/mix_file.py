"""What a mix of corpora is: the file mix.json, the weights, the copies of documents in an epoch and their order.

    {"corpora": [{"name": "core", "weight": 10.0, "split": "train"},
                 {"name": "satellite", "weight": 1.0, "split": "train1"}]}

lies in a data-bin beside train.{bin,idx}, train1.{bin,idx} and so on: a split for each corpus, numbered as fairseq
numbers the parts of a split. A weight says how often each document is used in an epoch: 10 ten times, 2.5 twice and a
random half of them a third time, 0.5 a random half. No copies are written: training draws them anew for every epoch.
Shapes: D documents of a corpus, N copies of documents in an epoch.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alibert_common.errors import InputError
from alibert_common.files import write_json
from alibert_common.json_value import parse_json
from preprocess.documents.names import SOURCE_NAME

MIX_FILE = "mix.json"
TRAIN = "train"  # the only split that is mixed
MOST = 1_000_000  # weight: more would only be a mistake
COPIES, ORDER = 2, 3  # set these random numbers apart from others of (seed, epoch); pairs of segments have 1


def split_name(number: int) -> str:
    """The split of corpus `number`, from 0: train, train1, train2."""
    return f"{TRAIN}{number or ''}"


def write_mix(directory: Path, weights: Mapping[str, float]) -> None:
    """Write mix.json: {name: weight} in the order of the splits. Raises InputError as read_mix does."""
    named = enumerate(weights.items())
    corpora = [{"name": name, "weight": weight, "split": split_name(number)} for number, (name, weight) in named]
    path = Path(directory, MIX_FILE)
    _checked({"corpora": corpora}, path)
    write_json(path, {"corpora": corpora})


def read_mix(directory: Path, weights: str = "") -> dict[str, float] | None:
    """{name: weight} of a data-bin's corpora, in the order of their splits; None where it has no mix.json.

    weights: `name=weight,name=weight` for all corpora, to take instead of those of the file. Raises InputError.
    """
    path = Path(directory, MIX_FILE)
    given = parse_weights(weights) if weights else {}
    if not path.is_file():
        if given:
            raise InputError(f"{path}: no such file, so there are no corpora to weigh; leave out --mix-weights.")
        return None
    try:
        found = _checked(parse_json(path.read_text(encoding="utf-8")), path)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: not corpora with name, weight and split; make the data-bin again.") from None
    for name in sorted(given.keys() ^ found.keys()) if given else []:
        fault = f"--mix-weights names {name}, which it has not" if name in given else f"--mix-weights leaves out {name}"
        raise InputError(f"{path}: {fault}; give a weight for each of {', '.join(found)}.")
    return {name: given.get(name, weight) for name, weight in found.items()}


def _checked(content: dict, path: Path) -> dict[str, float]:
    corpora = {corpus["name"]: corpus["weight"] for corpus in content["corpora"]}
    splits = [corpus["split"] for corpus in content["corpora"]]
    if not splits or splits != [split_name(number) for number in range(len(corpora))]:
        raise InputError(f"{path}: its splits must be train, train1 and so on, one a corpus, each with its own name.")
    for name, weight in corpora.items():
        if not SOURCE_NAME.fullmatch(name) or not 0 < weight < math.inf:
            raise InputError(f"{path}: {name!r} must be a name without space, comma and '=', its weight more than 0.")
    return corpora


def parse_weights(text: str) -> dict[str, float]:
    """{"core": 10.0, "satellite": 1.0} of `core=10,satellite=1`; raises InputError for anything else."""
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        weights = {name: float(weight) for name, _, weight in pairs}
    except ValueError:
        weights = {}
    if len(weights) < len(pairs) or not all(name and 0 < weight <= MOST for name, weight in weights.items()):
        raise InputError(
            f"'{text}': write name=weight,name=weight, each name once, with weights above 0, and at most {MOST:,}."
        )
    return weights


def temperature_weights(sizes: Sequence[float], alpha: float, sides: Sequence | None = None) -> list[float]:
    """Weights with which corpus i has a share proportional to size_i ** alpha: (largest / size_i) ** (1 - alpha).

    sizes: in tokens or in bytes. alpha: 1 leaves the shares as they are, 0 makes them equal; multilingual BERT has 0.7
    (google-research/bert `multilingual.md`), XLM-R 0.3 (Conneau et al. 2020, section 3.1). The largest is used once, so
    no text is left out. sides: which corpora stand together, as the satellites do: the size of the side counts, and the
    shares within it stay as they are. By default each corpus is a side of its own.
    """
    if not 0 <= alpha <= 1 or min(sizes) <= 0:
        raise InputError(f"alpha {alpha:g} must lie between 0 and 1, and every corpus must hold text.")
    sides = range(len(sizes)) if sides is None else sides
    totals = [sum(size for size, side in zip(sizes, sides, strict=True) if side == own) for own in sides]
    return [(max(totals) / total) ** (1 - alpha) for total in totals]


def equal_weights(sizes: Sequence[float], sides: Sequence | None = None) -> list[float]:
    """ouBioBERT's simultaneous pre-training (Wada et al. 2020, section 2.2): every side as large as the largest."""
    return temperature_weights(sizes, 0.0, sides)


def copies(documents: int, weight: float, seed: int, epoch: int, corpus: int) -> np.ndarray:
    """(D,) int32: how often each document of corpus number `corpus` is used in the epoch.

    Each floor(weight) times, and round(D x the rest) of them, drawn anew every epoch, once more.
    """
    counts = np.full(documents, math.floor(weight), dtype=np.int32)
    counts[: math.floor(weight % 1 * documents + 0.5)] += 1
    np.random.default_rng((seed, epoch, corpus, COPIES)).shuffle(counts)
    return counts


def order_of_use(counts: Sequence[np.ndarray], seed: int, epoch: int) -> np.ndarray:
    """(N,) documents in the order of their use, all orders alike probable; they are numbered through all corpora.

    counts: for each corpus the copies of its documents.
    """
    together = np.concatenate(counts)
    numbers = np.arange(len(together), dtype=np.min_scalar_type(len(together)))
    order = np.repeat(numbers, together)
    np.random.default_rng((seed, epoch, 0, ORDER)).shuffle(order)
    return order


class Use(NamedTuple):
    """What an epoch has of a corpus: `size` counts its tokens (or bytes) once, `used` as often as they are used."""

    name: str
    documents: int
    weight: float
    size: int
    used: float  # size x weight where nothing is drawn yet


def describe(uses: Sequence[Use], unit: str = "tokens") -> list[str]:
    """One line a corpus; `amplified` says how many times as often as the corpus with the smallest weight it is used."""
    size, used, least = sum(use.size for use in uses), sum(use.used for use in uses), min(use.weight for use in uses)
    return [
        f"{use.name}: {use.documents:,} documents, weight {use.weight:g}, {round(use.used):,} {unit} an epoch, "
        f"{use.used / used:.1%} of the mix ({use.size / size:.1%} unmixed), amplified {use.weight / least:.3g} times"
        for use in uses
    ]
