"""Is a damaged checkpoint known and never run, and does a failing disk leave no bad file under a good name?

    python tests/campaigns/damaged_checkpoints.py CHECKPOINT [--damages 200] [--failures 50] [--seed 1]

CHECKPOINT is one of fairseq-train. Each damage is a copy with one bit flipped, cut short, or with a foreign
pickle in it, and must be refused in one line, with nothing of it run. Each failure is an error
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
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from damaged_files import CALLS, DAMAGES, ERRORS, Failing
from fairseq import checkpoint_utils

from fairseq_compat.checkpoints import loading, saving
from fairseq_compat.refusal import Refusal

KINDS = (0.4, 0.4, 0.2)  # shares of the damages


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


def campaign(checkpoint: Path, damages: int, failures: int, seed: int) -> tuple[Counter, list[str]]:
    """(kinds and what became of them, faults)."""
    with open(checkpoint, "rb") as file:
        state = loading.load(file, map_location="cpu")
    content, kinds, faults = checkpoint.read_bytes(), Counter(), []
    for number in range(damages + failures):
        draw = random.Random(f"{seed}/{number}")
        with tempfile.TemporaryDirectory() as folder:
            if number < damages:
                kind, fault = damage(content, draw, Path(folder))
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
    parser.add_argument("--failures", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kinds, faults = campaign(options.checkpoint, options.damages, options.failures, options.seed)
    print("| case | number |\n|---|---|")
    for kind, count in kinds.items():
        print(f"| {kind} | {count} |")
    print(f"| faults | {len(faults)} |")
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
