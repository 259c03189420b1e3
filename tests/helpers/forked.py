"""`fairseq-train ...` and `python -m ...` in children of one process that has imported everything: they begin at once.

The console script, a signal, torchrun and Slurm are tested with processes of their own.
"""

import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SERVER = """
import atexit, contextlib, importlib, json, os, runpy, sys, traceback, warnings
warnings.filterwarnings("ignore", category=RuntimeWarning, module="runpy")  # the command is imported already

configurations = {}

def train(arguments):
    import alibert_fairseq
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq_cli import train
    words = tuple(arguments[1:])
    others = words.count("--user-dir") > 1 or alibert_fairseq.__path__[0] not in words
    if words not in configurations and not others:  # another plugin is imported in the child only
        # fairseq needs half a second, for a process that resumes as for the first. The child says why it fails.
        with open(os.devnull, "w") as null, contextlib.redirect_stderr(null), contextlib.suppress(BaseException):
            parsed = options.parse_args_and_arch(options.get_training_parser(), input_args=list(words))
            configurations[words] = convert_namespace_to_omegaconf(parsed)
    if words in configurations:
        def begin():
            train.convert_namespace_to_omegaconf = lambda parsed: configurations[words]
            return train.cli_main()
        return begin
    return train.cli_main

def prepare(arguments):
    # What the children are to find imported, and how one begins.
    if arguments[1:2] != ["-m"]:
        return train(arguments)
    try:
        importlib.import_module(arguments[2])
    except BaseException:
        pass  # the child says why
    return lambda: runpy.run_module(arguments[2], run_name="__main__", alter_sys=True)

def child(log, cwd, environment, arguments, begin):
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments[2:] if arguments[1:2] == ["-m"] else arguments
    try:
        begin()
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else print(end.code or "", file=sys.stderr) or bool(end.code)
    except BaseException:
        traceback.print_exc()
        return 1

for line in sys.stdin:
    logs, cwd, environments, arguments = json.loads(line)
    begins = [prepare(own) for own in arguments]
    children = []
    for place, environment, own, begin in zip(logs, environments, arguments, begins):
        children.append(os.fork())
        if children[-1] == 0:
            log = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            status = child(log, cwd, environment, own, begin)
            if own[1:2] == ["-m"]:
                atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(json.dumps(children), flush=True)
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in children]), flush=True)
"""


@functools.cache
def _server() -> subprocess.Popen:
    """Ends with this process, which holds its standard input."""
    own = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(REPOSITORY)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", SERVER], env=own, **pipes)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Job:
    """Started processes: `pids`, and one log each, or the same. A job that a failed test left is ended by the next."""

    left: "Job | None" = None

    def __init__(self, commands: list[list], environments: list[dict], cwd: Path, logs: list[Path]):
        if Job.left:
            Job.left._stop()
        self.logs, Job.left = logs, self
        words = [[str(word) for word in command] for command in commands]
        job = [[str(log) for log in logs], str(cwd), environments, words]
        print(json.dumps(job), file=_server().stdin, flush=True)
        self.pids = json.loads(_server().stdout.readline())

    def ends(self, within: float) -> list[int]:
        """The exit codes; a failed test, and an end to all, if they are not there in so many seconds."""
        late = not select.select([_server().stdout], [], [], within)[0]
        codes = self._stop() if late else self._codes()
        assert not late, f"not all ended within {within} s: {codes}"
        return codes

    def _stop(self) -> list[int]:
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return self._codes()

    def _codes(self) -> list[int]:
        Job.left = None
        return json.loads(_server().stdout.readline())


def meeting(env: dict, processes: int, port: int | None = None) -> list[dict]:
    """The environment of each process, as torchrun sets it."""
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port or free_port()), "WORLD_SIZE": str(processes)}
    return [env | where | {"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]


def finish(command, cwd: Path, env: dict, processes: int = 1) -> tuple[int, str]:
    """Exit status (of several processes, one that is not 0) and output of `fairseq-train ...` or `python -m ...`."""
    environments = meeting(env, processes) if processes > 1 else [env]
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        job = Job([command] * processes, environments, cwd, [Path(log.name)] * processes)
        return max(job.ends(within=600), key=abs), log.read()  # a killed one has a number below 0


def run(*command, cwd: Path, env: dict, processes: int = 1) -> str:
    """The output of `fairseq-train ...` or `python -m ...`, or a failed test with it."""
    status, output = finish(command, cwd, env, processes)
    assert status == 0, f"{' '.join(map(str, command))}\n{output[-4000:]}"
    return output
