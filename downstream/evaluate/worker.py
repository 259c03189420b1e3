"""A process that has imported torch once and runs every command in a fork of itself.

Importing torch and transformers takes seconds, a fork milliseconds; a fork that crashes takes nothing with it. The
evaluation asks line by line in JSON, and every line is answered: {"command", "log", "threads"} starts a fork, whose
process number is the answer; {"poll": NUMBER} has the exit code (negative: a signal), or null while the fork runs;
{"end": true} ends all forks. If the evaluation is killed, the forks that run continue to their end.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from alibert_common.errors import InputError, exit_with_sentence

PRELOADED = ("downstream.experiment.set_up", "downstream.tuning.trials", "seqeval.metrics", "sklearn.metrics")


class Worker:
    """The other side: starts the process, and commands in it."""

    def __init__(self) -> None:
        read, write = os.pipe()
        command = [sys.executable, "-m", __name__, str(write)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, bufsize=1, pass_fds=(write,))
        os.close(write)
        assert self.process.stdin
        self.requests = self.process.stdin
        self.asked = 0
        self.answers = os.fdopen(read)

    def start(self, command: list[str], log: Path | None, threads: int | None) -> int:
        """The process number of a module and its words; log: of what it prints, None: this process's output."""
        return self._ask({"command": command, "log": log and str(log), "threads": threads}) or 0

    def poll(self, number: int) -> int | None:
        """The exit code; None while it runs."""
        return self._ask({"poll": number})

    def close(self) -> None:
        """End all forks that run, and the process."""
        with suppress(InputError):
            self._ask({"end": True})
        with suppress(BrokenPipeError):  # of a request that a killed process did not read
            self.requests.close()
        self.process.wait()
        self.answers.close()

    def _ask(self, request: dict) -> int | None:
        self.asked += 1
        with suppress(BrokenPipeError):
            self.requests.write(json.dumps(request | {"number": self.asked}) + "\n")
            for line in self.answers:
                number, answer = json.loads(line)
                if number == self.asked:  # an answer to an earlier one is left where a signal came before it was read
                    return answer
        status = self.process.wait()
        end = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"
        raise InputError(f"the process that runs the commands {end}; start the evaluation again, which resumes.")


def serve(answers: int) -> None:
    """Answer the requests on stdin until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the evaluation, which ends the forks
    for module in PRELOADED:
        import_module(module)
    codes: dict[int, int | None] = {}  # by process number
    with os.fdopen(answers, "w", buffering=1) as out:
        for line in sys.stdin:
            request = json.loads(line)
            number = request.pop("number")
            if "poll" in request:
                answer = _code(codes, request["poll"])
            elif "end" in request:
                _end(codes)
                answer = None
            else:
                answer = os.fork()
                if not answer:
                    os.close(answers)  # else the evaluation would not learn of the end of this process
                    _run_and_exit(**request)
                codes[answer] = None
            out.write(json.dumps([number, answer]) + "\n")


def _code(codes: dict[int, int | None], process: int, options: int = os.WNOHANG) -> int | None:
    """The exit code of a fork, remembered once it has ended."""
    if codes[process] is None:
        ended, status = os.waitpid(process, options)
        codes[process] = os.waitstatus_to_exitcode(status) if ended else None
    return codes[process]


def _end(codes: dict[int, int | None]) -> None:
    """Stop the forks that run, and wait for them."""
    running = [process for process in codes if _code(codes, process) is None]
    for process in running:
        os.kill(process, signal.SIGTERM)
    for process in running:
        _code(codes, process, 0)


def _run_and_exit(command: list[str], log: str | None, threads: int | None) -> None:
    """In the fork: the module's `main`, as `python -m` would run it."""
    import torch

    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if log:
            opened = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            os.dup2(opened, 1)
            os.dup2(opened, 2)
        sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)
        if threads:
            torch.set_num_threads(threads)
        exit_with_sentence(lambda: import_module(command[0]).main(command[1:]))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
