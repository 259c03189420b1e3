"""A real Slurm with two nodes on this machine: own ports, key and directory; one that runs already is left alone."""

import fcntl
import getpass
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NODES = ("n1", "n2")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
HOSTS = Path("/etc/hosts")
HOSTS_LINE = f"\n127.0.0.1 {' '.join(NODES)} # two_node_slurm (tests/slurm, process {os.getpid()})\n"

CONFIGURATION = """\
ClusterName=alibert_test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
FirstJobId={first_job}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket,cred_expire=5
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
ReturnToService=2
KillWait=5
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first_port} CPUs=1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second_port} CPUs=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=test Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=30
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=OFF
"""


class Cluster:
    """The daemons of the cluster, by name: munged, slurmctld, slurmd-n1, slurmd-n2; what they need lies in a folder."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.configuration = directory / "slurm.conf"
        self.daemons: dict[str, subprocess.Popen] = {}

    def start(self, name: str, *command: str) -> None:
        """Start a daemon, again perhaps."""
        with open(self.directory / f"{name}.out", "a") as log:
            self.daemons[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def start_slurmd(self, node: str) -> None:
        """The daemon of a node."""
        self.start(f"slurmd-{node}", "slurmd", "-D", "-N", node)

    def kill_slurmd(self, node: str) -> None:
        """What a node that fails does; its jobs run on, for only this daemon could end them."""
        self.daemons[f"slurmd-{node}"].kill()
        self.daemons[f"slurmd-{node}"].wait()


@pytest.fixture(scope="session")
def two_node_slurm() -> Iterator[Cluster]:
    """The cluster of all tests; those that ask for it are skipped, with the reason, where it cannot be had."""
    with two_nodes() as cluster:
        yield cluster


@contextmanager
def two_nodes() -> Iterator[Cluster]:
    """Start the cluster and set SLURM_CONF; at the end stop all that was started.

    Calls pytest.skip where Slurm cannot be installed or started.
    """
    _need_programs()
    directory = Path(tempfile.mkdtemp(prefix="two_node_slurm."))
    directory.chmod(0o755)  # munged refuses a socket that others cannot reach
    before = {name: os.environ.get(name) for name in ("SLURM_CONF", *_slurm_variables())}
    cluster = Cluster(directory)
    try:
        _name_the_nodes()
        for name in before:
            os.environ.pop(name, None)
        os.environ["SLURM_CONF"] = str(_write_configuration(directory))
        _start(cluster)
        yield cluster
    finally:
        _stop(list(cluster.daemons.values()))
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        _forget_the_nodes()
        shutil.rmtree(directory, ignore_errors=True)


def _slurm_variables() -> list[str]:
    """Variables of a Slurm job that the tests themselves may run in: sbatch would read them as options."""
    return [name for name in os.environ if name.startswith(("SLURM_", "SBATCH_")) and name != "SLURM_CONF"]


def _need_programs() -> None:
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        with open(Path(tempfile.gettempdir(), "two_node_slurm.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several processes of the tests may begin with Slurm
            _install(_missing_programs())
    if missing := _missing_programs():
        pytest.skip(f"no Slurm on this machine and none could be installed: {', '.join(missing)} not found")


def _missing_programs() -> list[str]:
    return [name for name in PROGRAMS if not shutil.which(name)]


def _install(missing: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "slurm-wlm", "munge"]) if missing else ():
        subprocess.run(["apt-get", "-q", *command], env=environment, capture_output=True, timeout=300)


def _name_the_nodes() -> None:
    if os.access(HOSTS, os.W_OK):
        _edit_hosts(lambda text: text + HOSTS_LINE)  # even if the line of another cluster of these tests is there
    try:
        if any(socket.gethostbyname(node) != "127.0.0.1" for node in NODES):
            pytest.skip("the names n1 and n2 belong to other machines here")
    except OSError:
        pytest.skip("n1 and n2 must be names of this machine: add `127.0.0.1 n1 n2` to /etc/hosts")


def _forget_the_nodes() -> None:
    if os.access(HOSTS, os.W_OK):
        _edit_hosts(lambda text: text.replace(HOSTS_LINE, ""))


def _edit_hosts(change: Callable[[str], str]) -> None:
    with open(HOSTS, "r+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        text = change(handle.read())
        handle.seek(0)
        handle.write(text)
        handle.truncate()


def _write_configuration(directory: Path) -> Path:
    for name in ("state", *(f"spool-{node}" for node in NODES)):
        (directory / name).mkdir()
    key = directory / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    ports = dict(zip(("controller_port", "first_port", "second_port"), _free_ports(3), strict=True))
    path = directory / "slurm.conf"
    host = socket.gethostname().split(".")[0]
    # A cluster of another process of tests has other jobs: by its number a test finds a job's processes. Slurm counts
    # to 67 million.
    first_job = 1000 * secrets.randbelow(60_000) + 1
    own = {"directory": directory, "user": getpass.getuser(), "host": host, "first_job": first_job}
    path.write_text(CONFIGURATION.format(**own, **ports))
    return path


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _start(cluster: Cluster) -> None:
    directory = cluster.directory
    options = [f"--{option}={directory}/munge.{option.split('-')[0]}" for option in ("socket", "key-file", "pid-file")]
    options += [f"--log-file={directory}/munged.log", f"--seed-file={directory}/munge.seed", "--num-threads=2"]
    cluster.start("munged", "munged", "--foreground", *options)
    _wait_until(lambda: (directory / "munge.socket").exists(), directory)
    cluster.start("slurmctld", "slurmctld", "-D")
    for node in NODES:
        cluster.start_slurmd(node)
    _wait_until(_both_idle, directory)


def _both_idle() -> bool:
    answer = subprocess.run(["sinfo", "-h", "-N", "-p", "test", "-o", "%T"], capture_output=True, text=True)
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
