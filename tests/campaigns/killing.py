"""A training that is killed at drawn moments: how each kind of moment is met, and what the folder shows of it."""

import json
import random
import time
from dataclasses import dataclass
from pathlib import Path

from fairseq import checkpoint_utils
from training_child import METRICS, Child, updates_in

KEPT = 2  # --keep-interval-updates
CALLS_OF_START = [
    "open metrics.lost.jsonl",
    f"open .{METRICS}.partial",
    f"rename .{METRICS}.partial",
    f"open {METRICS}",
]


@dataclass
class Training:
    """A command with the folder it saves to; its log and what it calls lie beside that."""

    command: list[str]
    folder: Path

    def start(self, stop: str | None = None) -> Child:
        """Begin, or go on. `stop`: before which call it stops."""
        self.folder.mkdir(parents=True, exist_ok=True)
        beside = self.folder.with_suffix(".log"), self.folder.with_suffix(".calls")
        return Child([*self.command, "--save-dir", str(self.folder)], self.folder, *beside, stop)

    def end(self, child: Child) -> None:
        """Let it end by itself, and well."""
        assert child.end() == 0, self.folder.with_suffix(".log").read_text()[-4000:]

    def saved(self) -> int:
        """The updates in checkpoint_last.pt, from which it goes on."""
        last = self.folder / "checkpoint_last.pt"
        if not last.exists():
            return 0
        return checkpoint_utils.load_checkpoint_to_cpu(str(last))["optimizer_history"][-1]["num_updates"]

    def has_made(self, child: Child, update: int) -> bool:
        """Whether metrics.jsonl knows the update. Until the child opens it, it may hold what will be done again."""
        return f"0\topen {METRICS}" in child.calls() and updates_in(self.folder) >= update


@dataclass
class Peace:
    """The training that nobody killed."""

    folder: Path
    notes: list[str]  # of all its calls
    epochs: list[int]  # of each update
    start_seconds: float  # until its first update
    update_seconds: float
    size: int  # of a checkpoint

    def calls(self, after: int) -> list[str]:
        """Those of the first save after so many updates, from the opening of its file on."""
        saves = [note for note in self.notes if "\topen checkpoint" in note and update_of(note) >= after]
        since = self.notes[self.notes.index(saves[0]) :] if saves else []
        return [note for note in since if update_of(note) == update_of(saves[0])]


def update_of(note: str) -> int:
    """After which it was noted."""
    return int(note.partition("\t")[0])


def in_peace(training: Training) -> Peace:
    """Train to the end."""
    child, moments = training.start(), []
    for update in (1, 11):
        child.goes_on_until(lambda update=update: training.has_made(child, update))
        moments.append(time.perf_counter() - child.began)
    training.end(child)
    lines = [json.loads(line) for line in (training.folder / METRICS).read_text().splitlines()]
    size = (training.folder / "checkpoint_last.pt").stat().st_size
    epochs = [line["epoch"] for line in lines]
    return Peace(training.folder, child.calls(), epochs, moments[0], (moments[1] - moments[0]) / 10, size)


def at_update(training: Training, due: int, peace: Peace, draw: random.Random) -> Child:
    """Some time after the update, up to what one takes."""
    child = training.start()
    if child.goes_on_until(lambda: training.has_made(child, due)):
        time.sleep(draw.uniform(0, peace.update_seconds))
    return child


def in_bytes(training: Training, due: int, peace: Peace, draw: random.Random) -> Child:
    """In the next save, with some bytes of its file written."""
    opening, *_ = peace.calls(due) or [None]
    size, begun = draw.random() * peace.size, False
    child = training.start(opening)
    if child.goes_on_until(lambda: False):
        file = training.folder / opening.partition("open ")[2]
        while child.step() and not (begun and written(file) >= size):
            begun = begun or file.exists()
    return child


def written(file: Path) -> float:
    """Its bytes; without end when it has its name."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return float("inf")


def in_names(training: Training, due: int, peace: Peace, draw: random.Random) -> Child:
    """In the next save, before one of the calls that follow its file's."""
    _, *others = peace.calls(due) or [None]
    child = training.start(draw.choice(others) if others else None)
    child.goes_on_until(lambda: False)
    return child


def in_start(training: Training, _: int, peace: Peace, draw: random.Random) -> Child:
    """Before its first update: at some time, or before a call; after it where there is no such call."""
    call, seconds = draw.choice([None, draw.choice(CALLS_OF_START)]), draw.uniform(0, peace.start_seconds)
    child, resumed = training.start(call and f"0\t{call}"), training.saved()

    def has_come() -> bool:
        late = call is None and time.perf_counter() - child.began >= seconds
        return late or training.has_made(child, resumed + 1)

    child.goes_on_until(has_come)
    return child


KINDS = {"update": at_update, "bytes": in_bytes, "names": in_names, "again": in_start}


def signs_of_a_save(folder: Path) -> dict[tuple, str]:
    """{what tells it from others: in words} of all that a save leaves in a folder while it is under way."""
    found = {}
    for file in folder.glob("*.tmp"):
        stat = file.stat()
        found[file.name, stat.st_mtime_ns, stat.st_size] = f"{file.name} of {stat.st_size} bytes"
    last = folder / "checkpoint_last.pt"
    files = sorted(folder.glob("checkpoint_[0-9]*_*.pt"), key=lambda file: file.stat().st_mtime_ns)
    times = [file.stat().st_mtime_ns for file in files]
    if files and (not last.exists() or last.stat().st_mtime_ns < times[-1]):
        found["not last", times[-1]] = f"{files[-1].name} is not yet {last.name}"
    if len(files) > KEPT:
        found["too many", times[-1]] = f"{files[0].name} is not yet removed"
    return found
