"""A training that is finished, or still at work: what its --save-dir says of it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from fairseq import tasks, utils
from omegaconf import DictConfig, OmegaConf

from alibert_common.errors import InputError, reason
from alibert_common.json_value import parse_json
from alibert_fairseq.callbacks.metrics_log import LOG
from alibert_fairseq.tasks.pretraining import PretrainingTask
from alibert_fairseq.tasks.tokenizer_identity import different_tokenizer, digests, manifest_digests

NAMED = re.compile(r"checkpoint_\d+_(\d+)\.pt")  # fairseq's checkpoints of an update


@dataclass(frozen=True)
class Update:
    """A line of metrics.jsonl. `skipped` batches before it were not finite, and made no update."""

    number: int
    epoch: int
    tokens: int
    skipped: int
    seconds: float  # of training until then


@dataclass(frozen=True)
class Run:
    """A training: its configuration, its updates, and {updates: file} of its checkpoints, in order."""

    folder: Path
    cfg: DictConfig
    task_state: dict
    updates: list[Update]
    checkpoints: dict[int, Path]

    @property
    def kept(self) -> list[Update]:
        """The updates of the last checkpoint. A training that still runs has made more."""
        return self.updates[: max(self.checkpoints)]

    @property
    def tokens(self) -> int:
        """Tokens that the updates of the last checkpoint have read."""
        return sum(update.tokens for update in self.kept)

    @property
    def seconds(self) -> float:
        """Seconds of training until the last checkpoint."""
        return self.kept[-1].seconds if self.kept else 0.0

    def task(self) -> PretrainingTask:
        """The task, with its data-bin. Raises InputError where the data-bin is gone, or has another tokenizer."""
        paths = utils.split_paths(self.cfg.task.data)
        for path in paths:
            if not Path(path).is_dir():
                raise InputError(f"{path}: the data-bin of this training is gone; give its place with --data.")
        if different := different_tokenizer(self.task_state, digests(paths[0])):
            raise InputError(
                f"{paths[0]}: its {different} is not the one of the training; give the data-bin that it read."
            )
        if self.task_state.get("data", here := manifest_digests(self.cfg.task.data)) != here:
            raise InputError(f"{self.cfg.task.data}: is not the data-bin of this training; give that one with --data.")
        return tasks.setup_task(self.cfg.task)

    def checkpoint_before(self, update: int) -> tuple[int, Path] | None:
        """(updates, file) of the last checkpoint that was saved before an update, None if there is none."""
        return max(((made, path) for made, path in self.checkpoints.items() if made < update), default=None)


def read_run(folder: Path, data: str | None = None) -> Run:
    """Read a --save-dir. data: the place of the data-bin, if it was moved.

    Raises InputError for a folder without a checkpoint of this plugin or without all lines of its metrics.jsonl.
    """
    checkpoints = checkpoints_in(folder)
    if not checkpoints:
        raise InputError(f"{folder}: holds no checkpoint; give the --save-dir of a training.")
    state = load(checkpoints[max(checkpoints)])
    if "cfg" not in state or "task_state" not in state:
        raise InputError(f"{checkpoints[max(checkpoints)]}: not a checkpoint of this plugin.")
    cfg = OmegaConf.create(state["cfg"])
    if data:
        cfg.task.data = data
    updates = read_updates(folder / LOG)
    if len(updates) < max(checkpoints):
        raise InputError(
            f"{folder / LOG}: ends at update {len(updates):,}, and the last checkpoint has {max(checkpoints):,}; give "
            "the folder with the whole file."
        )
    return Run(folder, cfg, state["task_state"], updates, checkpoints)


def checkpoints_in(folder: Path) -> dict[int, Path]:
    """{updates: file}, by updates. Of two files of an update, the one that is named after it."""
    found: dict[int, Path] = {}
    for path in sorted(folder.glob("checkpoint*.pt"), key=lambda path: (bool(NAMED.fullmatch(path.name)), path.name)):
        found[updates_in(path)] = path
    return dict(sorted(found.items()))


def updates_in(path: Path) -> int:
    """How many updates a checkpoint has had; its name says it, or its content."""
    if named := NAMED.fullmatch(path.name):
        return int(named[1])
    history = load(path).get("optimizer_history") or [{}]
    return int(history[-1].get("num_updates", 0))


def load(path: Path) -> dict[str, Any]:
    """A checkpoint of one's own training, whose tensors stay in the file until they are read."""
    try:
        state = torch.load(path, map_location="cpu", mmap=True, weights_only=False)
    except Exception as error:  # whatever a damaged file makes the unpickler say
        raise InputError(f"{path}: not a checkpoint that fairseq-train wrote whole ({reason(error)}).") from None
    return state if isinstance(state, dict) else {}


def read_updates(path: Path) -> list[Update]:
    """The updates of a metrics.jsonl. Raises InputError where it is missing, damaged, or leaves out an update."""
    if not path.is_file():
        raise InputError(f"{path}: no such file, so the order of the updates is unknown; give a --save-dir with it.")
    updates = list[Update]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            found = parse_json(line)
            whole = {name: int(found[name]) for name in ("epoch", "tokens", "skipped")}
            update = Update(int(found["update"]), **whole, seconds=float(found["seconds"]))
        except (ValueError, TypeError, KeyError):
            raise InputError(f"{path}, line {number}: is no update; the file is damaged.") from None
        if update.number != len(updates) + 1:
            raise InputError(f"{path}, line {number}: update {update.number} where {len(updates) + 1} is expected.")
        updates.append(update)
    return updates
