"""What a fine-tuning run is told, in two small yaml files: a recipe (task and data) and a protocol (how to train)."""

import itertools
import math
import re
import types
import typing
from collections import Counter
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path, PurePath
from typing import ClassVar

import yaml

from downstream.files import InputError, read_text
from downstream.readers import check_settings
from downstream.split_lists import refuse_overlap

PROTOCOLS = Path(__file__).parent / "protocols"  # ours; a recipe's own are in protocols/ beside it
FOLD = "{fold}"  # stands in the paths of splits for the number of the fold
NAME = re.compile(r"[\w-][\w.-]*")  # of a task: a folder, wherever it is made
SHORTEST = 8  # tokens of a sequence that holds anything beside its special tokens
OTHER = "other"  # stands in a protocol for the tasks that it does not name
UNSEARCHED = ("source", "seeds", "grid", "max_tokens", "training_tokens", "dev_items")  # what is no way of training
DRAWN_BY = {  # the splits that a recipe names, and the keys that draw the missing ones: one of these sets
    frozenset(("train", "dev", "test")): ((),),
    frozenset(("train", "test")): (("dev_share",),),
    frozenset(("all",)): (("dev_share", "test_share"), ("folds",)),
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A task: where its data are and how they are read. Each family has a recipe of its own, with more keys."""

    task: str  # names the output folder and the tables
    kind: str = "ner"  # the family
    format: str  # one of the family's readers
    splits: dict[str, str]  # train, dev and test: a file or folder each, below `data`; or all, to be divided
    source: str = ""  # where users get the data
    folder: str = ""  # what the data set's folder is called, for downstream.evaluate
    data: str | None = None  # a folder, relative to the recipe's; left out where users bring their own by --data
    reader: dict = field(default_factory=dict)  # what the format needs to know: which column of a table holds what
    also_train: dict[str, str] = field(default_factory=dict)  # more for training: a path below `data`, and its format
    dev_share: float | None = None  # of train's documents, or of all, where the data have no dev
    test_share: float | None = None  # of all documents
    folds: int | None = None  # cross-validation: of `all`, or of official folds whose paths hold {fold}
    first_fold: int = 1  # its number in the paths of official folds
    split_seed: int = 1  # of documents drawn for shares and folds; another one is another data set
    figure: str = ""  # that chooses epochs, seeds and settings; left out: the family's first
    max_tokens: int = 256  # longest sequence with specials (the model's own limit if lower): few sentences are longer,
    # and attention costs the square

    readers: ClassVar[dict[str, Callable]] = {}  # by format
    choices: ClassVar[dict[str, tuple[str, ...]]] = {}  # the values that a key may have

    def settings(self, format: str) -> dict:
        """Of a reader: the recipe's are for its own format."""
        return self.reader if format == self.format else {}

    def as_dict(self) -> dict:
        """Its values by key; `Recipe(**values)` is the way back."""
        return asdict(self)

    def check(self, file: Path) -> None:
        """Raises InputError for a value out of range."""
        formats = [self.format, *self.also_train.values()]
        chosen = [("format", value, tuple(self.readers)) for value in formats]
        chosen += [(key, getattr(self, key), allowed) for key, allowed in self.choices.items()]
        for key, value, allowed in chosen:
            if value not in allowed:
                raise InputError(f"{file}: {key} is {value!r}; choose one of {', '.join(allowed)}.")
        for name in formats:
            check_settings(self.readers[name], self.settings(name), f"{file}: reader")
        if self.max_tokens < SHORTEST:
            raise InputError(f"{file}: max_tokens is {self.max_tokens}; a sequence needs at least {SHORTEST}.")
        self._check_names(file)
        self._check_splits(file)

    def _check_names(self, file: Path) -> None:
        """That no folder is made, or looked for, in another place than the command says."""
        if not NAME.fullmatch(self.task):
            raise InputError(
                f"{file}: task is {self.task!r}; letters, digits, _, - and . name it, and no . comes first."
            )
        folder = PurePath(self.folder)
        if folder.is_absolute() or ".." in folder.parts:
            raise InputError(
                f"{file}: folder is {self.folder!r}; a path below --data is needed, without dots for parents."
            )

    @property
    def draws(self) -> bool:
        """Whether some split is not an official one, but drawn from ids and split_seed."""
        return "all" in self.splits or self.dev_share is not None

    def _check_splits(self, file: Path) -> None:
        shares = [share for share in (self.dev_share, self.test_share) if share is not None]
        if not all(0 < share < 1 for share in shares) or sum(shares) >= 1:
            raise InputError(f"{file}: dev_share and test_share lie between 0 and 1 and leave something to train.")
        if self.also_train and "train" not in self.splits:
            raise InputError(f"{file}: also_train goes with splits that have a train.")
        if self.folds is not None and self.folds < 3:
            raise InputError(f"{file}: folds is {self.folds}; three are the fewest that give train, dev and test.")
        self._check_combination(file)
        also = {f"also_train's {path}": path for path in self.also_train}
        refuse_overlap(self.splits | also, f"{file}: splits")

    def _check_combination(self, file: Path) -> None:
        """That the splits which the recipe does not name can be drawn, and in one way only."""
        if frozenset(self.splits) not in DRAWN_BY:
            raise InputError(
                f"{file}: splits names {', '.join(self.splits)}; name train, dev and test, or train and test, or all."
            )
        with_folds = any(FOLD in path for path in self.splits.values())
        if with_folds and ("all" in self.splits or self.folds is None):
            raise InputError(
                f"{file}: {FOLD} is the number of a fold in paths of train, dev or test; say how many with folds, "
                "or name the paths without it."
            )
        keys = ("dev_share", "test_share") + ("folds",) * (not with_folds)
        given, allowed = tuple(key for key in keys if getattr(self, key) is not None), DRAWN_BY[frozenset(self.splits)]
        if given not in allowed:
            raise InputError(
                f"{file}: with splits {', '.join(self.splits)} goes {' or '.join(map(_listed, allowed))}, but it has "
                f"{_listed(given)}; folds that are official have {FOLD} in their paths."
            )


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
    keep: str = "best"  # the epoch with the best chief figure on dev; last: the last one
    layer_decay: float = 1.0  # of the learning rate, a layer downwards; ELECTRA's fine-tuning has 0.8
    updates: int | None = None  # in place of `epochs`, for protocols that count so
    warmup_updates: int | None = None  # in place of `warmup`
    seeds: int = 3  # trainings of which the mean is told; 3 are the fewest that show a deviation worth the name
    grid: dict[str, list] = field(default_factory=dict)  # what downstream.search chooses on dev: key -> values
    max_tokens: int | None = None  # longest sequence, in place of the recipe's, where a paper fixes it
    training_tokens: int | None = None  # end after about so many, special tokens included, for quick looks
    dev_items: int | None = None  # choose the epoch on so many of dev, for quick looks; scores are always of all

    @property
    def points(self) -> list[dict]:
        """The settings at every point of the grid, the last key changing first; one without any if there is none."""
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]

    def settled(self, settings: dict) -> "Protocol":
        """With one point's settings, nothing left to choose."""
        return replace(self, grid={}, **settings)

    def check(self, file: Path) -> None:
        """Raises InputError for a value out of range."""
        if (self.epochs is None) == (self.updates is None):
            raise InputError(f"{file}: give either epochs or updates (null leaves one out).")
        counts = ("batch", "epochs", "patience", "updates", "warmup_updates", "seeds", "training_tokens", "dev_items")
        for key in counts:
            if getattr(self, key) is not None and getattr(self, key) < 1:
                raise InputError(f"{file}: {key} is {getattr(self, key)}; it starts at 1.")
        if self.weight_decay < 0:
            raise InputError(f"{file}: weight_decay is {self.weight_decay}; it is at least 0, and 0 is none.")
        for key in ("learning_rate", "head_learning_rate", "clip"):
            if getattr(self, key) is not None and getattr(self, key) <= 0:
                raise InputError(f"{file}: {key} is {getattr(self, key)}; it is above 0.")
        if not 0 <= self.warmup <= 1:
            raise InputError(f"{file}: warmup is {self.warmup}; it is a share of the updates, 0 to 1.")
        if not 0 <= (self.dropout or 0) < 1:
            raise InputError(f"{file}: dropout is {self.dropout}; it is a share, at least 0 and below 1.")
        if not 0 < self.layer_decay <= 1:
            raise InputError(f"{file}: layer_decay is {self.layer_decay}; it is above 0, and 1 is none.")
        if self.keep not in ("best", "last"):
            raise InputError(f"{file}: keep is {self.keep!r}; choose best or last.")
        if self.max_tokens is not None and self.max_tokens < SHORTEST:
            raise InputError(f"{file}: max_tokens is {self.max_tokens}; a sequence needs at least {SHORTEST}.")


