"""A run whose checkpoint_last.pt is damaged or missing resumes from the newest whole checkpoint of its folder.

Where there are other checkpoints, but none that is known to be whole, the run is refused. Stock fairseq starts at
update 0 there, and deletes the other checkpoints as it saves new ones.
"""

import glob
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fairseq_compat.checkpoints.digest import damage, has_digest
from fairseq_compat.checkpoints.loading import ERRORS, load_mapped
from fairseq_compat.checkpoints.saving import in_one_sentence, put_under_name
from fairseq_compat.errors import Refusal
from fairseq_compat.module_proxy import in_place_in

logger = logging.getLogger(__name__)

LAST = "checkpoint_last.pt"  # what a run resumes from, unless --restore-file names another one
DAMAGED = "checkpoint_last.damaged.pt"
# What fairseq calls the checkpoints of a run, before its suffix: shards, runs of another suffix and copies differ.
OWN = r"checkpoint(\d+|_\d+_\d+|_best|_last|_previous|\.best_.+_-?\d+\.\d+)"
MISSING = "missing"


@contextmanager
def resume_from_the_newest_whole(module) -> Iterator[None]:
    """After `fairseq.checkpoint_utils` ran: its `load_checkpoint` first looks whether it has a whole checkpoint.

    The first rank looks for all. With sharded checkpoints each rank has its own file, and looks itself.
    """
    yield

    @in_place_in(module)
    def load_checkpoint(original, cfg, trainer, **passthrough_args):
        suffix = trainer.checkpoint_suffix

        def find() -> str | None:
            if cfg.restore_file in (LAST, os.path.join(cfg.save_dir, LAST)):
                return checkpoint_to_resume(cfg, suffix)
            path = cfg.restore_file.replace(".pt", f"{suffix}.pt")
            if not module.PathManager.isfile(path):  # stock fairseq starts at update 0
                remedy = "give the path of a checkpoint, or leave the option out"
                raise Refusal(f"--restore-file {path}: no such file; {remedy}.")
            return None

        path = find() if suffix else _on_first_rank(trainer, find)
        before = cfg.restore_file, cfg.finetune_from_model
        if path is not None:  # fairseq loads it as it would load checkpoint_last.pt
            cfg.restore_file, cfg.finetune_from_model = path, None
        try:
            return original(cfg, trainer, **passthrough_args)
        finally:
            cfg.restore_file, cfg.finetune_from_model = before


def checkpoint_to_resume(cfg, suffix: str = "") -> str | None:
    """The checkpoint to load in place of checkpoint_last.pt; None where that one is whole, or the run is new.

    It also gets the name checkpoint_last.pt where the run will save one. A damaged one is kept under another name.
    """
    last = Path(cfg.save_dir, LAST.replace(".pt", f"{suffix}.pt"))
    why = _problem(last)
    others = _others(last, suffix, cfg.finetune_from_model)
    if why is None or (why == MISSING and not others):
        return None
    files = {(path.stat().st_dev, path.stat().st_ino): path for path in reversed(others)}  # hard links count once
    known = [(updates, path) for path in files.values() if (updates := updates_of(path)) is not None]
    whole = next((path for _, path in sorted(known, reverse=True) if _problem(path) is None), None)
    if whole is None or suffix or last.is_dir():
        raise Refusal(f"{last}: {why}; {_remedy(last, whole, others)}")
    if not cfg.no_save and not cfg.no_last_checkpoints:
        with in_one_sentence(str(last)):
            if last.exists():
                os.replace(last, last.with_name(DAMAGED))
                why += f", and kept as {DAMAGED}"
            put_under_name(whole.resolve(), last)
    logger.warning(f"{last}: {why}; the run resumes from {whole.name}")
    return str(whole)


def _remedy(last: Path, whole: Path | None, others: list[Path]) -> str:
    if whole:
        return f"the newest whole checkpoint is {whole.name}; give it the name {last.name} to resume from it."
    anew = "give another --save-dir to start at update 0."
    if not others:
        return f"the folder has no other checkpoint; {anew}"
    newest = max(others, key=lambda path: path.stat().st_mtime_ns)
    return f"no other one has a right digest (newest: {newest.name}); rename one to {last.name} to try it, or {anew}"


def updates_of(path: Path) -> int | None:
    """The number of updates before a checkpoint with a digest was saved. Its tensors are not read."""
    try:
        with open(path, "rb") as file:
            if not has_digest(file):
                return None
        return int(load_mapped(path)["optimizer_history"][-1]["num_updates"])
    except (OSError, Refusal, *ERRORS):
        return None


def _others(last: Path, suffix: str, finetune_from: str | None) -> list[Path]:
    """The other checkpoints of the run, by name."""
    paths = []
    for path in sorted(last.parent.glob(f"checkpoint*{glob.escape(suffix)}.pt")):
        with suppress(OSError):
            is_start = finetune_from is not None and os.path.exists(finetune_from) and path.samefile(finetune_from)
            is_own = re.fullmatch(OWN + re.escape(f"{suffix}.pt"), path.name) and path.name != last.name
            if is_own and path.is_file() and not is_start:
                paths.append(path)
    return paths


def _problem(path: Path) -> str | None:
    """What is wrong with a checkpoint, None if nothing."""
    if not path.exists():
        return "a link to a file that does not exist" if path.is_symlink() else MISSING
    if path.is_dir():
        return "a folder"
    try:
        with open(path, "rb") as file:
            fault = damage(file)
    except PermissionError:  # perhaps of a colleague, and whole
        raise Refusal(
            f"{path}: cannot be read (permission denied); check its rights, or give another --save-dir."
        ) from None
    except OSError as error:  # a disk that does not read
        fault = error.strerror or str(error)
    return fault and f"damaged ({fault})"


def _on_first_rank(trainer, work: Callable[[], Any]) -> Any:
    """Do it on the first rank, for all; where it is refused all end, and the first one says why."""
    from fairseq.distributed import utils

    result, refusal = None, None
    if trainer.data_parallel_rank == 0:
        try:
            result = work()
        except Refusal as error:
            refusal = error
    if trainer.data_parallel_world_size > 1:
        group, device = trainer.data_parallel_process_group, trainer.device
        refused, result = utils.broadcast_object(
            (refusal is not None, result), src_rank=0, group=group, dist_device=device
        )
        if refused and trainer.data_parallel_rank:
            raise SystemExit(2)
    if refusal:
        raise refusal
    return result
