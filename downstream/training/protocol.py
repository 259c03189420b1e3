"""How a fine-tuning run trains: a protocol, one small yaml file."""

import itertools
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from alibert_common.errors import InputError
from alibert_common.yaml_config import built, read_yaml, value_as, yaml_value
from downstream.data.recipe import SHORTEST

PROTOCOLS = Path(__file__).parents[1] / "protocols"  # ours; a recipe's own are in protocols/ beside it
OTHER = "other"  # stands in a protocol for the tasks that it does not name
# Of keys of a protocol: whether a value is out of range, and the range.
RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    (
        "batch epochs patience patience_updates updates warmup_updates seeds training_tokens dev_items",
        lambda n: n < 1,
        "it starts at 1",
    ),
    ("weight_decay", lambda decay: decay < 0, "it is at least 0, and 0 is none"),
    ("learning_rate head_learning_rate clip", lambda value: value <= 0, "it is above 0"),
    ("warmup", lambda share: not 0 <= share <= 1, "it is a share of the updates, 0 to 1"),
    ("dropout replaced_words", lambda share: not 0 <= share < 1, "it is a share, at least 0 and below 1"),
    ("layer_decay", lambda factor: not 0 < factor <= 1, "it is above 0, and 1 is none"),
    ("max_tokens", lambda tokens: tokens < SHORTEST, f"a sequence needs at least {SHORTEST}"),
)
UNSEARCHED = ("source", "seeds", "grid", "max_tokens", "training_tokens", "dev_items")  # what is no way of training


@dataclass(frozen=True)
class Protocol:
    """How to train. AdamW without weight decay on biases and LayerNorm, linear warm-up, then linear decay to zero.

    In the file, a value that differs between tasks is a mapping from names of tasks, of families, or `other`.
    """

    batch: int  # sequences an update
    learning_rate: float
    source: str  # who chose these numbers, or how they were chosen
    epochs: int | None = None  # at most; this or `updates` is needed
    head_learning_rate: float | None = None  # of the new layer, which begins as noise; left out: the encoder's
    weight_decay: float = 0.01  # BERT's, and AliBERT's
    warmup: float = 0.1  # share of all updates, as BERT's and ELECTRA's fine-tuning
    clip: float = 1.0  # largest gradient norm, as BERT's and ELECTRA's fine-tuning
    dropout: float | None = None  # in encoder and head; left out: what the model's configuration says
    patience: int | None = None  # stop after so many epochs without a better dev score; left out: never
    patience_updates: int | None = None  # the same in updates, which does not depend on the size of the training set
    keep: str = "best"  # the epoch with the best chief figure on dev; last: the last one
    replaced_words: float = 0.0  # share of rare words that become unknown ones in training; the tagger's only
    layer_decay: float = 1.0  # of the learning rate, a layer downwards; ELECTRA's fine-tuning has 0.8
    updates: int | None = None  # in place of `epochs`, for protocols that count so
    warmup_updates: int | None = None  # in place of `warmup`
    seeds: int = 3  # trainings of which the mean is told; 3 are the fewest that show a deviation worth the name
    grid: dict[str, list] = field(default_factory=dict)  # what downstream.search chooses on dev: key -> values
    max_tokens: int | None = None  # longest sequence, in place of the recipe's, where a paper fixes it
    training_tokens: int | None = None  # end after about so many, special tokens included, for quick looks
    dev_items: int | None = None  # choose the epoch on so many of dev, for quick looks; scores are always of all

    def recorded(self) -> dict:
        """As metrics.json and a journal have it: without what came later and is not used, so that older runs resume."""
        later = ("replaced_words", "patience_updates")
        return {key: value for key, value in asdict(self).items() if key not in later or value}

    @property
    def points(self) -> list[dict]:
        """The settings at every point of the grid, the last key changing first; one without any if there is none."""
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]

    def settled(self, settings: dict) -> "Protocol":
        """The protocol with the settings of one point, so that nothing is left to choose."""
        return replace(self, grid={}, **settings)

    def check(self, file: Path, places: dict[str, str]) -> None:
        """Raises InputError for a value out of range, which names the file, or the place where else the key is set."""

        def refuse(key: str, complaint: str) -> None:
            raise InputError(f"{places.get(key, file)}: {complaint}")

        if (self.epochs is None) == (self.updates is None):
            last = "updates" if "updates" in places else "epochs"
            refuse(last, "give either epochs or updates (null leaves one out).")
        if self.patience and self.patience_updates:
            refuse("patience_updates", "give either patience or patience_updates (null leaves one out).")
        for keys, is_wrong, rule in RULES:
            for key in keys.split():
                value = getattr(self, key)
                if value is not None and is_wrong(value):
                    refuse(key, f"{key} is {value}; {rule}.")
        if self.keep not in ("best", "last"):
            refuse("keep", f"keep is {self.keep!r}; choose best or last.")