def refuse_twice(names: list[str], place: str) -> None:
    """Raise InputError for a name that stands in a list twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{place}: {twice[0]!r} stands there twice; keep one of them.")


def _listed(keys: tuple[str, ...]) -> str:
    return " and ".join(keys) or "none of dev_share, test_share, folds"


def load_recipe(file: Path, kinds: dict[str, type[Recipe]]) -> Recipe:
    """Read and check a task's recipe, of the class that `kinds` has for its kind. Raises InputError for an unknown or
    missing key and for a value out of range."""
    values = _mapping(file)
    kind = values.get("kind", Recipe.kind)
    if not isinstance(kind, str) or kind not in kinds:
        raise InputError(f"{file}: kind is {kind!r}; choose one of {', '.join(kinds)}.")
    recipe = _build(kinds[kind], values, file)
    recipe.check(file)
    return recipe


def load_protocol(
    recipe_file: Path,
    name: str,
    changes: list[str],
    names: tuple[str, ...] = (),
    grid: dict[str, list] | None = None,
) -> Protocol:
    """Read NAME.yaml, from protocols/ beside the recipe or from ours.

    changes: of the form KEY=VALUE; what is set so is no more chosen. names: of the task and of its family, for values
    that differ between tasks. grid: in place of the file's, key by key. A key of the grid stands at its first value.
    Raises InputError for a bad file, change or point of the grid.
    """
    file = _protocol_file(recipe_file, name)
    set_by_hand = dict(_change(change) for change in changes)
    values = _mapping(file) | set_by_hand
    lists = _lists(values.pop("grid", {}), file) | (grid or {})
    lists = {key: options for key, options in lists.items() if key not in set_by_hand}
    lists = {key: _options(key, _for_task(value, names, f"{file}: grid: {key}"), file) for key, value in lists.items()}
    values = {key: _for_task(value, names, f"{file}: {key}") for key, value in values.items() if key not in lists}
    values |= {key: options[0] for key, options in lists.items()}
    protocol = replace(_build(Protocol, values, file), grid=lists)
    for point in protocol.points:
        protocol.settled(point).check(file)
    return protocol


def by_task(recipe_file: Path, name: str, changes: list[str]) -> dict:
    """What a protocol's file has different values of for different tasks, as it has them: {"epochs": {"ner": 15, ...}},
    those of its grid under "grid". Without it, one protocol on two tasks looks like two. Raises InputError as
    load_protocol does for the file."""
    values = _mapping(_protocol_file(recipe_file, name)) | dict(_change(change) for change in changes)
    grid = {key: options for key, options in values.pop("grid", {}).items() if isinstance(options, dict)}
    found = {key: value for key, value in values.items() if isinstance(value, dict)}
    return found | ({"grid": grid} if grid else {})


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


def yaml_value(text: str, place: str) -> object:
    """The value of a setting, given on the command line. Raises InputError for one that no yaml file could have."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(f"{place}: {text!r} is no yaml value; write it as in the protocol's file.") from None


