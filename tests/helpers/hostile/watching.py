"""A command that is watched: its memory and that of its children, calls to a port, changes of files."""

import hashlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.05  # seconds between two looks
MEGABYTE = 1_000_000


@dataclass
class Watched:
    """How a command went: why it was ended, if it was; bytes are the highest of one process and of all together."""

    status: int
    seconds: float
    highest: int
    together: int
    errors: str
    ended: str = ""


def watch(command: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float, limit: int) -> Watched:
    """Run a command in a folder. It is ended after so many seconds, or when it takes more bytes than the limit."""
    with open(folder / "errors.txt", "w+b") as errors:
        started, highest, together, ended = time.monotonic(), 0, 0, ""
        child = subprocess.Popen(
            command, cwd=folder, env=dict(environment), stdout=errors, stderr=errors, start_new_session=True
        )
        while child.poll() is None:
            sizes = [*map(_memory, _tree(child.pid))]
            highest = max([highest, *(peak for peak, _ in sizes)])
            now = sum(size for _, size in sizes)
            together = max(together, now)
            if time.monotonic() - started > seconds:
                ended = f"after {seconds:,.0f} s"
            elif now > limit:
                ended = f"at {now / MEGABYTE:,.0f} MB"
            if ended:
                os.killpg(child.pid, signal.SIGKILL)  # its own session, begun above
                child.wait()
            time.sleep(EVERY)
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace")
    (folder / "errors.txt").unlink()
    return Watched(child.returncode, time.monotonic() - started, highest, together, said, ended)


def _tree(root: int) -> Iterable[int]:
    """A process and all that it started."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    waiting = [root]
    while waiting:
        yield (process := waiting.pop())
        waiting += children.get(process, [])


def _memory(process: int) -> tuple[int, int]:
    """The highest memory of a process so far and that of now, in bytes; (0, 0) when it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0, 0
    values = dict(line.split(":", 1) for line in lines if line.startswith(("VmHWM", "VmRSS")))
    return tuple(int(values.get(name, "0 kB").split()[0]) * 1024 for name in ("VmHWM", "VmRSS"))


@dataclass
class Listener:
    """Waits at a port of this machine and notes who calls."""

    port: int
    calls: list[str] = field(default_factory=list)

    def __enter__(self) -> "Listener":
        self.server = socket.create_server(("127.0.0.1", self.port))
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join()

    def _listen(self) -> None:
        with suppress(OSError):  # the server was closed
            while True:
                connection, _ = self.server.accept()
                with connection:
                    connection.settimeout(1)
                    with suppress(OSError):
                        self.calls.append(connection.recv(200).decode("latin-1").partition("\r\n")[0])


def state_of(folders: Iterable[Path]) -> dict[Path, tuple]:
    """All files below the folders, with size, time and kind, and the content of small ones."""
    return {path: _state(path) for folder in folders for path in [folder, *folder.rglob("*")]}


def _state(path: Path) -> tuple:
    status = path.lstat()
    small = path.is_file() and not path.is_symlink() and status.st_size < MEGABYTE
    content = hashlib.sha256(path.read_bytes()).hexdigest() if small else ""
    return status.st_mode, status.st_size, status.st_mtime_ns, content


def changes(before: Mapping[Path, tuple], after: Mapping[Path, tuple]) -> list[Path]:
    """The files that are new, gone or another."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
