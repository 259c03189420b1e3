"""Is a corpus that was made in many attempts, each killed at some moment, the same bytes as one made in peace?

    python tests/campaigns/kill_corpus.py corpus.yaml --output killed --kills 20 --seed 1

Runs preprocess.corpus once to its end, and notes when each stage began. Then moments are drawn, evenly over that time:
each is a stage, and so many seconds after it began. Elsewhere the command is started again and again, and SIGKILL goes
to it and all its processes at the next of these moments, in their order. After the last it is left to end, compared,
and run once more, which must do nothing. Prints a line a kill, and JSON; exits with 1 for a difference.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from bisect import bisect_right
from pathlib import Path

LOOK_SECONDS = 0.02  # between two looks at what the command says
NAME = "corpus"  # the same path from each run's own folder, for the manifests hold it


def start(file: Path, folder: Path, words: list[str]) -> subprocess.Popen:
    """The command, in a process group of its own; what it prints goes to a file beside the output."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "preprocess.corpus", str(file.resolve()), "--output", NAME, *words]
    with open(folder / "log", "w") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def stages_begun(folder: Path) -> list[str]:
    """What the command said that it does, in order."""
    text = (folder / "log").read_text(errors="replace")
    return [line.split(" --")[0] for line in text.splitlines() if line.startswith("[")]


def run_to_end(file: Path, folder: Path, words: list[str]) -> list[float]:
    """The seconds after which each stage began, and those after which all was done."""
    began, moments = time.perf_counter(), []
    process = start(file, folder, words)
    while process.poll() is None:
        moments += [time.perf_counter() - began] * (len(stages_begun(folder)) - len(moments))
        time.sleep(LOOK_SECONDS)
    assert process.returncode == 0, (folder / "log").read_text()
    return [*moments, time.perf_counter() - began]


def kill_in(stage: int, seconds: float, file: Path, folder: Path, words: list[str]) -> str:
    """Kill the command so long after it began with the stage, or as it ends it; what it was doing then, nothing if it
    had ended, because it went on with half of its last stage."""
    process, due = start(file, folder, words), None
    while process.poll() is None:
        begun = len(stages_begun(folder))
        if begun == stage and due is None:
            due = time.perf_counter() + seconds
        if begun > stage or (due is not None and time.perf_counter() >= due):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return stages_begun(folder)[-1] if begun else "(start)"
        time.sleep(LOOK_SECONDS)
    assert process.returncode == 0, (folder / "log").read_text()
    return ""


def digests(folder: Path) -> dict[str, str]:
    """{file: SHA-256} of the output, hidden files and folders too."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "log")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def campaign(file: Path, output: Path, kills: int, seed: int, words: list[str]) -> dict:
    """What came of it, as JSON."""
    whole, killed = output / "whole", output / "killed"
    for folder in (whole, killed):
        shutil.rmtree(folder, ignore_errors=True)
    *begins, seconds = run_to_end(file, whole, words)
    expected, stages, ended, draw = digests(whole), [], [], random.Random(seed)
    print(f"undisturbed: {seconds:.0f} s, {len(begins)} stages, {len(expected)} files", flush=True)
    for moment in sorted(draw.uniform(0, seconds) for _ in range(kills)):
        stage = bisect_right(begins, moment)
        after = moment - begins[stage - 1] if stage else moment
        stages.append(kill_in(stage, after, file, killed, words))
        if not stages[-1]:  # once more, with nothing to go on with
            ended.append(digests(killed) == expected)
            shutil.rmtree(killed)
            stages[-1] = kill_in(stage, after, file, killed, words) or "(ended by itself)"
        print(f"kill {len(stages)}, at {moment:.1f} s of the undisturbed run: {stages[-1]}", flush=True)
    run_to_end(file, killed, words)
    ended.append(digests(killed) == expected)
    made = {path: path.stat().st_mtime_ns for path in killed.rglob("*") if path.is_file() and path.name != "log"}
    *_, again = run_to_end(file, killed, words)
    idle = all(path.stat().st_mtime_ns == when for path, when in made.items()) and digests(killed) == expected
    return {
        "seconds": round(seconds, 1),
        "kills": stages,
        "files": len(expected),
        "ended": len(ended),
        "the_same_bytes": all(ended),
        "second_run_seconds": round(again, 1),
        "second_run_wrote_nothing": idle,
    }


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="of preprocess.corpus")
    parser.add_argument("--output", type=Path, required=True, help="a folder for both runs")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options, words = parser.parse_known_args()  # others are for preprocess.corpus
    found = campaign(options.file, options.output, options.kills, options.seed, words)
    print(json.dumps(found, indent=2))
    return int(not (found["the_same_bytes"] and found["second_run_wrote_nothing"]))


if __name__ == "__main__":
    sys.exit(main())
