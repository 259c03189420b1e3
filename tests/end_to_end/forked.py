"""`fairseq-train` in children of one process that has imported everything: a training begins in a moment.

The console script, a signal, torchrun and Slurm are tested with processes of their own.
"""

import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SERVER = """
import json, os, sys, traceback
import torch._dynamo  # an optimizer imports it
from fairseq_cli import train
import alibert_fairseq

def child(log, cwd, environment, arguments):
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    try:
        train.cli_main()
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else print(end.code or "", file=sys.stderr) or bool(end.code)
    except BaseException:
        traceback.print_exc()
        return 1

for line in sys.stdin:
    place, cwd, environments, arguments = json.loads(line)
    log = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    children = []
    for environment in environments:
        children.append(os.fork())
        if children[-1] == 0:
            status = child(log, cwd, environment, arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(log)
    print(max(os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in children), flush=True)
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


def finish(command, cwd: Path, env: dict, processes: int = 1) -> tuple[int, str]:
    """Exit status (the largest, of several processes) and output of `fairseq-train ...`."""
    environments = [env]
    if processes > 1:  # what torchrun sets
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(processes)}
        environments = [env | meeting | {"RANK": str(n), "LOCAL_RANK": str(n)} for n in range(processes)]
    server = _server()
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        job = [log.name, str(cwd), environments, [str(word) for word in command]]
        print(json.dumps(job), file=server.stdin, flush=True)
        return int(server.stdout.readline()), log.read()


def run(*command, cwd: Path, env: dict, processes: int = 1) -> str:
    """The output of `fairseq-train ...`, or a failed test with it."""
    status, output = finish(command, cwd, env, processes)
    assert status == 0, f"{' '.join(map(str, command))}\n{output[-4000:]}"
    return output
