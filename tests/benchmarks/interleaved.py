"""Measuring rates of commands in turn, each pinned to cores of its own."""

import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent
REPORT = re.compile(r'\{.*"num_updates": .*\}')  # fairseq's JSON log, and that of transformers_loop.py


def pinned(command: list, cores: str | None = "0", folder: Path | None = None, **variables: str) -> subprocess.Popen:
    """A process on these cores (None: all), with one thread; its output can be read line by line."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    own |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONUNBUFFERED": "1", "HF_HUB_OFFLINE": "1"}
    own |= {"PYTHONPATH": str(ROOT), "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": folder}
    command = [*(["taskset", "--cpu-list", cores] if cores else []), *map(str, command)]
    return subprocess.Popen(command, env=own | variables, **streams)


def tokens_a_second(process: subprocess.Popen, warm: int) -> float:
    """After the first `warm` updates, by the moments at which the process reports them."""
    reports, said = [], []
    for line in process.stdout:
        said.append(line)
        if found := REPORT.search(line):
            reports.append((time.perf_counter(), json.loads(found[0])))
    if process.wait():
        raise SystemExit("".join(said)[-3000:])
    (updates, tokens), began = (0, 0.0), None
    for moment, report in reports:
        done = int(report["num_updates"])
        if began is not None:
            tokens += (done - updates) * float(report["wpb"])
            ended = moment
        elif done >= warm:
            began = moment
        updates = done
    return tokens / (ended - began)


def in_turn(systems: dict, runs: int) -> dict[str, list[float]]:
    """What each function returns, `runs` times, all of them in each round."""
    found: dict[str, list[float]] = {name: [] for name in systems}
    for turn in range(runs):
        for name, measure in systems.items():
            found[name].append(measure())
            print(f"round {turn + 1} of {runs}: {name}: {found[name][-1]:.1f}", file=sys.stderr, flush=True)
    return found


def medians(found: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Median, least and most of each."""
    return {
        name: {"median": statistics.median(values), "least": min(values), "most": max(values)}
        for name, values in found.items()
    }


def machine() -> dict:
    """Processor and versions."""
    import torch
    import transformers

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return {
        "processor": model, "cores": os.cpu_count(), "python": sys.version.split()[0],
        "torch": torch.__version__, "transformers": transformers.__version__,
    }  # fmt: skip


def write(results: dict, path: Path | None) -> None:
    """As JSON, to a file or to standard output."""
    text = json.dumps(results, indent=1)
    if path is None:
        print(text)
    else:
        path.write_text(text + "\n", encoding="utf-8")
