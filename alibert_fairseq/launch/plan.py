"""The plan of one job: which recipe, on how many processes, where; checked before anything is submitted."""

import argparse
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.executors.sbatch import slurm_options

# nccl, fairseq's default, needs GPUs; legacy_ddp, unlike its other default, asks for no --find-unused-parameters.
CPU_ARGUMENTS = ["--cpu", "--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp"]
TRAIN_CALL = re.compile(r"(exec\s+)?(\w+=\S*\s+)*([^\s#]*/)?fairseq-train\s")
SLURM_HOURS = 24  # AliBERT took 20 hours on 48 GPUs (its paper), and submitit's own default is 5 minutes
OWN_OPTIONS = {
    # the command has a name for them itself
    "nodes", "ntasks_per_node", "cpus_per_task", "gpus_per_node", "requeue",
    "ntasks",  # another number than that of the ranks, which the launcher waits for
    "gpus", "gpus_per_task",  # each rank would see its own GPU only, or Slurm refuse them beside gpus_per_node
    "output", "error", "open_mode",  # the logs that the launcher follows; truncated, a start would lose the one before
    "array",  # its tasks would share one job's files
}  # fmt: skip
# Slurm's signal comes so long before the time limit, or up to a minute earlier: an update, a validation, a checkpoint
# of `large` (4 GB) and the 10 seconds of the decision have room in it. `--sbatch signal=USR2@300` asks for another.
SECONDS_TO_SAVE = 120
SHARE_TO_SAVE = 4  # of a shorter limit only a quarter: more, and a start is told to stop when it has hardly begun
SIGNAL_SECONDS = 60  # sbatch's own, of a --signal without @


@dataclass
class Plan:
    """One job: what every rank runs, and where. `slurm` holds sbatch options, `time` in minutes."""

    recipe: Path
    arguments: list[str]
    on_slurm: bool
    nodes: int
    processes_per_node: int
    gpu: bool
    cpus_per_process: int | None
    logs: Path
    requeue: bool = False
    slurm: dict[str, str | int | bool] = field(default_factory=dict)

    @property
    def world_size(self) -> int:
        """Processes in all; one per GPU on GPUs."""
        return self.nodes * self.processes_per_node

    @property
    def seconds_to_save(self) -> int:
        """How long before its time limit Slurm tells the job to stop, unless the user has said so."""
        limit = int(self.slurm["time"]) * 60
        return min(SECONDS_TO_SAVE, limit // SHARE_TO_SAVE) if limit else SECONDS_TO_SAVE  # 0: there is no limit

    @property
    def environment(self) -> dict[str, str]:
        """What every rank finds set, beside the variables of torch.distributed."""
        own = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(self.cpus_per_process or 1))}
        if "MASTER_PORT" in os.environ:  # else a rank draws one
            own["MASTER_PORT"] = os.environ["MASTER_PORT"]
        if not self.on_slurm:
            own["MASTER_ADDR"] = "127.0.0.1"
            if self.gpu and "CUDA_VISIBLE_DEVICES" in os.environ:  # submitit would number them from 0 again
                own["CUDA_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"]
        return own


def make_plan(options: argparse.Namespace, extra: list[str]) -> Plan:
    """Check the recipe and the options. Raises InputError for what cannot run."""
    recipe = check_recipe(Path(options.recipe))
    slurm = slurm_options(options, OWN_OPTIONS)
    for_slurm = bool(slurm) or options.nodes > 1
    on_slurm = options.executor == "slurm" or (options.executor is None and for_slurm)
    if for_slurm and not on_slurm:
        raise InputError("--executor local is this one machine: leave it out to use --nodes and the options for Slurm.")
    if options.requeue and options.detach and not on_slurm:
        raise InputError("--requeue --detach: on this machine it is the launcher that starts a job again; let it wait.")
    if on_slurm:
        slurm.setdefault("time", SLURM_HOURS * 60)
        _check_signal(slurm)
    gpu, processes = _processes(options, on_slurm)
    if gpu and (counts := gpus_of_gres(slurm)) and sum(counts) != processes:
        raise InputError(
            f"--sbatch gres={slurm['gres']} beside --gpus-per-node {processes}: give the same count in both."
        )
    cpus = options.cpus_per_process
    if cpus is None and not on_slurm:
        cpus = max(1, len(os.sched_getaffinity(0)) // processes)
    name = f"{recipe.stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    arguments = ([] if gpu else CPU_ARGUMENTS) + extra
    logs = Path(options.logs).absolute() / name
    return Plan(recipe, arguments, on_slurm, options.nodes, processes, gpu, cpus, logs, options.requeue, slurm)


def check_recipe(path: Path) -> Path:
    """The recipe's absolute path. Raises InputError unless it ends in its only `fairseq-train ... "$@"` call."""
    if not path.is_file():
        raise InputError(f"{path}: no such recipe; give a shell file that ends in one `fairseq-train` call.")
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    calls = [line for line in lines if TRAIN_CALL.match(line + " ")]
    if len(calls) != 1 or lines[-1] != calls[0]:
        raise InputError(f"{path}: {len(calls)} `fairseq-train` calls; a recipe has one, and it is its last command.")
    if '"$@"' not in calls[0]:
        raise InputError(f'{path}: its `fairseq-train` call lacks "$@", through which the launcher adds its arguments.')
    return path.resolve()


def _check_signal(slurm: dict[str, str | int | bool]) -> None:
    """Raises InputError if Slurm would send the user's signal as soon as a start begins: no start would get further."""
    text, limit = str(slurm.get("signal", "")), int(slurm["time"]) * 60
    _, at, seconds = text.partition("@")
    lead = seconds if at else str(SIGNAL_SECONDS)
    if text and limit and lead.isdigit() and int(lead) >= limit:
        raise InputError(
            f"--sbatch signal={text}: {lead} seconds before a time limit of {limit} is at once; give fewer seconds, "
            "or a longer --time."
        )


def gpus_of_gres(slurm: dict[str, str | int | bool]) -> list[int]:
    """The GPUs of each kind in a `--gres` such as gpu:a100:4, none if it is not given or not about GPUs."""
    kinds = [part.split(":") for part in str(slurm.get("gres", "")).split(",")]
    return [int(kind[-1]) if kind[-1].isdigit() else 1 for kind in kinds if kind[0] == "gpu"]


def _processes(options: argparse.Namespace, on_slurm: bool) -> tuple[bool, int]:
    """(on GPUs?, processes per node). On this machine the default is every visible GPU, or one process on CPU."""
    if options.cpu_processes_per_node:
        return False, options.cpu_processes_per_node
    if on_slurm:
        if not options.gpus_per_node:
            raise InputError("Slurm must be told what to reserve: give --gpus-per-node or --cpu-processes-per-node.")
        return True, options.gpus_per_node
    import torch

    visible = torch.cuda.device_count()
    if (options.gpus_per_node or 0) > visible:
        raise InputError(f"--gpus-per-node {options.gpus_per_node}: this machine shows {visible}; give at most that.")
    count = options.gpus_per_node or visible
    return count > 0, count or 1