def load_protocol(
    recipe_file: Path,
    name: str,
    changes: list[str],
    names: tuple[str, ...] = (),
    grid: dict[str, list] | None = None,
    grid_place: str = "--grid",
) -> Protocol:
    """Read NAME.yaml, from protocols/ beside the recipe or from ours.

    changes: of the form KEY=VALUE; what is set so is no more chosen. names: of the task and of its family, for values
    that differ between tasks. grid: in place of the file's, key by key; grid_place: where it is from. A key of the grid
    stands at its first value. Raises InputError for a bad file, change or point of the grid.
    """
    file = _protocol_file(recipe_file, name)
    set_by_hand = dict(_change(change) for change in changes)
    by_hand = {change.partition("=")[0]: f"--set {change}" for change in changes}
    values = read_yaml(file) | set_by_hand
    lists = values.pop("grid", {})
    if not isinstance(lists, dict):
        raise InputError(f"{by_hand.get('grid', file)}: grid is {lists!r}; write a list of values under each key.")
    lists = {key: options for key, options in (lists | (grid or {})).items() if key not in set_by_hand}
    places = dict.fromkeys(lists, f"{file}: grid") | dict.fromkeys(grid or {}, grid_place)
    lists = {
        key: _options(key, _for_task(value, names, f"{places[key]}: {key}"), places[key])
        for key, value in lists.items()
    }
    values = {
        key: _for_task(value, names, f"{by_hand.get(key, file)}: {key}")
        for key, value in values.items()
        if key not in lists
    }
    values |= {key: options[0] for key, options in lists.items()}
    protocol = replace(built(Protocol, values, file, by_hand), grid=lists)
    for point in protocol.points:
        protocol.settled(point).check(file, places | by_hand)
    return protocol


def by_task(recipe_file: Path, name: str, changes: list[str]) -> dict:
    """The values of a protocol's file that differ between tasks: {"epochs": {"ner": 15, ...}, "grid": {...}}.

    Without them, one protocol on two tasks looks like two. Raises InputError as load_protocol does for the file.
    """
    values = read_yaml(_protocol_file(recipe_file, name)) | dict(_change(change) for change in changes)
    grid = {key: options for key, options in values.pop("grid", {}).items() if isinstance(options, dict)}
    differing = {key: value for key, value in values.items() if isinstance(value, dict)}
    return differing | ({"grid": grid} if grid else {})


def _protocol_file(recipe_file: Path, name: str) -> Path:
    folders = recipe_file.parent / "protocols", PROTOCOLS
    files = {file.stem: file for folder in reversed(folders) for file in folder.glob("*.yaml")}
    if name not in files:
        raise InputError(f"{folders[0] / name}.yaml: no such protocol; there are: {', '.join(sorted(files))}.")
    return files[name]


def _change(change: str) -> tuple[str, object]:
    key, equals, value = change.partition("=")
    if not equals:
        raise InputError(f"--set {change}: write KEY=VALUE, for example --set epochs=3.")
    if "/" in change:
        raise InputError(f"--set {change}: the output folder has this in its name; leave out the slash.")
    return key, yaml_value(value, f"--set {change}")


def _for_task(value: object, names: tuple[str, ...], place: str) -> object:
    """The value itself, or of a mapping the one for the first of these names, or for the others."""
    if not isinstance(value, dict):
        return value
    for name in (*names, OTHER):
        if name in value:
            return value[name]
    raise InputError(
        f"{place} is given for {', '.join(map(str, value))}, not for {' or '.join(names)}; use another protocol, or a "
        "copy of this one in protocols/ beside the recipe, with a value for it."
    )


def _options(key: str, options: object, place: str) -> list:
    """The values of a key of the grid, as the key's type; each once."""
    kinds = {key.name: key.type for key in fields(Protocol) if key.name not in UNSEARCHED}
    if key not in kinds:
        raise InputError(f"{place}: {key!r} cannot be searched; what can is {', '.join(kinds)}.")
    if not isinstance(options, list) or not options:
        raise InputError(f"{place}: {key} is {options!r}; a list of values is needed.")
    return list(dict.fromkeys(value_as(option, kinds[key], f"{place}: {key}") for option in options))
