"""The splits of a task: official ones as they are, others drawn by a rule that needs but ids and a seed."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from downstream.data.examples import RowId
from downstream.data.patients import warn, with_patients
from downstream.data.recipe import FOLD
from downstream.data.split_lists import in_part, parse
from downstream.data.task_items import TaskItems

REFERENCE = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d+|#x[0-9a-fA-F]+);")
RARE = "rare"  # strata that are too few to be in every fold are one, or scikit-learn refuses where all are


class Split(NamedTuple):
    """The items of train, dev or test. counts: of what was changed and dropped in reading `source`, from which other
    splits may be drawn too. own: counts of this split alone."""

    items: list
    counts: Counter
    source: str = ""
    own: Counter = Counter()

    @property
    def sha256(self) -> str:
        """Of all that the items hold; of their patients where these are known."""
        patients = [item.patient for item in self.items]
        return hashlib.sha256((repr(self.items) + repr(patients) * any(patients)).encode()).hexdigest()


Read = dict[tuple[Path, str], tuple[list, Counter]]  # items and counts, by path and format
Splits = dict[str, Split]  # train, dev and test; without test where that is not to be read


def read_folds(task: TaskItems, root: Path, dev_only: bool) -> list[Splits]:
    """The splits of each fold; one fold where the recipe has none.

    root: the folder of the splits. Warns of patients in several splits. Raises InputError for data that are missing or
    cannot be used.
    """
    recipe = task.recipe
    if "all" in recipe.splits:
        whole = _read(task, root, recipe.splits["all"], recipe.format, {})
        shares = {"test": recipe.test_share, "dev": recipe.dev_share}
        folds = _folds_of(task, whole) if recipe.folds else [_divided(task, whole, shares, "train")]
    else:
        numbers = range(recipe.first_fold, recipe.first_fold + (recipe.folds or 1))
        folds = [_official(task, root, number, dev_only) for number in numbers]
    names = ("train", "dev") if dev_only else ("train", "dev", "test")
    folds = [_with_common(task, {name: splits[name] for name in names}) for splits in folds]
    for name, split in ((name, splits[name]) for splits in folds for name in names[1:]):
        if not any(map(task.is_scored, split.items)):
            raise InputError(
                f"{recipe.task}: the chief figure, {task.metric_name}, is of no item of {name}; name "
                "another figure in the recipe, or other splits."
            )
    warn(recipe.task, folds)
    return folds


def _official(task: TaskItems, root: Path, fold: int, dev_only: bool) -> Splits:
    """As the recipe names them; dev is drawn from train where the data have none, before more is added to train."""
    recipe, splits = task.recipe, {}
    done: Read = {}
    for name, path in recipe.splits.items():
        if name != "test" or not dev_only:
            splits[name] = _read(task, root, path.replace(FOLD, str(fold)), recipe.format, done)
    more = [_read(task, root, path, format, done) for path, format in recipe.also_train.items()]
    together = [item for part in (splits["train"], *more) for item in part.items]
    _refuse_twice(task, together, f"{root}, train and also_train")
    if "dev" not in splits:
        splits |= _divided(task, splits["train"], {"dev": recipe.dev_share}, "train")
    for part in more:
        items, counts, source, _ = splits["train"]
        splits["train"] = Split(items + part.items, counts + part.counts, f"{source} and {part.source}")
    return splits


def _refuse_twice(task: TaskItems, items: list, place: str) -> None:
    twice = [name for name, count in Counter(map(task.id_of, items)).items() if count > 1]
    if twice:
        raise InputError(f"{place}: {len(twice)} ids stand for several items (first: {twice[0]}); give each its own.")


def _with_common(task: TaskItems, splits: Splits) -> Splits:
    """Documents that official splits share are counted; they stay, or scores could not be compared with others'."""
    counted: Splits = {}
    earlier: set[str] = set()
    for name, part in splits.items():
        documents = {name for name in documents_in(task, part) if not isinstance(name, RowId)}
        common = Counter({"documents whose id an earlier split has": len(documents & earlier)})
        counted[name] = part._replace(own=part.own + common)
        earlier |= documents
    return counted


