"""Are the scores of a command that was killed again and again those of one left in peace?

    python tests/campaigns/kill_finetuning.py MODEL DATA --only quaero_emea,biosses --output killed --kills 20 --seed 1

Runs downstream.evaluate --quick once to its end, with baselines, and takes its time. Elsewhere it is started again and
again, and SIGKILL goes to it and its training, or to it alone, whose training then goes on beside the next start, after
times drawn evenly up to a third of that. After the last kill it is left to end. What is compared: each
predictions.jsonl byte by byte, and metrics.json of each seed and of each run, but for times and memory; and that
nothing half written is left. Prints a line a kill, and JSON; exits with 1 for a difference.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

MEASURED = ("seconds", "peak_memory")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a Hugging Face folder")
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--only", required=True, metavar="TASK,...")
    parser.add_argument("--baselines", default="random,majority", metavar="NAME,...")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the times")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    began = time.monotonic()
    start(args, "peace").wait()
    whole = time.monotonic() - began
    draw, kills = random.Random(args.seed), []
    for number in range(1, args.kills + 1):
        after, alone = draw.uniform(0, whole / 3), draw.random() < 0.5
        done = len(results(args.output / "killed"))
        kills.append(kill(start(args, "killed"), after, alone) | {"seeds done before": done})
        print(f"kill {number} of {args.kills}: {kills[-1]}", flush=True)
    assert start(args, "killed").wait() == 0, "the last start did not end well"
    differences = compared(args.output / "peace", args.output / "killed")
    print(json.dumps({
        "seconds in peace": round(whole),
        "kills": len(kills),
        "of a training, too": sum(not one["alone"] for one in kills if one["met"]),
        "of the command alone": sum(one["alone"] for one in kills if one["met"]),
        "too late": sum(not one["met"] for one in kills),
        "seeds": len(results(args.output / "peace")),
        "differences": differences,
    }, indent=2))  # fmt: skip
    sys.exit(bool(differences))


def start(args: argparse.Namespace, name: str) -> subprocess.Popen:
    """In a process group of its own, with its output in a log."""
    folder = args.output / name
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "downstream.evaluate", str(args.model), "--data", str(args.data), "--quick"]
    command += ["--only", args.only, "--baselines", args.baselines, "--device", "cpu", "--output", str(folder)]
    with open(args.output / f"{name}.log", "a") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def kill(process: subprocess.Popen, after: float, alone: bool) -> dict:
    """met: whether it was still there."""
    try:
        process.wait(after)
        return {"after": round(after, 1), "alone": alone, "met": False}
    except subprocess.TimeoutExpired:
        if alone:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return {"after": round(after, 1), "alone": alone, "met": True}


def results(folder: Path) -> list[Path]:
    """metrics.json of each seed."""
    return sorted(folder.glob("*/*/seed-*/metrics.json"))


def compared(peace: Path, killed: Path) -> list[str]:
    """What is not the same, in words."""
    found = [f"left: {path.relative_to(killed)}" for path in killed.rglob(".*.partial*")]
    for pattern in ("*/*/metrics.json", "*/*/seed-*/metrics.json", "*/*/seed-*/predictions.jsonl"):
        ours = {path.relative_to(killed) for path in killed.glob(pattern)}
        for name in sorted({path.relative_to(peace) for path in peace.glob(pattern)} | ours):
            sides = [content(side / name) for side in (peace, killed)]
            found += [f"{name} differs"] if sides[0] != sides[1] else []
    return found


def content(file: Path):
    """None where it is missing."""
    if not file.is_file():
        return None
    if file.suffix == ".jsonl":
        return file.read_bytes()
    return without_times(json.loads(file.read_text(encoding="utf-8")))


def without_times(value):
    """The same without what was measured of the machine."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if not key.startswith(MEASURED)}
    return [without_times(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
