"""Whether two trainings ended alike: every checkpoint bit by bit, and metrics.jsonl but for the times."""

import json
from pathlib import Path

import torch
from fairseq import checkpoint_utils

METRICS = "metrics.jsonl"
TIMES = ("seconds",)  # of a line of metrics.jsonl
LEAST = 50  # tensors of model and optimizer together: fewer, and something was not saved


def differences(ours: Path, theirs: Path) -> list[str]:
    """What in our folder is not as in theirs; nothing where they are the same."""
    found = [f"{path.name}: left" for path in sorted(ours.glob("*.tmp"))]
    for path in sorted(theirs.glob("checkpoint*.pt")):
        if not (ours / path.name).exists():
            found.append(f"{path.name}: missing")
            continue
        found += [f"{path.name}: {what}" for what in unequal(values(ours / path.name), values(path))]
    return found + unequal_metrics(metrics(ours), metrics(theirs))


def values(checkpoint: Path) -> dict[str, object]:
    """{name: tensor, or plain value} of a checkpoint: model, optimizer, schedule, place in the data, best loss."""
    state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
    optimizer, extra = state["last_optimizer_state"], state["extra_state"]
    found = {f"model.{name}": value for name, value in state["model"].items()}
    for index, moments in optimizer["state"].items():
        found |= {f"optimizer.{index}.{name}": value for name, value in moments.items()}
    for index, group in enumerate(optimizer["param_groups"]):
        found |= {f"optimizer.group {index}.{name}": value for name, value in group.items()}
    found |= {f"history.{name}": value for name, value in state["optimizer_history"][-1].items()}
    found |= {f"place.{name}": value for name, value in extra["train_iterator"].items()}
    found |= {name: extra.get(name) for name in ("val_loss", "best")}
    found |= {"task": state["task_state"], "criterion": state["criterion"]}
    return found | {f"average.{name}": value for name, value in averages(extra["metrics"]).items()}


def averages(saved: dict) -> dict[str, tuple]:
    """Those of the epoch, without times. Of others fairseq forgets what was before when a run goes on at the start of
    an epoch, or adds nothing any more: they are in no line but those of its own log."""
    return {
        name: tuple(map(float, (meter["val"] or 0, meter["sum"], meter["count"])))
        for _, name, kind, meter in saved["train"]
        if kind == "AverageMeter"
    }


def unequal(ours: dict, theirs: dict) -> list[str]:
    """The names of values that are not the same, or not there."""
    found = [f"{name}: missing" for name in sorted(theirs.keys() - ours.keys())]
    found += [f"{name}: nobody else has it" for name in sorted(ours.keys() - theirs.keys())]
    tensors = [name for name, value in theirs.items() if torch.is_tensor(value)]
    if len(tensors) < LEAST:
        found.append(f"{len(tensors)} tensors only")
    return found + [name for name in theirs if name in ours and not same(ours[name], theirs[name])]


def same(one: object, other: object) -> bool:
    """Bit by bit: of one type, and for torch.equal the same."""
    if torch.is_tensor(one) and torch.is_tensor(other):
        return one.dtype == other.dtype and torch.equal(one, other)
    return type(one) is type(other) and one == other


def unequal_metrics(ours: list[dict], theirs: list[dict]) -> list[str]:
    """The updates of which metrics.jsonl says something else, and what is not there once, in order."""
    updates = [line["update"] for line in ours]
    found = [] if updates == list(range(1, len(theirs) + 1)) else [f"{METRICS}: updates {updates}"]
    known = {line["update"]: line for line in theirs}
    return found + [f"{METRICS}: update {line['update']}" for line in ours if line != known.get(line["update"])]


def metrics(folder: Path) -> list[dict]:
    """The lines of metrics.jsonl, without times."""
    lines = map(json.loads, (folder / METRICS).read_text(encoding="utf-8").splitlines())
    return [{name: value for name, value in line.items() if name not in TIMES} for line in lines]
