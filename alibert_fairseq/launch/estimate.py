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
    arguments = [*(CPU_ARGUMENTS if on_cpu_instead else []), *(one for one in plan.arguments if one not in left_out)]
    with tempfile.TemporaryDirectory(prefix="calibration.") as folder:
        result = Path(folder, "found.json")
        command = ["bash", str(plan.recipe), *arguments, "--save-dir", folder, "--no-save", "--disable-validation"]
        command += ["--distributed-world-size", "1"]  # else fairseq starts a process a GPU
        command += ["--stop-time-hours", "0.05"]  # ends one without this plugin, which does not know of calibrations
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
        own = {name: value for name, value in os.environ.items() if name not in names} | {"SAVE_DIR": folder}
        own |= {"PATH": f"{Path(sys.executable).parent}:{own['PATH']}", calibration.VARIABLE: str(result)}
        done = subprocess.run(command, env=own | plan.environment, capture_output=True, text=True)
        if result.exists():
            return Calibrated(json.loads(result.read_text()) | {"left_out": left_out})
    return _why_not(done, on_cpu_instead)


def _why_not(done: subprocess.CompletedProcess, on_cpu_instead: bool) -> Calibrated:
    if done.returncode == 0:
        return Calibrated({}, "its training does not use this plugin")
    code = 128 - done.returncode if done.returncode < 0 else done.returncode
    if code in KILLED:
        return Calibrated({}, f"the recipe {killed(code)}; a kill is mostly for want of memory on this machine")
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    errors = [line for line in said if "error:" in line.lower()] or said or [f"exit code {done.returncode}"]
    if on_cpu_instead and NEEDS_A_GPU in errors[-1]:
        return Calibrated({}, "the recipe has --fp16, which needs a GPU; give --dry-run on a node with one")
    elsewhere = code == AGAIN or (on_cpu_instead and TOO_LITTLE in errors[-1])  # what the job may not meet
    return Calibrated({}, f"the recipe says: {errors[-1]}", refused=not elsewhere)


def describe_run(plan: Plan, found: dict) -> str:
    """Lines about an update, the accumulation on fewer processes, memory and time."""
    return "\n".join([*_batch(plan, found), *_accumulation(plan, found), *_memory(plan, found), *_time(plan, found)])


def _device(plan: Plan) -> str:
    return "GPU" if plan.gpu else "process"


def _devices(plan: Plan) -> str:
    return "GPUs" if plan.gpu else "processes"


def _batch(plan: Plan, found: dict) -> list[str]:
    each, freq, length = found["batch_size"], found["update_freq"], found["tokens_per_sample"]
    factors = f"{plan.world_size} {_devices(plan)} x " + (f"--update-freq {freq} x " if freq > 1 else "")
    if not each:
        tokens = found["max_tokens"]
        total = plan.world_size * freq * tokens
        return [
            f"batch        at most {tokens:,} tokens a {_device(plan)}",
            f"update       {factors}{tokens:,} = {total:,} tokens",
        ]
    total = plan.world_size * freq * each
    return [
        f"batch        {each} sequences of {length} tokens a {_device(plan)}",
        f"update       {total} x {length} tokens: {factors}{each} = {total} sequences, {total * length:,} tokens",
    ]


def _accumulation(plan: Plan, found: dict) -> list[str]:
    """The --update-freq with which fewer processes make the same update."""
    whole = plan.world_size * found["update_freq"]
    fewer = [count for count in range(plan.world_size - 1, 0, -1) if whole % count == 0][:6]
    if not fewer:
        return []
    ways = ", ".join(f"{count}: --update-freq {whole // count}" for count in fewer)
    return [f"on fewer     {ways} (the same update, on so many {_devices(plan)})"]


def _memory(plan: Plan, found: dict) -> list[str]:
    held = f"{found['parameters'] / 1e6:.0f} M parameters, gradients and optimizer {found['state_bytes'] / GIB:.1f} GiB"
    if found["peak_bytes"]:
        return [f"memory       {found['peak_bytes'] / GIB:.1f} GiB a GPU, measured here on {found['device']} ({held})"]
    kept = found["activation_bytes"] * _sequences(found) / found["sequences"] / GIB
    total = found["state_bytes"] / GIB + kept
    how = "counted" + "".join(f", without {option}" for option in found["left_out"])
    return [f"memory       {total:.1f} GiB a {_device(plan)}: {held}, activations {kept:.1f} GiB ({how})"]


def _sequences(found: dict) -> float:
    """In a batch of the recipe."""
    return found["batch_size"] or found["max_tokens"] / found["tokens_per_sample"]


def _time(plan: Plan, found: dict) -> list[str]:
    """Of an update and of all, without the exchange of gradients."""
    batches = _sequences(found) * found["update_freq"] / found["sequences"]
    flop = found["flop"] * batches
    if plan.gpu and found["device"] == "CPU":
        seconds = flop / (TFLOP_PER_SECOND * 1e12)
        how = f"{flop / 1e12:.2f} TFLOP at {TFLOP_PER_SECOND} TFLOP/s; run this on a node with a GPU to measure it"
    else:
        seconds, how = found["seconds"] * batches, f"measured here on {found['device']}, one process"
    whole = f", {duration(seconds * found['max_update'])} for {found['max_update']:,}" if found["max_update"] else ""
    return [f"time         {seconds:.3g} s an update{whole}, without the exchange of gradients ({how})"]
