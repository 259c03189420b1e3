"""From a plan to a submitted job: submitit's local executor or its Slurm executor."""

import contextlib
import io
import os
import shlex
import shutil
import signal
import sys
from pathlib import Path

from alibert_common.errors import InputError
from alibert_fairseq.launch import progress, worker
from alibert_fairseq.launch.plan import Plan, gpus_of_gres

MINUTES_FOR_EVER = 10 * 365 * 24 * 60  # submitit's local executor wants a limit; a run on one's own machine has none


def submit(plan: Plan):
    """Hand the plan to submitit; return its job. Raises InputError if Slurm is absent or refuses the job."""
    import cloudpickle
    from submitit.core.utils import FailedJobError

    if plan.on_slurm and not shutil.which("sbatch"):
        raise InputError("sbatch: no such command here; run this on the cluster, or without Slurm's options.")
    for module in (worker, progress):
        cloudpickle.register_pickle_by_value(module)
    executor = _slurm_executor(plan) if plan.on_slurm else _local_executor(plan)
    os.environ.pop("SLURM_RESTART_COUNT", None)  # of a job in which this runs, and not that of the new one
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited: Ctrl-C is the launcher's to pass on
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # sbatch's words, which are in the error too
            return executor.submit(worker.run_rank, str(plan.recipe), plan.arguments, plan.environment)
    except FailedJobError as error:
        shutil.rmtree(plan.logs)
        raise InputError(f"Slurm refused the job: {' '.join(str(error).split())}") from None
    finally:
        signal.signal(signal.SIGINT, interrupt)


def describe(plan: Plan) -> str:
    """What would run, for --dry-run: job, command and environment of every rank, and Slurm's batch file."""
    of_torch = {
        "RANK": f"0..{plan.world_size - 1}", "WORLD_SIZE": plan.world_size,
        "LOCAL_RANK": f"0..{plan.processes_per_node - 1}", "LOCAL_WORLD_SIZE": plan.processes_per_node,
        "MASTER_ADDR": "<first node of the job>",
        "MASTER_PORT": "<20000 to 32767, drawn from the launch, the job's number and its starts>",
        "PATH": f"{Path(sys.executable).parent}:$PATH",
    }  # fmt: skip
    lines = [
        f"recipe       {plan.recipe}",
        f"executor     {'slurm' if plan.on_slurm else 'local'}",
        f"nodes        {plan.nodes}",
        f"processes    {plan.processes_per_node} per node on {'GPU' if plan.gpu else 'CPU'}",
        f"world size   {plan.world_size}",
        f"every rank   {shlex.join(['bash', str(plan.recipe), *plan.arguments])}",
        *(f"environment  {name}={value}" for name, value in (of_torch | plan.environment).items()),
        f"logs         {plan.logs}/<job>_<rank>_log.out",
    ]
    if plan.on_slurm:
        executor = _slurm_executor(plan)
        lines += ["sbatch file:", executor._make_submission_file_text(executor._submitit_command_str, uid="")]
    return "\n".join(lines)


def _local_executor(plan: Plan):
    from submitit import LocalExecutor

    executor = LocalExecutor(plan.logs)
    processes = plan.processes_per_node
    executor.update_parameters(
        tasks_per_node=processes, gpus_per_node=processes if plan.gpu else 0, timeout_min=MINUTES_FOR_EVER,
        stderr_to_stdout=True,
    )  # fmt: skip
    return executor


def _slurm_executor(plan: Plan):
    from submitit import SlurmExecutor

    class AnywhereSlurmExecutor(SlurmExecutor):
        """Writes the batch file where there is no Slurm too, for --dry-run."""

        @classmethod
        def affinity(cls) -> int:
            return 1

    executor = AnywhereSlurmExecutor(plan.logs)
    # Slurm (22.05) refuses --gpus-per-node beside the user's --gres with a kind of GPU; their number is the same
    gpus = {"gpus_per_node": plan.processes_per_node} if plan.gpu and not gpus_of_gres(plan.slurm) else {}
    cpus = {"cpus_per_task": plan.cpus_per_process} if plan.cpus_per_process else {}
    chosen = {name: value for name, value in plan.slurm.items() if name != "time"}
    executor.update_parameters(
        job_name=plan.recipe.stem,
        wckey=None,  # else submitit's own, which a Slurm that checks these keys refuses
        nodes=plan.nodes,
        ntasks_per_node=plan.processes_per_node,
        time=plan.slurm["time"],
        stderr_to_stdout=True,
        # the first rank that fails ends the others; and srun does not inherit sbatch's --cpus-per-task since 22.05
        srun_args=[
            "--kill-on-bad-exit=1",
            "--open-mode=append",
            *(f"--cpus-per-task={count}" for count in cpus.values()),
        ],
        signal_delay_s=plan.seconds_to_save,
        teardown=_decision(plan) if plan.requeue else None,
        additional_parameters=chosen | ({"requeue": True} if plan.requeue else {}),
        **gpus,
        **cpus,
    )
    return executor


def _decision(plan: Plan) -> list[str]:
    """Lines of the batch file behind srun: is the job started again? Its exit code stays srun's."""
    python, logs = shlex.quote(sys.executable), shlex.quote(str(plan.logs))
    return ["code=$?", f"{python} -m alibert_fairseq.launch.requeue {logs} {plan.world_size}", "exit $code"]
