"""What `finetune --check` prints: the counts of every split and of what was read, without a model."""

import hashlib

from downstream.data.splits import read_folds
from downstream.run_config import RunConfig
from downstream.tasks import task_from


def check(config: RunConfig) -> str:
    """A line for each split and for each path that was read, and a digest of all that scores depend on but the model.

    Raises InputError where a run would, except for the model.
    """
    task = task_from(config.recipe)
    folds = read_folds(task, config.data, config.dev_only)
    counts = (
        (split.source, ", ".join(f"{count} {name}" for name, count in split.counts.items() if count))
        for splits in folds
        for split in splits.values()
    )
    lines = list(dict.fromkeys(f"read from {source}: {of}" for source, of in counts if of))  # drawn folds share a path
    for number, splits in enumerate(folds, 1):
        task.begin(splits["train"].items)
        for name, split in splits.items():
            learned = ", ".join(f"{count} {label}" for label, count in task.learned(split.items).items())
            notes = [f"{count} {of}" for of, count in split.own.items() if count] + [task.unseen_labels(split.items)]
            notes += [f"{len({item.patient for item in split.items})} patients"] * bool(task.recipe.patients_by)
            line = "; ".join([f"{name}: {len(split.items)} items ({learned})", *filter(None, notes)])
            lines.append(f"fold {number}, " * (len(folds) > 1) + line)
    protocol = config.choice.protocol if config.choice else None
    digest = hashlib.sha256(repr((config.recipe, protocol, folds)).encode()).hexdigest()
    return "\n".join([*lines, f"sha256 of recipe, protocol and documents: {digest}"])