def _read(task: TaskItems, root: Path, split: str, format: str, done: Read) -> Split:
    source = parse(split, task.recipe.task)
    path = root / source.path
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; check the recipe's data and splits, or give --data.")
    if (path, format) not in done:  # a list of splits divides what is read once
        found: Counter = Counter()
        done[path, format] = task.read(path, format, found), found
    whole, counts = done[path, format][0], done[path, format][1].copy()
    items = in_part(whole, source, root, task.group, counts)
    _refuse_twice(task, items, f"{path}")
    items = with_patients(task, items, root, f"{path}")
    counts["items without a word"] += sum(not any(map(str.strip, task.texts(item))) for item in items)
    if references := sum(any(map(REFERENCE.search, task.texts(item))) for item in items):
        counts["items with HTML character references (&lt;), read as they stand"] = references
    if not items:
        raise InputError(f"{path}: nothing annotated as {format} in it; check the recipe's data, splits and format.")
    return Split(items, counts, split)


def _divided(task: TaskItems, whole: Split, shares: dict[str, float | None], rest: str) -> Splits:
    """Shares of the patients, or of the groups, under their names; what is left as `rest`.

    Raises InputError where a split would be empty.
    """
    order = drawn_order(set(map(task.undivided, whole.items)), task.recipe.split_seed)
    parts, begin = {}, 0
    for name, share in shares.items():
        size = round((share or 0) * len(order))
        parts[name] = set(order[begin : begin + size])
        begin += size
    parts[rest] = set(order[begin:])
    if not all(parts.values()):
        raise _too_few(task, len(order), ", ".join(parts))
    return {name: _of_groups(task.undivided, whole, groups) for name, groups in parts.items()}


def _too_few(task: TaskItems, number: int, what: str) -> InputError:
    """The error for so many patients, or documents."""
    if not task.recipe.patients_by:
        return InputError(f"{task.recipe.task}: {number} documents are too few for {what}.")
    patients = f"{number} patient{'s are' if number > 1 else ' is'}"
    return InputError(
        f"{task.recipe.task}: {patients} too few for {what}, because a patient's documents stay in one split; give "
        "documents of more patients, or other shares or folds."
    )


def drawn_order(groups: Iterable[str], seed: int) -> list[str]:
    """The groups in an order drawn by the seed; how two stand to one another depends on no third one."""
    return sorted(groups, key=lambda group: hashlib.sha256(f"{seed} {group}".encode()).digest())


def _of_groups(group_of: Callable[..., str], whole: Split, groups: set[str]) -> Split:
    """The items of these groups. The counts of what was read are those of the whole: they were made in reading it."""
    return whole._replace(items=[item for item in whole.items if group_of(item) in groups])


def documents_in(task: TaskItems, part: Split) -> set[str]:
    """The groups of its items: documents, of which several items may be made."""
    return {task.group(item) for item in part.items}


def with_fewer(task: TaskItems, whole: Split, number: int, seed: int) -> Split:
    """So many of the documents, drawn by the seed; what fewer of them hold, more of them hold too.

    Those left out are counted. Raises InputError if there are not as many.
    """
    order = drawn_order(documents_in(task, whole), seed)
    if not 1 <= number <= len(order):
        raise InputError(
            f"{task.recipe.task}: {number} documents cannot be drawn from the {len(order)} of the training split; "
            f"ask for 1 to {len(order)}."
        )
    left_out = Counter({"documents left out of training": len(order) - number})
    return _of_groups(task.group, whole, set(order[:number]))._replace(own=Counter({**whole.own, **left_out}))


def _folds_of(task: TaskItems, whole: Split) -> list[Splits]:
    """Fold k is test, the next one dev, the others train; labels are as frequent in each as in the whole."""
    from sklearn.model_selection import StratifiedGroupKFold  # here: it takes a second, and few recipes have folds

    recipe, number = task.recipe, task.recipe.folds or 0
    strata, groups = [task.stratum(item) for item in whole.items], [task.undivided(item) for item in whole.items]
    if len(set(groups)) < number:
        raise _too_few(task, len(set(groups)), f"{number} folds")
    frequent = {stratum for stratum, count in Counter(strata).items() if count >= number}
    strata = [stratum if stratum in frequent else RARE for stratum in strata]
    divided = StratifiedGroupKFold(number, shuffle=True, random_state=recipe.split_seed).split(groups, strata, groups)
    tests, folds = [set(test.tolist()) for _, test in divided], []
    for fold, test in enumerate(tests):
        dev = tests[(fold + 1) % len(tests)]
        of = {"train": set(range(len(whole.items))) - test - dev, "dev": dev, "test": test}
        items = {name: [whole.items[place] for place in sorted(places)] for name, places in of.items()}
        folds.append({name: whole._replace(items=own) for name, own in items.items()})
    return folds
