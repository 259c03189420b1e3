"""A real Slurm with two nodes on this machine: own ports, key and directory; one that runs already is left alone."""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

NODES = ("n1", "n2")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
HOSTS = Path("/etc/hosts")
HOSTS_LINE = f"\n127.0.0.1 {' '.join(NODES)} # two_node_slurm (tests/slurm)\n"

CONFIGURATION = """\
ClusterName=alibert_test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
SlurmdTimeout=10
ReturnToService=2
KillWait=5
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first_port} CPUs=1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second_port} CPUs=1
PartitionName=test Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture(scope="session")
def two_node_slurm() -> Iterator[Path]:
    """Start the cluster, set SLURM_CONF for the tests, yield its directory; at the end stop all that was started.

    The tests that ask for it are skipped, with the reason, where Slurm cannot be installed or started.
    """
    _need_programs()
    directory = Path(tempfile.mkdtemp(prefix="two_node_slurm."))
    directory.chmod(0o755)  # munged refuses a socket that others cannot reach
    before = {name: os.environ.get(name) for name in ("SLURM_CONF", *_slurm_variables())}
    daemons: list[subprocess.Popen] = []
    try:
        _name_the_nodes()
        for name in before:
            os.environ.pop(name, None)
        os.environ["SLURM_CONF"] = str(_write_configuration(directory))
        _start(daemons, directory)
        yield directory
    finally:
        _stop(daemons)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        _forget_the_nodes()
        shutil.rmtree(directory, ignore_errors=True)


def _slurm_variables() -> list[str]:
    """Variables of a Slurm job that the tests themselves may run in: sbatch would read them as options."""
    return [name for name in os.environ if name.startswith(("SLURM_", "SBATCH_")) and name != "SLURM_CONF"]


def _need_programs() -> None:
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "slurm-wlm", "munge"]):
            subprocess.run(["apt-get", "-q", *command], env=environment, capture_output=True, timeout=300)
        missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        pytest.skip(f"no Slurm on this machine and none could be installed: {', '.join(missing)} not found")


def _name_the_nodes() -> None:
    try:
        if any(socket.gethostbyname(node) != "127.0.0.1" for node in NODES):
            pytest.skip("the names n1 and n2 belong to other machines here")
    except OSError:
        if not os.access(HOSTS, os.W_OK):
            pytest.skip("n1 and n2 must be names of this machine: add `127.0.0.1 n1 n2` to /etc/hosts")
        with open(HOSTS, "a") as handle:
            handle.write(HOSTS_LINE)


def _forget_the_nodes() -> None:
    text = HOSTS.read_text()
    if HOSTS_LINE in text:
        HOSTS.write_text(text.replace(HOSTS_LINE, ""))


def _write_configuration(directory: Path) -> Path:
    for name in ("state", *(f"spool-{node}" for node in NODES)):
        (directory / name).mkdir()
    key = directory / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    ports = dict(zip(("controller_port", "first_port", "second_port"), _free_ports(3), strict=True))
    path = directory / "slurm.conf"
    host = socket.gethostname().split(".")[0]
    path.write_text(CONFIGURATION.format(directory=directory, user=getpass.getuser(), host=host, **ports))
    return path


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _start(daemons: list[subprocess.Popen], directory: Path) -> None:
    options = [f"--{option}={directory}/munge.{option.split('-')[0]}" for option in ("socket", "key-file", "pid-file")]
    options += [f"--log-file={directory}/munged.log", f"--seed-file={directory}/munge.seed", "--num-threads=2"]
    for name, command in {
        "munged": ["munged", "--foreground", *options],
        "slurmctld": ["slurmctld", "-D"],
        **{f"slurmd-{node}": ["slurmd", "-D", "-N", node] for node in NODES},
    }.items():
        with open(directory / f"{name}.out", "w") as log:
            daemons.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
        if name == "munged":
            _wait_until(lambda: (directory / "munge.socket").exists(), directory)
    _wait_until(_both_idle, directory)


def _both_idle() -> bool:
    answer = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], capture_output=True, text=True)
    return answer.stdout.split() == ["idle", "idle"]


def _wait_until(ready, directory: Path, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            logs = (log.read_text(errors="replace").strip() for log in sorted(directory.glob("*.out")))
            pytest.skip("Slurm does not start here: " + " | ".join(log.splitlines()[-1] for log in logs if log))
        time.sleep(0.2)


def _stop(daemons: list[subprocess.Popen]) -> None:
    """End the jobs first (their processes are children of slurmd's step daemons), then the daemons, munged last."""
    if len(daemons) > 1:
        subprocess.run(["scancel", "--user", getpass.getuser()], capture_output=True, timeout=30)
        end = time.monotonic() + 15
        while subprocess.run(["squeue", "-h"], capture_output=True).stdout.strip() and time.monotonic() < end:
            time.sleep(0.2)
    for daemon in reversed(daemons):
        daemon.terminate()
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
