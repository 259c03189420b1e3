"""What a command costs: time, time of the processor, memory and disk, with all processes that it starts."""

import os
import re
import resource
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

LOOK_SECONDS = 0.2  # between two looks at memory and disk
MB = 1e6
TICKS = os.sysconf("SC_CLK_TCK")
BAR = re.compile(r"^\W*(\w[^:|]*?): +\d+%\|")  # of tqdm


@dataclass
class Cost:
    """Seconds, MB of memory and MB of disk. Memory that processes share counts once in `together_mb`."""

    seconds: float = 0.0
    processor: float = 0.0  # of all processes
    own_processor: float = 0.0  # of the first process: what cannot be divided among others
    largest_mb: float = 0.0  # peak of the largest process
    own_mb: float = 0.0  # peak of the first process
    together_mb: float = 0.0  # peak of the sum of all processes
    processes: int = 0
    disk_mb: float = 0.0  # peak of the watched folder
    phases: list[tuple[str, float, float]] = field(default_factory=list)  # (name, seconds, processor) at its start


def measured(command: list, log: Path, folder: Path, watched: Path | None = None, **variables: str) -> Cost:
    """Run a command to its end in `folder`, with `variables` added to the environment.

    `watched` is the output; `.NAME.work` beside it counts too. The command's words go to `log`. Raises SystemExit with
    their end when it fails.
    """
    cost = Cost()
    began = time.perf_counter()
    with open(log, "wb") as said:
        streams: dict = {"stdout": said, "stderr": subprocess.PIPE}
        process = subprocess.Popen(list(map(str, command)), cwd=folder, env=environment(variables), **streams)
        ended = threading.Event()
        threads = [
            threading.Thread(target=_watch, args=(cost, process.pid, watched, ended)),
            threading.Thread(target=_listen, args=(cost, process, said, began)),
        ]
        for thread in threads:
            thread.start()
        _, status, usage = os.wait4(process.pid, 0)
        cost.seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        for thread in threads:
            thread.join()
    if process.returncode:
        said_last = log.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise SystemExit(f"{' '.join(map(str, command))}: {process.returncode}\n{said_last}")
    # A fork server ends after its parent, and nobody waits for it: then what was seen is more.
    cost.processor = max(cost.processor, usage.ru_utime + usage.ru_stime)
    # The kernel's figure knows processes too short to be looked at, but begins with the peak of this one.
    if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        cost.largest_mb = max(cost.largest_mb, usage.ru_maxrss * 1024 / MB)
    return cost


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This one's, without the settings of the allocator, with one thread a process and without network."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    return own | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"} | dict(variables)


def _watch(cost: Cost, number: int, watched: Path | None, ended: threading.Event) -> None:
    """Look at the processes until the end. Peaks of a process come from the kernel; the sum is the largest one seen."""
    while not ended.wait(LOOK_SECONDS):
        family = [number, *descendants(number)]
        peaks = [kilobytes(one, "status", "VmHWM") * 1024 / MB for one in family]
        cost.largest_mb, cost.own_mb = max([cost.largest_mb, *peaks]), max(cost.own_mb, peaks[0])
        together = sum(kilobytes(one, "smaps_rollup", "Pss") for one in family) * 1024 / MB
        cost.together_mb, cost.processes = max(cost.together_mb, together), max(cost.processes, len(family))
        cost.own_processor = max(cost.own_processor, sum(ticks(number)[:2]) / TICKS)
        cost.processor = max(cost.processor, sum(sum(ticks(one)) for one in family) / TICKS)
        if watched:
            folders = [watched, watched.with_name(f".{watched.name}.work")]
            cost.disk_mb = max(cost.disk_mb, sum(map(bytes_below, folders)) / MB)


def _listen(cost: Cost, process: subprocess.Popen, said: BinaryIO, began: float) -> None:
    """Copy what the command says; note when a progress bar of another name, or another message, appears.

    A bar begins with the end of its line and is complete only at the next one. So it is looked for before that.
    """
    assert process.stderr
    rest = ""
    while chunk := os.read(process.stderr.fileno(), 1 << 16):
        said.write(chunk)
        *lines, rest = re.split("[\r\n]", rest + chunk.decode(errors="replace"))
        for line in [*lines, rest]:
            bar = BAR.match(line)
            name = bar[1] if bar else " ".join(re.findall(r"\w+", line)[:2]) if line is not rest else ""
            if name and (not cost.phases or cost.phases[-1][0] != name):
                family = [process.pid, *descendants(process.pid)]
                processor = sum(sum(ticks(one)) for one in family) / TICKS
                cost.phases.append((name, time.perf_counter() - began, processor))


def descendants(number: int) -> list[int]:
    """All processes below one."""
    try:
        threads = Path(f"/proc/{number}/task").iterdir()
        children = [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:  # it has ended
        return []
    return children + [one for child in children for one in descendants(child)]


def kilobytes(number: int, file: str, name: str) -> int:
    """A figure that the kernel gives of a process, 0 when it has ended."""
    try:
        lines = Path(f"/proc/{number}/{file}").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def ticks(number: int) -> tuple[int, ...]:
    """Time of the processor of a process and of its ended children: user, system, user, system; 0 when it has ended."""
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return (0, 0, 0, 0)
    return tuple(map(int, text.rpartition(")")[2].split()[11:15]))


def bytes_below(folder: Path) -> int:
    """What a file takes, or all files of a folder; 0 if it is not there."""
    total = folder.stat().st_size if folder.is_file() else 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_size
            except OSError:  # it went meanwhile
                continue
    return total
