"""What a fine-tuning run is told, in two small yaml files: a recipe (task and data) and a protocol (how to train)."""

import types
import typing
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path

import yaml

from downstream.documents import Labels
from downstream.files import InputError, read_text
from downstream.readers import READERS
from downstream.spans import Policy

SPLITS = ("train", "dev", "test")
PROTOCOLS = Path(__file__).parent / "protocols"  # ours; a recipe's own are in protocols/ beside it


@dataclass(frozen=True)
class Recipe:
    """A task: where its documents are, which entities it keeps, how they become flat sequences."""

    task: str  # names the output folder and the tables
    format: str  # brat, iob or jsonl
    splits: dict[str, str]  # train, dev and test: a file or folder each, below `data`
    types: list[str]  # the entity types, in the order of the tables
    source: str = ""  # where users get the data
    data: str | None = None  # a folder, relative to the recipe's; left out where users bring their own by --data
    rename: dict[str, str] = field(default_factory=dict)  # type in the files -> type of the task
    ignore: list[str] = field(default_factory=list)  # types that are dropped, and counted
    nested: str = "outermost"  # of entities that overlap keep the longest; innermost: the shortest
    discontinuous: str = "split"  # each fragment an entity; hull: first to last character; drop
    partial_words: str = "expand"  # an entity that begins or ends inside a word takes the whole word; drop
    sequence: str = "line"  # a sequence a line, where a line is a sentence; window: as many lines as fit
    max_tokens: int = 256  # longest sequence with specials (the model's own limit if lower): few sentences are longer,
    # and attention costs the square

    def labels(self) -> Labels:
        return Labels(tuple(self.types), self.rename, tuple(self.ignore))

    def policy(self) -> Policy:
        return Policy(self.nested, self.discontinuous, self.partial_words)


CHOICES = {
    "format": tuple(READERS),
    "nested": ("outermost", "innermost"),
    "discontinuous": ("split", "hull", "drop"),
    "partial_words": ("expand", "drop"),
    "sequence": ("line", "window"),
}


@dataclass(frozen=True)
class Protocol:
    """How to train. AdamW without weight decay on biases and LayerNorm, linear warm-up, then linear decay to zero."""

    batch: int  # sequences an update
    learning_rate: float
    epochs: int  # at most; the one with the best micro F1 on dev is kept
    source: str  # who chose these numbers, or how they were chosen
    head_learning_rate: float | None = None  # of the new layer, which begins as noise; left out: the encoder's
    weight_decay: float = 0.01  # BERT's, and AliBERT's
    warmup: float = 0.1  # share of all updates, as BERT's and ELECTRA's fine-tuning
    clip: float = 1.0  # largest gradient norm, as BERT's and ELECTRA's fine-tuning
    dropout: float | None = None  # in encoder and head; left out: what the model's configuration says
    patience: int | None = None  # stop after so many epochs without a better dev score; left out: never


def load_recipe(file: Path) -> Recipe:
    """Read and check a task's recipe. Raises InputError for an unknown or missing key and for a value out of range."""
    recipe = _build(Recipe, _mapping(file), file)
    for key, allowed in CHOICES.items():
        if getattr(recipe, key) not in allowed:
            raise InputError(f"{file}: {key} is {getattr(recipe, key)!r}; choose one of {', '.join(allowed)}.")
    if recipe.max_tokens < 8:
        raise InputError(f"{file}: max_tokens is {recipe.max_tokens}; a sequence needs at least 8.")
    if sorted(recipe.splits) != sorted(SPLITS):
        raise InputError(f"{file}: splits needs the keys {', '.join(SPLITS)}; found {', '.join(recipe.splits)}.")
    for name in recipe.types:
        if not name or name.split() != [name] or name.strip("-") != name:
            raise InputError(f"{file}: type {name!r} has a space or an outer hyphen, lost in IOB2 labels; rename it.")
    strangers = set(recipe.rename.values()) - set(recipe.types) - set(recipe.ignore)
    if strangers:
        raise InputError(f"{file}: rename leads to {', '.join(sorted(strangers))}, which is no type of the recipe.")
    return recipe


def load_protocol(recipe_file: Path, name: str, changes: list[str]) -> Protocol:
    """Read NAME.yaml, from protocols/ beside the recipe or from ours, then apply `changes` of the form KEY=VALUE."""
    folders = recipe_file.parent / "protocols", PROTOCOLS
    files = {file.stem: file for folder in reversed(folders) for file in folder.glob("*.yaml")}
    if name not in files:
        raise InputError(f"{folders[0] / name}.yaml: no such protocol; there are: {', '.join(sorted(files))}.")
    file = files[name]
    values = _mapping(file)
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise InputError(f"--set {change}: write KEY=VALUE, for example --set epochs=3.")
        try:
            values[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise InputError(
                f"--set {change}: {value!r} is no yaml value; write it as in the protocol's file."
            ) from None
    protocol = _build(Protocol, values, file)
    if protocol.batch < 1 or protocol.epochs < 1 or not 0 <= protocol.warmup <= 1 or (protocol.patience or 1) < 1:
        raise InputError(f"{file}: batch, epochs, patience start at 1, warmup is a share (0 to 1); got {protocol}.")
    if any(rate is not None and rate <= 0 for rate in (protocol.learning_rate, protocol.head_learning_rate)):
        raise InputError(f"{file}: learning rates are above 0; got {protocol}.")
    if not 0 <= (protocol.dropout or 0) < 1:
        raise InputError(f"{file}: dropout is a share, at least 0 and below 1; got {protocol.dropout}.")
    return protocol


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
            return float(value)
        except ValueError:
            pass
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise InputError(f"{place} is {value!r}; {' or '.join(one.__name__ for one in wanted)} is needed.")
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    if not all(isinstance(one, str) for one in inner):
        raise InputError(f"{place} holds something other than words; put quotes around each of them.")
    return value
