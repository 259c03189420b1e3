"""What a fine-tuning run learns: a task and its data, a recipe, one small yaml file."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import ClassVar

from alibert_common.errors import InputError
from alibert_common.yaml_config import built, read_yaml
from downstream.data.annotated_text import Labels
from downstream.data.readers import check_settings
from downstream.data.split_lists import refuse_overlap

FOLD = "{fold}"  # stands in the paths of splits for the number of the fold
NAME = re.compile(r"[\w-][\w.-]*")  # of a task: a folder, wherever it is made
SHORTEST = 8  # tokens of a sequence that holds anything beside its special tokens
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
    # Where the patient of a document stands, if reader's `patient` names no column. Not in repr, a digest of which
    # (`finetune --check`) names recipes of earlier versions.
    patient_pattern: str = field(default="", repr=False)  # its first group, in the document's name
    patient_list: str = field(default="", repr=False)  # a file below `data`: document, tab, patient
    figure: str = ""  # that chooses epochs, seeds and settings; left out: the family's first
    max_tokens: int = 256  # longest sequence with specials (the model's own limit if lower): few sentences are longer,
    # and attention costs the square

    readers: ClassVar[dict[str, Callable[..., list]]] = {}  # by format
    choices: ClassVar[dict[str, tuple[str, ...]]] = {}  # the values that a key may have

    def settings(self, format: str) -> dict:
        """Settings of a reader: the recipe's are for its own format."""
        return self.reader if format == self.format else {}

    def kept(self) -> Labels | None:
        """The labels that are kept, where items have labels."""
        return None

    def read(self, path: Path, format: str, counts: Counter) -> list:
        """What the reader of this format finds in a file or folder; counts: of what was read past, and changed.

        Raises InputError for what cannot be used.
        """
        labels = self.kept()
        items = self.readers[format](path, *([labels] if labels else []), counts, **self.settings(format))
        if labels:
            labels.refuse_unknown()
        return items

    def as_dict(self) -> dict:
        """Its values by key; `Recipe(**values)` is the way back. Those of patients only if given: earlier results have
        none."""
        return {key: value for key, value in asdict(self).items() if value or not key.startswith("patient_")}

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
        # No folder is made, or looked for, in another place than the command says.
        if not NAME.fullmatch(self.task):
            raise InputError(
                f"{file}: task is {self.task!r}; letters, digits, _, - and . name it, and no . comes first."
            )
        folder = PurePath(self.folder)
        if folder.is_absolute() or ".." in folder.parts:
            raise InputError(
                f"{file}: folder is {self.folder!r}; a path below --data is needed, without dots for parents."
            )
        self._check_splits(file)
        self._check_patients(file)

    @property
    def names(self) -> tuple[str, str]:
        """The names under which a protocol may have values of the task's own."""
        return self.task, self.kind

    @property
    def draws(self) -> bool:
        """Whether some split is not an official one, but drawn from ids and split_seed."""
        return "all" in self.splits or self.dev_share is not None

    @property
    def patients_by(self) -> list[str]:
        """The keys that say the patient of a document: one, or none."""
        given = {"patient of reader": self.reader.get("patient") is not None}
        given |= {key: bool(getattr(self, key)) for key in ("patient_pattern", "patient_list")}
        return [key for key, there in given.items() if there]

    def _check_patients(self, file: Path) -> None:
        """That they are found in one way, and that the pattern has a group."""
        if len(self.patients_by) > 1:
            raise InputError(f"{file}: {' and '.join(self.patients_by)} say the patient; keep one of them.")
        try:
            groups = re.compile(self.patient_pattern or "()").groups
        except re.error as error:
            raise InputError(f"{file}: patient_pattern is no regular expression ({error}); correct it.") from None
        if not groups:
            raise InputError(f"{file}: patient_pattern has no group; put the patient's part in ( ).")

    def _check_splits(self, file: Path) -> None:
        """That the splits which the recipe does not name can be drawn, and in one way only."""
        shares = [share for share in (self.dev_share, self.test_share) if share is not None]
        if not all(0 < share < 1 for share in shares) or sum(shares) >= 1:
            raise InputError(f"{file}: dev_share and test_share lie between 0 and 1 and leave something to train.")
        if self.also_train and "train" not in self.splits:
            raise InputError(f"{file}: also_train goes with splits that have a train.")
        if self.folds is not None and self.folds < 3:
            raise InputError(f"{file}: folds is {self.folds}; three are the fewest that give train, dev and test.")
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
        also = {f"also_train's {path}": path for path in self.also_train}
        refuse_overlap(self.splits | also, f"{file}: splits")


def check_labels(labels: Labels, what: str, file: Path) -> None:
    """Raise InputError for a label that stands there twice, and for a renaming to none. what: the recipe's word."""
    twice = [name for name, count in Counter(labels.types).items() if count > 1]
    if twice:
        raise InputError(f"{file}: {what}s: {twice[0]!r} stands there twice; keep one of them.")
    strangers = set(labels.rename.values()) - set(labels.types) - set(labels.ignore)
    if strangers:
        raise InputError(f"{file}: rename leads to {', '.join(sorted(strangers))}, which is no {what} of the recipe.")


def _listed(keys: tuple[str, ...]) -> str:
    return " and ".join(keys) or "none of dev_share, test_share, folds"


def load_recipe(file: Path, kinds: dict[str, type[Recipe]]) -> Recipe:
    """Read and check a task's recipe, of the class that `kinds` has for its kind. Raises InputError for an unknown or
    missing key and for a value out of range."""
    values = read_yaml(file)
    kind = values.get("kind", Recipe.kind)
    if not isinstance(kind, str) or kind not in kinds:
        raise InputError(f"{file}: kind is {kind!r}; choose one of {', '.join(kinds)}.")
    recipe = built(kinds[kind], values, file)
    recipe.check(file)
    return recipe
