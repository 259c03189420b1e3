"""What a planned job does in an update, and what it will take, from a calibration on this machine: for --dry-run."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from alibert_fairseq.callbacks import calibration
from alibert_fairseq.callbacks.memory import TOO_LITTLE
from alibert_fairseq.launch.plan import CPU_ARGUMENTS, Plan
from alibert_fairseq.launch.requeue import KILLED, killed
from alibert_fairseq.launch.status import duration
from fairseq_compat.errors import AGAIN

# For time on a GPU that is not here: a third of the bf16 peak of an A100 (312), a tenth of an H100's (989). Published
# trainings of encoders reach 25 to 50 % (docs/results/scaling.md).
TFLOP_PER_SECOND = 100
GIB = 1 << 30
FP16 = {"--fp16", "--memory-efficient-fp16"}  # refused without a GPU
RESULT = "found.json"  # of a calibration
NEEDS_A_GPU = "--fp16 needs a GPU"  # the words of that refusal (fairseq_compat/command_line.py)


class Calibrated(NamedTuple):
    """What was measured, {} if nothing; then why, and whether the recipe refused, which the job would do too."""

    found: dict
    why_not: str = ""
    refused: bool = False


def calibrate(plan: Plan) -> Calibrated:
    """Run the plan's recipe in one process, as calibration.py does; without --fp16 where that would need a GPU."""
    import torch

    on_cpu_instead = plan.gpu and not torch.cuda.is_available()
    left_out = sorted(FP16 & set(plan.arguments)) if on_cpu_instead else []
    arguments = [*(CPU_ARGUMENTS if on_cpu_instead else []), *(word for word in plan.arguments if word not in left_out)]
    with tempfile.TemporaryDirectory(prefix="calibration.") as folder:
        done = _run(plan, arguments, folder)
        if (result := Path(folder, RESULT)).exists():
            return Calibrated(json.loads(result.read_text()) | {"left_out": left_out})
    if done.returncode == 0:
        return Calibrated({}, "its training does not use this plugin")
    code = 128 - done.returncode if done.returncode < 0 else done.returncode
    if code in KILLED:
        return Calibrated({}, f"the recipe {killed(code)}; a kill is mostly for want of memory on this machine")
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line.lower()] or lines or [f"exit code {done.returncode}"]
    if on_cpu_instead and NEEDS_A_GPU in errors[-1]:
        return Calibrated({}, "the recipe has --fp16, which needs a GPU; run this on a node with one")
    elsewhere = code == AGAIN or (on_cpu_instead and TOO_LITTLE in errors[-1])  # what the job may not meet
    return Calibrated({}, f"the recipe says: {errors[-1]}", refused=not elsewhere)


def options_of(plan: Plan) -> list[str]:
    """The words that the recipe gives to fairseq-train: a script in its place writes them down.

    [] where the recipe ends before, calls another program, or the folder of temporary files may not hold programs.
    """
    with tempfile.TemporaryDirectory(prefix="options.") as folder:
        stub, said = Path(folder, "fairseq-train"), Path(folder, "said")
        stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "${0%/*}/said"\n')
        stub.chmod(0o700)
        _run(plan, [*plan.arguments, "--help"], folder, folder)  # for a real fairseq-train: print it, and end
        return said.read_text(encoding="utf-8", errors="replace").splitlines() if said.exists() else []


def _run(plan: Plan, arguments: list[str], folder: str, *first: str) -> subprocess.CompletedProcess:
    """Run the recipe as a calibration of one process that writes RESULT in a folder. first: searched before PATH."""
    command = ["bash", str(plan.recipe), *arguments, "--save-dir", folder, "--no-save", "--disable-validation"]
    command += ["--distributed-world-size", "1"]  # else fairseq starts a process a GPU
    command += ["--stop-time-hours", "0.05"]  # ends one without this plugin, which does not know of calibrations
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    own = {name: value for name, value in os.environ.items() if name not in names} | {"SAVE_DIR": folder}
    own |= {"PATH": ":".join([*first, str(Path(sys.executable).parent), own["PATH"]])}
    own |= {calibration.VARIABLE: str(Path(folder, RESULT))}
    return subprocess.run(command, env=own | plan.environment, capture_output=True, text=True)


def describe_run(plan: Plan, run: dict) -> str:
    """Lines about an update, the accumulation on fewer processes, memory and time; `run` is what was measured."""
    device, devices = ("GPU", "GPUs") if plan.gpu else ("process", "processes")
    lines = _batch(plan, run, device, devices) | {"memory": _memory(run, device), "time": _time(plan, run)}
    return "\n".join(f"{name:<13}{text}" for name, text in lines.items())


def _batch(plan: Plan, run: dict, device: str, devices: str) -> dict[str, str]:
    """An update, and the --update-freq with which fewer processes make the same one."""
    size, freq, length = run["batch_size"], run["update_freq"], run["tokens_per_sample"]
    whole = plan.world_size * freq
    factors = f"{plan.world_size} {devices} x " + f"--update-freq {freq} x " * (freq > 1)
    if size:
        total = f"{factors}{size} = {whole * size} sequences, {whole * size * length:,} tokens"
        lines = {"batch": f"{size} sequences of {length} tokens a {device}"}
        lines["update"] = f"{whole * size} x {length} tokens: {total}"
    else:
        tokens = run["max_tokens"]
        lines = {"batch": f"at most {tokens:,} tokens a {device}"}
        lines["update"] = f"{factors}{tokens:,} = {whole * tokens:,} tokens"
    if fewer := [count for count in range(plan.world_size - 1, 0, -1) if whole % count == 0][:6]:
        ways = ", ".join(f"{count}: --update-freq {whole // count}" for count in fewer)
        lines["on fewer"] = f"{ways} (the same update, on so many {devices})"
    return lines


def _memory(run: dict, device: str) -> str:
    held = f"{run['parameters'] / 1e6:.0f} M parameters, gradients and optimizer {run['state_bytes'] / GIB:.1f} GiB"
    if run["peak_bytes"]:
        return f"{run['peak_bytes'] / GIB:.1f} GiB a GPU, measured here on {run['device']} ({held})"
    kept = run["activation_bytes"] * _batches(run) / GIB
    total = run["state_bytes"] / GIB + kept
    origin = "counted" + "".join(f", without {option}" for option in run["left_out"])
    return f"{total:.1f} GiB a {device}: {held}, activations {kept:.1f} GiB ({origin})"


def _batches(run: dict) -> float:
    """How many of the batches that were measured a batch of the recipe is."""
    return (run["batch_size"] or run["max_tokens"] / run["tokens_per_sample"]) / run["sequences"]


def _time(plan: Plan, run: dict) -> str:
    """The time of an update and of all, without the exchange of gradients."""
    batches = _batches(run) * run["update_freq"]
    flop = run["flop"] * batches
    if plan.gpu and run["device"] == "CPU":
        seconds = flop / (TFLOP_PER_SECOND * 1e12)
        origin = f"{flop / 1e12:.2f} TFLOP at {TFLOP_PER_SECOND} TFLOP/s; run this on a node with a GPU to measure it"
    else:
        seconds, origin = run["seconds"] * batches, f"measured here on {run['device']}, one process"
    whole = f", {duration(seconds * run['max_update'])} for {run['max_update']:,}" if run["max_update"] else ""
    return f"{seconds:.3g} s an update{whole}, without the exchange of gradients ({origin})"
