"""`alibert doctor`: what is installed, what works, and a remedy for each problem.

The exit code is 1 if something needed fails. Libraries are imported in processes of their own, so that a broken one
cannot end the check.
"""

import argparse
import itertools
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distributions, requires
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from alibert import __version__
from alibert_common.allocator import can_keep_freed_memory
from alibert_common.cli import program

NAME = "alibert_fairseq"
HOOK = "fairseq_compat.pth"
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HOME", "OMP_NUM_THREADS")
GPU = """import torch
count = torch.cuda.device_count()
names = [torch.cuda.get_device_name(i) for i in range(count)]
print(', '.join(f'{name} (compute capability {".".join(map(str, torch.cuda.get_device_capability(i)))})'
                for i, name in enumerate(names)) or 'none: trainings run on the CPU')"""
PRODUCTS = """import time, torch
def seconds(dtype):
    x = torch.randn(1024, 1024, dtype=dtype, device='cuda' if torch.cuda.is_available() else 'cpu')
    times = []
    for _ in range(6):
        began = time.perf_counter()
        (x @ x)[0, 0].item()
        times.append(time.perf_counter() - began)
    return sorted(times)[2]
print(f'{seconds(torch.float32) / seconds(torch.bfloat16):.1f}')"""
TRANSFORMERS = "from transformers import pipeline, Trainer, RobertaForMaskedLM"
FAIRSEQ = "import fairseq_compat\nfairseq_compat.activate()\nimport fairseq, fairseq_cli.train"
PLUGIN = "import fairseq_compat\nfairseq_compat.activate()\nimport fairseq, alibert_fairseq"
SECONDS = 300  # for an import on a slow disk


class Line(NamedTuple):
    """One result. `state` is ok, info, missing (an extra) or broken (something needed)."""

    state: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.state:>7}  {self.what}" + f"\n{'':>9}remedy: {self.remedy}" * bool(self.remedy)


def installed(distribution: str) -> str | None:
    """Return the version of a distribution, or None where it is not installed."""
    return next((package.version for package in distributions(name=distribution)), None)


def needs() -> dict[str, list[str]]:
    """Return the distributions that the project needs, by extra; "" for those it always needs."""
    names: dict[str, list[str]] = {"": []}
    for requirement in requires(NAME) or ():
        name, *extras = re.findall(r"^[\w.-]+|(?<=extra == ['\"])\w+", requirement)
        names.setdefault("".join(extras), []).append(name)
    return names


def python(code: str) -> tuple[bool, str]:
    """Run code in another process. Returns whether it worked, and its output or the last line of its error."""
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False, f"no answer within {SECONDS} s"
    if done.returncode == 0:
        return True, done.stdout.strip()
    return False, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def tried(code: str, name: str, result: str, remedy: str = "") -> Line:
    """Run code and report it in a line: `result` if it works, in which {} stands for the output."""
    worked, output = python(code)
    return Line("ok", result.format(output)) if worked else Line("broken", f"{name}: {output}", remedy)


def packages() -> Iterator[Line]:
    """Report the packages that the project needs, and its extras."""
    yield Line("info", f"alibert {__version__}, Python {platform.python_version()}, {platform.platform()}")
    if installed(NAME) is None:
        yield Line("info", f"{NAME} is not installed; it runs from {Path(__file__).parents[1]}")
        return
    for extra, names in needs().items():
        lacking = [name for name in names if installed(name) is None]
        what = f"extra {extra}" if extra else "required packages"
        if not lacking:
            yield Line("ok", f"{what}: all {len(names)} are installed")
        else:
            remedy = f"uv pip install '{NAME}[{extra}]'" if extra else f"uv pip install --reinstall {NAME}"
            yield Line("missing" if extra else "broken", f"{what}: {', '.join(lacking)} not installed", remedy)


