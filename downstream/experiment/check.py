"""What `finetune --check` prints: the counts of every split and of what was read, without a model."""

import hashlib
from collections.abc import Iterator

from downstream.data.splits import Splits, read_folds
from downstream.run_config import RunConfig
from downstream.tasks import task_from
from downstream.tasks.base import Task


def check(config: RunConfig) -> str:
    """A line for each split and for each path that was read, and a digest of all that scores depend on but the model.

    Raises InputError where a run would, except for the model.
    """
    task = task_from(config.recipe)
    folds = read_folds(task, config.data, config.dev_only)
    lines = [line for splits in folds for line in _read_lines(splits)]
    lines = list(dict.fromkeys(lines))  # folds that are drawn share what was read
    for number, splits in enumerate(folds, 1):
        task.begin(splits["train"].items)
        lines += [f"fold {number}, " * (len(folds) > 1) + line for line in _split_lines(task, splits)]
    protocol = config.choice.protocol if config.choice else None
    digest = hashlib.sha256(repr((config.recipe, protocol, folds)).encode()).hexdigest()
    return "\n".join([*lines, f"sha256 of recipe, protocol and documents: {digest}"])


def _read_lines(splits: Splits) -> Iterator[str]:
    """What was met in reading, once for each path, whatever number of splits was drawn from it."""
    for split in splits.values():
        if counts := ", ".join(f"{count} {what}" for what, count in split.counts.items() if count):
            yield f"read from {split.source}: {counts}"


def _split_lines(task: Task, splits: Splits) -> Iterator[str]:
    """The items of each split, and its labels after the recipe's policies."""
    for name, split in splits.items():
        learned = ", ".join(f"{count} {label}" for label, count in task.learned(split.items).items())
        notes = [f"{count} {what}" for what, count in split.own.items() if count] + [task.unseen_labels(split.items)]
        yield "; ".join([f"{name}: {len(split.items)} items ({learned})", *filter(None, notes)])
