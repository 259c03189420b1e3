"""Is a damaged checkpoint known and never run, and does a failing disk leave no bad file under a good name?

    python tests/campaigns/damaged_checkpoints.py CHECKPOINT [--damages 200] [--losses 50] [--failures 50] [--seed 1]

CHECKPOINT is one of fairseq-train. Each damage is a copy with one bit flipped, cut short, emptied, zeroed, or with a
foreign pickle in it, and must be refused in one line, with nothing of it run. Each loss is a folder with whole and
damaged checkpoints, whose checkpoint_last.pt is lost in a crash, missing, a dangling link or a folder: the run must
resume from the newest whole one, or be refused with its name. Each failure is an error
of the system at one call of those that write checkpoint_last.pt over an older one, once or for good; afterwards every
file under a checkpoint's name must be whole, and of the old update or the new. Prints a table; exits with 1 for faults.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from damaged_files import CALLS, DAMAGES, ERRORS, Failing, end_cut_off, lost_in_a_crash, one_byte_flipped
from fairseq import checkpoint_utils

from fairseq_compat.checkpoints import loading, recovery, saving
from fairseq_compat.errors import Refusal

KINDS = (0.3, 0.3, 0.2, 0.2)  # shares of the damages


def damage(content: bytes, draw: random.Random, folder: Path) -> tuple[str, str]:
    """(the kind, what went wrong or nothing)."""
    (kind,) = draw.choices(DAMAGES, KINDS)
    path, trace = folder / "checkpoint_last.pt", folder / "was_here"
    path.write_bytes(kind(content, draw, trace))
    try:
        checkpoint_utils.load_checkpoint_to_cpu(str(path))
        fault = "taken for whole"
    except Refusal as refusal:
        fault = "" if "\n" not in str(refusal) and str(path) in str(refusal) else f"said {refusal}"
    if trace.exists():
        fault = "run"
    return kind.__name__.replace("_", " "), fault


def loss(state: dict, draw: random.Random, folder: Path) -> tuple[str, str]:
    """(what happened to checkpoint_last.pt, what went wrong or nothing)."""
    paths = [folder / "checkpoint_last.pt", *(folder / f"checkpoint_1_{update}.pt" for update in (8, 9, 10))]
    draw.shuffle(updates := [11, 8, 9, 10])
    for path, update in zip(paths, updates, strict=True):
        save(state, update, path)
    last, *others = paths
    whole = dict(zip(others, updates[1:], strict=True))
    for path in draw.sample(others, draw.randrange(len(others) + 1)):
        lose = draw.choice((one_byte_flipped, end_cut_off, lost_in_a_crash))
        path.write_bytes(lose(path.read_bytes(), draw, folder))
        del whole[path]
    happened = draw.choice(("lost in a crash", "missing", "a dangling link", "a folder"))
    damaged = lost_in_a_crash(last.read_bytes(), draw, folder)
    last.unlink()
    if happened == "lost in a crash":
        last.write_bytes(damaged)
    elif happened == "a dangling link":
        last.symlink_to(folder / "nowhere")
    elif happened == "a folder":
        last.mkdir()
    best = max(whole, key=whole.__getitem__, default=None)
    return f"checkpoint_last.pt is {happened}", _fault_of_loss(folder, last, best, happened == "a folder")


def _fault_of_loss(folder: Path, last: Path, best: Path | None, refused: bool) -> str:
    options = {"save_dir": str(folder), "restore_file": last.name, "finetune_from_model": None}
    try:
        found = recovery.checkpoint_to_resume(SimpleNamespace(**options, no_save=False, no_last_checkpoints=False))
    except Refusal as refusal:
        named = best is None or best.name in str(refusal)
        return "" if (refused or best is None) and named else f"refused: {refusal}"
    if refused or best is None or found != str(best):
        return f"resumes from {found}, not {best}"
    return "" if update_of(last) == update_of(best) else "checkpoint_last.pt is another one"


def failure(state: dict, draw: random.Random, folder: Path) -> tuple[str, str]:
    """(what became of it, what went wrong or nothing)."""
    last = folder / "checkpoint_last.pt"
    save(state, 1, last)
    calls = count_calls(state, folder)
    failing = Failing(draw.randrange(calls), draw.choice((1, 1, 1_000_000)), draw.choice(ERRORS))
    try:
        with replaced(failing), patch.object(saving, "PAUSE", 0.0):
            save(state, 2, last)
        became = "overcome"
    except Refusal:
        became = "refused"
    for path in folder.glob("checkpoint*.pt"):
        try:
            update = update_of(path)
        except Refusal as refusal:
            return became, str(refusal)
        if update not in ((2,) if became == "overcome" and path == last else (1, 2)):
            return became, f"{path.name} is of update {update}"
    return became, "" if last.exists() else "checkpoint_last.pt is gone"


def count_calls(state: dict, folder: Path) -> int:
    """How often a save over an older one calls what may fail."""
    counting = Failing(0, 0, 0)
    with tempfile.TemporaryDirectory(dir=folder) as place, replaced(counting):
        save(state, 1, Path(place, "checkpoint_last.pt"))
        before = counting.calls
        save(state, 2, Path(place, "checkpoint_last.pt"))
    return counting.calls - before


def replaced(failing: Failing):
    """All functions of CALLS with the fault."""
    stack = ExitStack()
    for place, name in CALLS:
        stack.enter_context(patch.object(place, name, failing.around(getattr(place, name))))
    return stack


def save(state: dict, update: int, path: Path) -> None:
    """As the trainer does after so many updates."""
    history = [state["optimizer_history"][-1] | {"num_updates": update}]
    checkpoint_utils.torch_persistent_save(state | {"optimizer_history": history}, str(path))


def update_of(path: Path) -> int:
    """After how many it was saved."""
    return checkpoint_utils.load_checkpoint_to_cpu(str(path))["optimizer_history"][-1]["num_updates"]


def campaign(checkpoint: Path, damages: int, losses: int, failures: int, seed: int) -> tuple[Counter, list[str]]:
    """(kinds and what became of them, faults)."""
    with open(checkpoint, "rb") as file:
        state = loading.load(file, map_location="cpu")
    content, kinds, faults = checkpoint.read_bytes(), Counter(), []
    for number in range(damages + losses + failures):
        draw = random.Random(f"{seed}/{number}")
        with tempfile.TemporaryDirectory() as folder:
            if number < damages:
                kind, fault = damage(content, draw, Path(folder))
            elif number < damages + losses:
                kind, fault = loss(state, draw, Path(folder))
            else:
                kind, fault = failure(state, draw, Path(folder))
        kinds[kind] += 1
        if fault:
            faults.append(f"case {number}, {kind}: {fault}")
    return kinds, faults


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--damages", type=int, default=200)
    parser.add_argument("--losses", type=int, default=50)
    parser.add_argument("--failures", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kinds, faults = campaign(options.checkpoint, options.damages, options.losses, options.failures, options.seed)
    print("| case | number |\n|---|---|")
    for kind, count in kinds.items():
        print(f"| {kind} | {count} |")
    print(f"| faults | {len(faults)} |")
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