def libraries() -> Iterator[Line]:
    """Report whether the large libraries can be imported, and companions of torch that were built for another torch."""
    for name in ("torch", "transformers", "tokenizers", "numpy", "fairseq"):
        if release := installed(name):
            yield Line("info", f"{name} {release}")
    yield tried(GPU, "torch", "GPU: {}", "install torch again")
    yield tried(PRODUCTS, "torch", "matrix products in bfloat16: {} x the speed of float32 (--measure-precision)")
    torch = installed("torch")
    for name in ("torchaudio", "torchvision"):
        if installed(name) and torch and not python(f"import {name}")[0]:
            what = f"{name} {installed(name)} cannot be imported beside torch {torch}; transformers ignores it"
            yield Line("info", what, f"uv pip uninstall {name}")
    remedy = "remove torchaudio and torchvision, or install those of torch's version"
    yield tried(TRANSFORMERS, "transformers", "transformers can be imported", remedy)


def pretraining() -> Iterator[Line]:
    """Report fairseq, the plugin, the repairs and the import hook. Without fairseq: what its installation needs."""
    if installed("fairseq") is None:  # its installation compiles it
        if not any(map(shutil.which, (os.environ.get("CXX", "c++"), "g++"))):
            yield Line("missing", "no C++ compiler, which the extra fairseq needs", "install a package such as g++")
        if not Path(sysconfig.get_path("include"), "Python.h").is_file():
            yield Line("missing", "no Python.h, which the extra fairseq needs", "install a package such as python3-dev")
        return
    fairseq = tried(FAIRSEQ, "fairseq", "fairseq can be imported", f"uv pip install '{NAME}[fairseq]'")
    yield fairseq
    if fairseq.state == "ok":
        yield tried(PLUGIN, "plugin", "the plugin can be loaded")
    from fairseq_compat.repairs import REPAIRS  # here: it needs numpy, which may be broken

    states = [repair.state() for repair in REPAIRS]
    yield Line("ok", f"repairs of fairseq: {states.count('repaired')} act (`python -m fairseq_compat` lists them)")
    for repair in REPAIRS:
        if repair.state() == "cannot repair":
            needed, release = f"{repair.distribution} {repair.release}", installed(repair.distribution)
            yield Line("broken", f"repair written for {needed}, found {release}: {repair.what}", f"install {needed}")
    if hook := next((file for folder in sys.path if folder and (file := Path(folder, HOOK)).is_file()), None):
        yield Line("ok", f"the import hook starts with Python: {hook} (the repairs for `fairseq-train` and recipes)")
    else:
        what = f"no {HOOK} in this Python: `fairseq-train` and recipes lack the repairs; try `alibert train`"
        yield Line("info", what)


def surroundings() -> Iterator[Line]:
    """Report Slurm, the cores and the variables of the environment."""
    slurm = shutil.which("sbatch") or "no sbatch on PATH; `alibert launch` runs on this machine"
    yield Line("info", f"Slurm: {slurm}")
    yield Line("info", f"{len(os.sched_getaffinity(0))} cores")
    kept = "keep the memory that they free" if can_keep_freed_memory() else "take memory anew in each update (no glibc)"
    yield Line("info", f"allocator: trainings on a CPU {kept}")
    given = [f"{name}={os.environ[name]}" for name in OFFLINE if name in os.environ]
    yield Line("info", f"environment: {', '.join(given) or 'none of ' + ', '.join(OFFLINE)}")
    if find_spec("alibert_fairseq") is None:
        yield Line("broken", "package alibert_fairseq: not found", f"uv pip install {NAME}")


def main(arguments: list[str]) -> None:
    """Run the verb `doctor`."""
    text = "Check the installation: versions, extras, GPU, repairs, Slurm. Exit code 1 if something needed fails."
    argparse.ArgumentParser(program("alibert doctor"), description=text).parse_args(arguments)
    broken = 0
    for line in itertools.chain(packages(), libraries(), pretraining(), surroundings()):
        print(line, flush=True)
        broken += line.state == "broken"
    print(f"{broken} problems" if broken else "everything needed works")
    sys.exit(1 if broken else 0)