def _lists(grid: object, file: Path) -> dict:
    if not isinstance(grid, dict):
        raise InputError(f"{file}: grid is {grid!r}; write a list of values under each key.")
    return grid


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


def _options(key: str, options: object, file: Path) -> list:
    """The values of a key of the grid, as the key's type; each once."""
    kinds = {one.name: one.type for one in fields(Protocol) if one.name not in UNSEARCHED}
    if key not in kinds:
        raise InputError(f"{file}: grid: {key!r} cannot be searched; what can is {', '.join(kinds)}.")
    if not isinstance(options, list) or not options:
        raise InputError(f"{file}: grid: {key} is {options!r}; a list of values is needed.")
    return list(dict.fromkeys(_value(option, kinds[key], f"{file}: grid: {key}") for option in options))


def _mapping(file: Path) -> dict:
    try:
        values = yaml.safe_load(read_text(file))
    except yaml.YAMLError as error:
        raise InputError(f"{file}: not yaml ({' '.join(str(error).split())}).") from None
    if not isinstance(values, dict):
        raise InputError(f"{file}: a list of `key: value` lines is needed here.")
    return values


def _build(cls: type, values: dict, file: Path):
    known = {one.name: one for one in fields(cls)}
    for key in values:
        if key not in known:
            raise InputError(f"{file}: unknown key {key!r}; the known ones are {', '.join(known)}.")
    for name, one in known.items():
        if name not in values and one.default is MISSING and one.default_factory is MISSING:
            raise InputError(f"{file}: the key {name!r} is missing.")
    return cls(**{key: _value(values[key], known[key].type, f"{file}: {key}") for key in values})


def _value(value: object, kind: type, place: str) -> object:
    """The value as its field's type; yaml reads 2e-5 as text and 1 as a whole number where a float is meant."""
    wanted = typing.get_args(kind) if isinstance(kind, types.UnionType) else (typing.get_origin(kind) or kind,)
    if float in wanted and isinstance(value, (int, str)) and not isinstance(value, bool):
        try:
            value = float(value)
        except ValueError:
            pass
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{place} is {value}; a finite number is needed.")
    if not isinstance(value, wanted) or isinstance(value, bool) and bool not in wanted:
        names = ["null" if one is types.NoneType else one.__name__ for one in wanted]
        raise InputError(f"{place} is {value!r}; {' or '.join(names)} is needed.")
    if not typing.get_args(kind):  # whoever uses a plain dictionary checks what it holds
        return value
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    if not all(isinstance(one, str) for one in inner):
        raise InputError(f"{place} holds something other than words; put quotes around each of them.")
    return value
