"""Conversion in a process of its own, with a limit of time and of memory: a hostile file ends that process only.

The process gets no command to run, no network and no file to write (child.py). Its answer is JSON. It stays for the
next file; after a crash or a file that took too long, a new one begins.
"""

import atexit
import base64
import json
import os
import subprocess
import sys
from functools import cache
from threading import Timer

from preprocess.readers.content import Content
from preprocess.readers.read_log import CommandError, Fault

OPEN_AND_SAVE = "open it with its own program and save it again, or leave it out"


class Converter:
    """A process that converts one file after the other."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = os.getpid()

    def convert(self, data: bytes, kind: str, seconds: int, with_scans: bool = False, name: str = "") -> Content:
        """The content of a file; without a `kind`, what its bytes and its `name` tell.

        Raises Fault, and CommandError for a library that is not installed.
        """
        return Content.from_json(self._answer({"kind": kind, "with_scans": with_scans, "name": name}, seconds, data))

    def picture(self, number: int, seconds: int) -> bytes:
        """The scan of this number of the last content, as PNG. Raises Fault."""
        if not self.process:
            raise Fault("a page of a file that crashed its reader", OPEN_AND_SAVE)
        return base64.b64decode(self._answer({"kind": "scan", "number": number}, seconds)["png"])

    def _answer(self, question: dict, seconds: int, data: bytes = b"") -> dict:
        """What the process answers. Raises Fault and CommandError."""
        answer = self._record(question | {"seconds": seconds, "size": len(data)}, data)
        if "missing" in answer:
            raise CommandError(answer["missing"])
        if "reason" in answer:
            raise Fault(answer["reason"], answer["remedy"], answer["detail"])
        return answer

    def _record(self, question: dict, data: bytes) -> dict:
        process = self.process or self._start()
        late = False

        def end() -> None:
            nonlocal late
            late = True
            process.kill()

        timer = Timer(question["seconds"], end)
        timer.start()
        try:
            assert process.stdin and process.stdout
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.write(data)
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        finally:
            timer.cancel()
        whole = answer.endswith(b"\n")
        if late or not whole:
            self.stop()
        if not whole:
            if late:
                raise Fault("a file that takes too long", "raise --time-limit", f"{question['seconds']} seconds")
            raise Fault("a file that crashes its reader", OPEN_AND_SAVE, f"exit {process.returncode}")
        record = json.loads(answer)
        if record.get("end"):  # its memory is full
            self.stop()
        return record

    def _start(self) -> subprocess.Popen[bytes]:
        """Begin the process, without the passwords of this one, and wait until its modules are there."""
        path = os.pathsep.join(filter(None, sys.path))
        environment = {name: value for name, value in without_passwords().items() if not name.startswith("MALLOC_")}
        # Without "" in the path: that is the current folder, which may hold files of any name.
        path_alone = "import sys; sys.path = [folder for folder in sys.path if folder]"
        command = [sys.executable, "-c", f"{path_alone}; from preprocess.readers.conversion.child import main; main()"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self.process.stdout
        if self.process.stdout.readline() != b"ready\n":
            self.stop()
            raise RuntimeError("the process that reads PDF and office files does not start")
        return self.process

    def stop(self) -> None:
        """End the process."""
        if self.process and self.owner == os.getpid():
            self.process.kill()
            self.process.communicate()
        self.process = None


def without_passwords() -> dict[str, str]:
    """The environment of a process that must not know the passwords of this one."""
    return {name: value for name, value in os.environ.items() if "PASS" not in name}


@cache
def _converter(owner: int) -> Converter:
    converter = Converter()
    atexit.register(converter.stop)
    return converter


def converter() -> Converter:
    """The converter of this process; a forked child gets its own."""
    return _converter(os.getpid())
