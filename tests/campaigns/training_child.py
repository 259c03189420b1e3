"""A training in a child process with a group of its own, which stops before a call that changes its folder if asked.

The parent has imported everything, so that a training begins in a moment; the child runs `fairseq-train` as the console
script does. A hook of the interpreter sees each call that opens, links, renames or removes a file in the folder before
it is done, and notes it, as "update<TAB>call name". At the one that was asked for, it stops its process with SIGSTOP:
there it stands for whoever wants to look at the folder, to kill it, or to let it go on.
"""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fairseq_cli import train

METRICS = "metrics.jsonl"
CALLS = ("open", "os.link", "os.rename", "os.remove")
LOOK_SECONDS = 0.0005  # between two looks at the child


def updates_in(folder: Path) -> int:
    """The last update that metrics.jsonl knows."""
    try:
        lines = (folder / METRICS).read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return 0
    whole = [line for line in lines if line.endswith(b"\n")]
    return json.loads(whole[-1])["update"] if whole else 0


class Hook:
    """Of the interpreter, for sys.addaudithook."""

    def __init__(self, folder: Path, notes: int, stop: str | None):
        self.folder, self.notes, self.stop, self.begun = folder, notes, stop, False

    def __call__(self, event: str, arguments: tuple) -> None:
        if event not in CALLS or (name := self.name_of(event, arguments)) is None:
            return
        note = f"{updates_in(self.folder) if self.begun else 0}\t{name}"  # before that it holds what will be done again
        self.begun = self.begun or name == f"open {METRICS}"
        os.write(self.notes, f"{note}\n".encode())
        if note == self.stop:
            self.stop = None
            os.kill(os.getpid(), signal.SIGSTOP)

    def name_of(self, event: str, arguments: tuple) -> str | None:
        """What the call does, None if it does nothing in the folder."""
        path = arguments[1] if event == "os.link" else arguments[0]
        if not isinstance(path, (str, os.PathLike)):
            return None
        path = Path(os.path.abspath(path))
        if path == self.folder:
            return "flush names"
        reads = event == "open" and "r" in (arguments[1] or "r")
        if path.parent != self.folder or reads or (event == "os.remove" and not path.exists()):
            return None
        return f"{event.removeprefix('os.')} {path.name}"


class Child:
    """`fairseq-train` with these arguments. Its output goes to the end of `log`, its calls to `notes`."""

    def __init__(self, arguments: list[str], folder: Path, log: Path, notes: Path, stop: str | None = None):
        notes.write_bytes(b"")
        self.notes, self.status, self.stopped, self.began = notes, None, False, time.perf_counter()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _run(arguments, log, Hook(folder, os.open(notes, os.O_WRONLY | os.O_APPEND), stop))
        with suppress(OSError):  # both do it, so that it is done when either goes on
            os.setpgid(self.pid, self.pid)

    def calls(self) -> list[str]:
        """What it noted."""
        return self.notes.read_text().splitlines()

    def look(self, wait: bool = False) -> None:
        """Learn whether it stopped or ended; with `wait`, when it does."""
        pid, status = os.waitpid(self.pid, os.WUNTRACED | (0 if wait else os.WNOHANG))
        if pid and os.WIFSTOPPED(status):
            self.stopped = True
        elif pid:
            self.status = os.waitstatus_to_exitcode(status)

    def goes_on_until(self, moment: Callable[[], bool]) -> bool:
        """Whether it came, or a stop did, before the child ended."""
        while self.status is None and not self.stopped and not moment():
            time.sleep(LOOK_SECONDS)
            self.look()
        return self.status is None

    def step(self) -> bool:
        """Let it do a little; whether it is still there."""
        os.kill(self.pid, signal.SIGCONT)
        time.sleep(LOOK_SECONDS)
        os.kill(self.pid, signal.SIGSTOP)
        self.look(wait=True)
        return self.status is None

    def kill(self) -> bool:
        """All of its group: the workers that read data too. False if it had ended."""
        if self.status is None:
            os.killpg(self.pid, signal.SIGKILL)
        while self.status is None:
            self.look(wait=True)
        return self.status == -signal.SIGKILL

    def end(self) -> int:
        """Wait; its exit status."""
        while self.status is None:
            self.look(wait=True)
        return self.status


def _run(arguments: list[str], log: Path, hook: Hook) -> None:
    """In the child, which does not come back."""
    status = 1
    try:
        os.setpgid(0, 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.argv = ["fairseq-train", *arguments]
        sys.addaudithook(hook)
        train.cli_main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else print(end.code or "") or int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
