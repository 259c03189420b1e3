"""The launcher without a cluster: what it refuses, what it plans, what a rank sees, and how it tells of a failure."""

import contextlib
import ctypes
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from long_cases import long_except

from alibert_common.errors import InputError
from alibert_common.executors import sbatch
from alibert_common.executors.sbatch import minutes
from alibert_fairseq.launch import executors, watch, worker
from alibert_fairseq.launch.__main__ import _interrupted as interrupted
from alibert_fairseq.launch.__main__ import follow_to_end, parse, split_at_dashes
from alibert_fairseq.launch.executors import describe, submit
from alibert_fairseq.launch.plan import CPU_ARGUMENTS, check_recipe, make_plan
from alibert_fairseq.launch.watch import follow, verdict

SET_BY_THE_LAUNCHER = "nodes ntasks-per-node ntasks cpus-per-task gpus-per-node gpus gpus-per-task requeue".split()
SET_BY_THE_LAUNCHER += "output error open-mode open_mode array time partition account".split()
CPU = ["--cpu-processes-per-node", "1"]
FAKE_TRAINER = """\
#!/bin/sh
echo "$RANK $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR ${MASTER_PORT:+port} $OMP_NUM_THREADS" "$@"
case "$*" in *"fail$RANK"*) exit 7 ;; *"killed$RANK"*) kill -9 $PPID ;; esac
case "$*" in *once*) [ -e begun ] || { touch begun; kill -9 $PPID; } ;; esac
case "$*" in *orphan*) kill -9 $(ps -o ppid= $(ps -o ppid= $PPID)); touch orphaned ;; esac
case "$*" in *late*) exit 7 ;; *saves*) trap 'sleep 1; exit 75' TERM; touch up; sleep 600 & wait ;; esac
case "$*" in *parting*) [ -e up ] || { trap 'sleep 1; exit 75' TERM; touch up; sleep 600 & wait; } ;; esac
case "$*" in *wait*) sleep 600 ;; esac
"""


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A recipe, and a `fairseq-train` on its PATH that only says what it sees."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "fairseq-train").write_text(FAKE_TRAINER)
    (tmp_path / "bin" / "fairseq-train").chmod(0o755)
    path = tmp_path / "tiny.sh"
    path.write_text(f'# fairseq-train\nexport PATH={tmp_path}/bin:$PATH\nfairseq-train data \\\n  --seed 1 "$@"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("MASTER_PORT", raising=False)
    return path


def plan_of(*arguments):
    """The plan of a command line."""
    own, extra = split_at_dashes([str(argument) for argument in arguments])
    return make_plan(parse(own), extra)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("echo hello\n", "0 `fairseq-train` calls"),
        ('# fairseq-train data "$@"\n', "0 `fairseq-train` calls"),
        ('fairseq-train data "$@"\necho done\n', "last command"),
        ('fairseq-train data "$@"\nfairseq-train data "$@"\n', "2 `fairseq-train` calls"),
        ('fairseq-train data\necho "$@"\n', "last command"),
        ("fairseq-train data --cpu\n", '"$@"'),
    ],
)
def test_what_is_no_recipe(text, complaint, tmp_path):
    (tmp_path / "bad.sh").write_text(text)
    with pytest.raises(InputError, match="bad.sh.*" + complaint.replace("$", r"\$")):
        check_recipe(tmp_path / "bad.sh")


def test_missing_recipe(tmp_path):
    with pytest.raises(InputError, match="no such recipe"):
        check_recipe(tmp_path / "none.sh")


@pytest.mark.parametrize("start", ["", "exec ", "CUDA_LAUNCH_BLOCKING=1 ", "/opt/env/bin/"])
def test_what_is_a_recipe(start, tmp_path):
    (tmp_path / "good.sh").write_text(f'cd "$SCRATCH"\n{start}fairseq-train data \\\n  "$@"\n\n# the end\n')
    assert check_recipe(tmp_path / "good.sh") == tmp_path / "good.sh"


@pytest.mark.parametrize("text, expected", [("90", 90), ("20:00:00", 1200), ("2-00:00:00", 2880), ("0:00:30", 1)])
def test_minutes(text, expected):
    assert minutes(text) == expected


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--executor", "local", "--nodes", "2"], "one machine"),
        (["--executor", "local", "--account", "me"], "one machine"),
        (["--nodes", "2"], "what to reserve"),
        (["--time", "1:2"], "--time 1:2"),
        (["--sbatch", "=3"], "give NAME=VALUE, or NAME alone"),
        (["--sbatch", "array"], "--sbatch array: give"),
        (["--gpus-per-node", "99"], "--gpus-per-node 99"),
        (["--requeue", "--detach", "--cpu-processes-per-node", "1"], "--requeue --detach: on this machine"),
        *((["--sbatch", f"{name}=2"], f"{name}=2: give NAME=VALUE") for name in SET_BY_THE_LAUNCHER),
        ([*CPU, "--time", "2", "--sbatch", "signal=USR2@120"], "signal=USR2@120: 120 seconds before a time limit of 1"),
        ([*CPU, "--time", "1", "--sbatch", "signal=B:USR2"], "60 seconds before a time limit of 60 is at once"),
    ],
)
def test_what_cannot_be_planned(options, complaint, recipe):
    with pytest.raises(InputError, match=complaint):
        plan_of(recipe, *options)


@pytest.mark.parametrize("options", [["--nodes", "2"], ["--partition", "p"], ["--account", "a"], ["--sbatch", "qos=q"]])
def test_asking_for_slurm_is_enough(options, recipe):
    assert plan_of(recipe, "--cpu-processes-per-node", "1", *options).on_slurm
    assert not plan_of(recipe, "--cpu-processes-per-node", "1").on_slurm


def test_dry_run_of_a_cluster(recipe, tmp_path):
    """AliBERT's 12 x 4 GPUs; no Slurm is needed and nothing is written."""
    options = ["--nodes", "12", "--gpus-per-node", "4", "--partition", "gpu", "--time", "20:00:00"]
    options += ["--cpus-per-process", "10", "--sbatch", "gres=gpu:a100:4", "--sbatch", "signal=USR2@300"]
    lines = describe(plan_of(recipe, *options, "--", "--update-freq", "2")).splitlines()
    shown = [" ".join(line.split()) for line in lines]
    for expected in (
        "world size 48",
        f"every rank bash {recipe} --update-freq 2",
        "environment LOCAL_RANK=0..3",
        "#SBATCH --nodes=12",
        "#SBATCH --ntasks-per-node=4",
        "#SBATCH --gres=gpu:a100:4",
        "#SBATCH --signal=USR2@300",
        "#SBATCH --cpus-per-task=10",
        "#SBATCH --partition=gpu",
        "#SBATCH --time=1200",
    ):
        assert shown.count(expected) == 1, expected
    assert (
        sum(
            line.startswith("srun ") and "--kill-on-bad-exit=1 --open-mode=append --cpus-per-task=10" in line
            for line in shown
        )
        == 1
    )
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "tiny.sh"}


def test_dry_run_of_this_machine(recipe, tmp_path):
    text = describe(plan_of(recipe, "--cpu-processes-per-node", "2"))
    assert "SBATCH" not in text and "MASTER_ADDR=127.0.0.1" in text
    assert f"bash {recipe} {' '.join(CPU_ARGUMENTS)}" in text
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "tiny.sh"}


def test_every_rank_sees_its_place(recipe, capfdbinary):
    """Two processes on this machine: the environment, the arguments, rank 0's log on the screen."""
    plan = plan_of(recipe, "--cpu-processes-per-node", "2", "--", "--max-update", "3")
    job = submit(plan)
    code, sentence = follow(job, 2, on_slurm=False)
    assert (code, sentence) == (0, f"2 of 2 ranks ended well; logs: {plan.logs}")
    arguments = " ".join(["data --seed 1", *CPU_ARGUMENTS, "--max-update 3"])
    for number in (0, 1):
        log = (plan.logs / f"{job.job_id}_{number}_log.out").read_text().splitlines()
        assert f"{number} 2 {number} 127.0.0.1 port 1 {arguments}" in log
        left = json.loads((plan.logs / f"{job.job_id}_{number}_ending.json").read_text())
        assert (left["rank"], left["code"], left["stopped"]) == (number, 0, False)
    assert capfdbinary.readouterr().out.decode() == (plan.logs / f"{job.job_id}_0_log.out").read_text()


@pytest.mark.parametrize("what, expected", [("fail1", 7), ("killed1", 137)])
def test_one_failing_rank_ends_all(what, expected, recipe, tmp_path, capfdbinary):
    """The recipe's exit code is the job's; the other rank does not wait ten minutes; no process stays behind."""
    start = time.monotonic()
    plan = plan_of(recipe, "--cpu-processes-per-node", "2", "--", what, "wait")
    code, sentence = follow(submit(plan), 2, on_slurm=False)
    assert code == expected
    assert what == "fail1" or "failed first: it was killed by signal 9 (SIGKILL), exit code 137" in sentence
    assert sentence.startswith("rank 1 on ") and f"exit code {expected}" in sentence and "_1_log.out" in sentence
    assert time.monotonic() - start < 300
    assert str(tmp_path) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


@pytest.mark.parametrize("what, code, starts", [("once", 0, 2), ("killed0", 137, 4), ("fail0", 7, 1)])
def test_a_job_of_this_machine_is_started_again(what, code, starts, recipe, capfd):
    """One that was killed is, until it is in vain; one that was refused is not."""
    plan = plan_of(recipe, "--cpu-processes-per-node", "1", "--requeue", "--", what)
    found, sentence = follow_to_end(submit(plan), plan)
    assert found == code and (f"exit code {code}" in sentence or code == 0)
    assert capfd.readouterr().out.count("it is started again\n") == starts - 1
    assert len(list(plan.logs.glob("*_0_log.out"))) == starts


def test_ranks_end_before_a_job_of_this_machine_is_started_again(recipe, tmp_path):
    """Its controller was killed, and the rank saves."""
    plan = plan_of(recipe, "--cpu-processes-per-node", "1", "--requeue", "--", "parting")
    job = submit(plan)

    def kill() -> None:
        until((tmp_path / "up").exists)
        os.kill(int(job.job_id), signal.SIGKILL)

    threading.Thread(target=kill).start()
    code, sentence = follow_to_end(job, plan)
    assert code == 0 and "1 of 1 ranks ended well" in sentence
    left = json.loads(worker.ending_path(plan.logs, job.job_id, 0).read_text())
    (again,) = plan.logs.glob("*_plan.json")  # of the second start; the test itself began the first
    assert left["code"] == 75 and left["stopped"] and left["ended"] <= again.stat().st_mtime


@pytest.mark.parametrize("code, waits", [(-signal.SIGKILL, True), (0, False)])
def test_only_a_controller_that_was_killed_leaves_ranks(code, waits, tmp_path, monkeypatch):
    process = SimpleNamespace(poll=lambda: code)
    job = SimpleNamespace(_process=process, paths=SimpleNamespace(folder=tmp_path), job_id="5")
    assert watch._still_saving(job, 1) == waits
    later = time.monotonic() + worker.GRACE_SECONDS + watch.SECONDS_TO_NOTICE
    monkeypatch.setattr(watch.time, "monotonic", lambda: later)
    assert not watch._still_saving(job, 1)


def test_requeue_is_in_the_batch_file(recipe):
    """Slurm may start it again, warns it two minutes before its limit, and its last lines ask for another start."""
    options = ["--nodes", "2", "--cpu-processes-per-node", "1"]
    plan = plan_of(recipe, *options, "--requeue")
    lines = describe(plan).splitlines()
    assert "#SBATCH --requeue" in lines and "#SBATCH --signal=USR2@120" in lines
    decision = f"{shlex.quote(sys.executable)} -m alibert_fairseq.launch.requeue {plan.logs} 2"
    assert lines[-3:] == ["code=$?", decision, "exit $code"]
    without = describe(plan_of(recipe, *options))
    assert "--requeue" not in without and "launch.again" not in without


@pytest.mark.parametrize(("limit", "seconds"), [("1", 15), ("2", 30), ("8", 120), ("20:00:00", 120), ("0", 120)])
def test_a_short_time_limit_leaves_time_to_train(limit, seconds, recipe):
    """Two minutes before the end of two is at once, and every start would stop as soon as it has begun."""
    assert f"#SBATCH --signal=USR2@{seconds}" in describe(plan_of(recipe, *CPU, "--time", limit)).splitlines()


def test_a_signal_in_time_is_taken(recipe):
    for limit, wanted in (("2", "USR2@119"), ("0", "USR2@300"), ("1", "USR2@10"), ("2", "USR2")):
        lines = describe(plan_of(recipe, *CPU, "--time", limit, "--sbatch", f"signal={wanted}")).splitlines()
        assert [line for line in lines if "--signal" in line] == [f"#SBATCH --signal={wanted}"]


def test_gpus_are_asked_for_once(recipe):
    """Slurm (22.05) refuses a kind of GPU beside a plain count of them."""
    options = [recipe, "--nodes", "2", "--gpus-per-node", "4", "--sbatch"]
    for gres, both in (("tmp:5", True), ("gpu:4", False), ("gpu:a100:2,gpu:h100:2", False)):
        lines = describe(plan_of(*options, f"gres={gres}")).splitlines()
        assert f"#SBATCH --gres={gres}" in lines and ("#SBATCH --gpus-per-node=4" in lines) is both
    for gres in ("gpu:a100:2", "gpu", "gpu:a100"):
        with pytest.raises(InputError, match=f"gres={gres} beside --gpus-per-node 4"):
            plan_of(*options, f"gres={gres}")
    assert plan_of(recipe, *CPU, "--sbatch", "gres=gpu:1").on_slurm


def test_options_of_sbatch_with_and_without_a_value(recipe):
    options = ["--nodes", "2", *CPU, "--sbatch", "exclusive", "--sbatch=--mail-type=END"]
    lines = describe(plan_of(recipe, *options)).splitlines()
    assert "#SBATCH --exclusive" in lines and "#SBATCH --mail-type=END" in lines


def test_a_wckey_is_the_users(recipe):
    assert "--wckey" not in describe(plan_of(recipe, *CPU, "--partition", "p"))
    assert "#SBATCH --wckey=mine" in describe(plan_of(recipe, *CPU, "--sbatch", "wckey=mine")).splitlines()


@pytest.mark.parametrize("arguments", [["--max-update", "5"], ["--cpu"]])
def test_arguments_for_fairseq_have_their_place(arguments, recipe, capsys):
    with pytest.raises(SystemExit, match="2"):
        plan_of(recipe, *arguments)
    words = " ".join(arguments)
    hint = f"unrecognized arguments: {words}; what is for fairseq-train goes behind `--`: RECIPE -- {words}\n"
    assert capsys.readouterr().err.endswith(hint)


def slurm_that_says(tmp_path, monkeypatch, state):
    """`squeue` and `scontrol` of a job 5 in this state; what was asked of the latter is in tmp_path/asked."""
    for name, text in {"squeue": f"echo {state}", "scontrol": f"echo $* >> {tmp_path}/asked; echo Restarts=0"}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=os.pathsep)


@pytest.mark.parametrize("state, asked", [("FAILED", True), ("PREEMPTED", True), ("CANCELLED", False)])
def test_the_launcher_starts_a_job_again_whose_batch_file_was_killed(state, asked, recipe, tmp_path, monkeypatch):
    """Not one that its user cancelled."""
    slurm_that_says(tmp_path, monkeypatch, state)
    job = SimpleNamespace(job_id="5", paths=SimpleNamespace(folder=tmp_path))
    assert watch._started_again(job, 1) is asked and state in sbatch.FINAL_STATES
    assert ((tmp_path / "asked").exists() and "requeue 5" in (tmp_path / "asked").read_text()) is asked


@pytest.mark.parametrize(
    "answers, again, decided",
    [
        ([0, "PENDING (Priority)"], True, None),  # Slurm has started it again since it was asked the first time
        ([1, "FAILED"], True, 1),
        ([None, "FAILED"], True, None),  # which start, no one knows: it is asked again
        ([1, ""], True, None),
        ([None, "COMPLETED"], False, None),  # forgotten
        ([None, "CANCELLED"], False, None),
    ],
)
def test_a_decision_is_about_the_start_that_has_ended(answers, again, decided, tmp_path, monkeypatch):
    left = iter(answers)
    monkeypatch.setattr(sbatch, "restarts", lambda job_id: next(left))  # StopIteration if it is not asked first
    monkeypatch.setattr(sbatch, "state", lambda job_id: next(left))
    monkeypatch.setattr(watch, "requeue", lambda job_id: "")
    job = SimpleNamespace(job_id="5", paths=SimpleNamespace(folder=tmp_path))
    assert watch._started_again(job, 1) is again and not list(left)
    assert watch.read_of_job(tmp_path, "5", "decision").get("start") == decided


def test_on_slurm_nobody_looks_for_every_rank_twice_a_second(tmp_path, monkeypatch):
    """Once at first, and when one has ended."""
    looks, pauses = [], iter(range(20))
    original = watch.read_endings
    monkeypatch.setattr(watch, "read_endings", lambda *found: looks.append(1) or original(*found))
    job = SimpleNamespace(job_id="5", paths=SimpleNamespace(folder=tmp_path, stdout=tmp_path / "log", job_id="5"))

    def pause(_):
        if next(pauses) in (5, 15):
            number = len(looks) - 1
            worker.ending_path(tmp_path, "5", number).write_text(json.dumps(ending(number, 0, 1)))

    monkeypatch.setattr(watch.time, "sleep", pause)
    assert follow(job, 2, on_slurm=True)[0] == 0
    assert len(looks) == 4  # the last one is the verdict's


def test_what_slurm_said_of_a_job_that_is_over_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(sbatch, "QUESTION_SECONDS", 0)
    monkeypatch.setattr(sbatch, "state", lambda job_id: "CANCELLED")
    monkeypatch.setattr(sbatch, "restarts", lambda job_id: 1)
    job = SimpleNamespace(job_id="5", paths=SimpleNamespace(folder=tmp_path, stdout=tmp_path / "log", job_id="5"))
    code, sentence = follow(job, 2, on_slurm=True, requeued=True)
    assert code == 1 and "left no exit code: killed from outside, or never started (Slurm: CANCELLED)" in sentence


def test_a_requeued_job_is_over_when_that_was_decided(tmp_path):
    """What a start before left, with an exit code, does not end it; all ranks that ended well do."""
    job = SimpleNamespace(job_id="5", paths=SimpleNamespace(folder=tmp_path))

    def leaves(code, **decision):
        worker.ending_path(tmp_path, "5", 0).write_text(json.dumps(ending(0, code, 1)))
        (tmp_path / "5_decision.json").write_text(json.dumps(decision))
        return watch._all_ended(job, 1, requeued=True)

    assert not leaves(137) and not leaves(137, again=True)
    assert leaves(2, again=False) and leaves(0, again=True)


@pytest.fixture
def handlers():
    """The signal handlers of the test run, put back at the end."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_stop_while_the_recipe_starts(handlers, monkeypatch):
    """The signal comes after the process has begun, before Popen has returned it: nothing may stay behind."""
    started = []

    def slow_start(command, **options):
        started.append(Popen(command, **options))
        os.kill(os.getpid(), signal.SIGTERM)
        return started[0]

    Popen = subprocess.Popen
    monkeypatch.setattr(worker.subprocess, "Popen", slow_start)
    assert worker.run_until_stopped(["sleep", "600"], worker.notice_signals()) == (143, True)
    assert started[0].poll() == -signal.SIGTERM


LISTENER = "import signal, sys; signal.signal(signal.SIGUSR2, lambda *_: sys.exit(75)); open('up', 'w'); signal.pause()"


@pytest.fixture
def adopting(handlers):
    """The signals that this process gets, which orphans of its children have as their parent, as they have init."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    yield worker.notice_signals()
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0)


PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@pytest.mark.parametrize(
    "what, code, stopped", long_except([("wait", 143, True), ("late", 7, False)], ("late", 7, False))
)
def test_a_rank_without_its_controller(what, code, stopped, adopting, recipe, tmp_path):
    """It stops, as if it had got SIGTERM, and sends none to who has become its parent."""
    plan = plan_of(recipe, "--cpu-processes-per-node", "1", "--", "orphan", what)
    job = submit(plan)
    path = worker.ending_path(job.paths.folder, job.job_id, 0)
    until(path.exists)
    until(lambda: str(tmp_path) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout)
    left = json.loads(path.read_text())
    assert (left["code"], left["stopped"]) == (code, stopped) and job.done()
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)
    assert adopting == []


def until(ready, seconds=120):
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_port_is_another_in_every_start_and_the_same_for_all_ranks():
    drawn = {worker.port("toy-1", str(job), start) for job in range(1000) for start in range(3)}
    assert min(drawn) >= 20_000 and max(drawn) < 32_768 and len(drawn) > 2500
    assert worker.port("toy-1", "5", 0) == worker.port("toy-1", "5", 0) != worker.port("toy-1", "5", 1)
    assert worker.port("toy-1", "5", 0) != worker.port("toy-2", "5", 0)  # the same number on another cluster


def test_a_port_of_ones_own(recipe, monkeypatch):
    plan = plan_of(recipe, "--cpu-processes-per-node", "1")
    assert "MASTER_PORT" not in plan.environment and "MASTER_PORT=<20000 to 32767" in describe(plan)
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert plan.environment["MASTER_PORT"] == "29500" and "MASTER_PORT=29500" in describe(plan)


def test_usr2_is_passed_on_until_the_training_listens(handlers, tmp_path, monkeypatch):
    """The shell does not die of it, nor a training that is still starting; an own exit code is not a stop."""
    monkeypatch.chdir(tmp_path)
    noticed = worker.notice_signals()
    os.kill(os.getpid(), signal.SIGUSR2)
    shell = f"sleep 2\n{shlex.quote(sys.executable)} -c {shlex.quote(LISTENER)}\nexit $?"
    assert worker.run_until_stopped(["bash", "-c", shell], noticed) == (75, False)
    assert (tmp_path / "up").exists()


@pytest.mark.parametrize(("grace", "code"), [(0.5, 0), (60, 1)])
def test_how_long_a_recipe_may_take_to_end(grace, code, handlers, tmp_path, monkeypatch):
    """It saves for two seconds after SIGTERM, which Slurm grants and this machine does for thirty."""
    monkeypatch.chdir(tmp_path)
    noticed = worker.notice_signals()
    saves = "trap 'sleep 2; touch saved; exit' TERM; touch up; while true; do sleep 0.1; done"

    def stop_when_up(*_):
        while not (tmp_path / "up").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_when_up).start()
    assert worker.run_until_stopped(["bash", "-c", saves], noticed, grace) == (143, True)
    assert (tmp_path / "saved").exists() is bool(code)


def test_a_rank_whose_recipe_slurm_has_stopped_too_was_stopped(handlers):
    """The signal comes to both at once, and the shell may have ended before this one looks."""
    noticed = worker.notice_signals()
    script = "kill -TERM $PPID; sleep 0.2; kill -TERM $$"
    assert worker.run_until_stopped(["bash", "-c", script], noticed)[1] is True


def test_only_the_last_start_counts(tmp_path):
    for one in (ending(0, 143, 5, stopped=True, start=1), ending(1, 137, 1, start=0)):
        worker.ending_path(tmp_path, "5", one["rank"]).write_text(json.dumps(one))
    assert [each["rank"] for each in worker.read_endings(tmp_path, "5", 2)] == [0]


def test_a_stop_before_the_recipe_starts(tmp_path):
    """submitit swallows SIGTERM until a rank's own code runs; the ending of the rank that failed tells it then."""
    worker.ending_path(tmp_path, "5", 0).write_text(json.dumps(ending(0, 0, 1)))
    worker.ending_path(tmp_path, "6", 1).write_text(json.dumps(ending(1, 7, 1)))
    assert not worker.another_failed(tmp_path, "5")
    assert worker.another_failed(tmp_path, "6")
    assert worker.run_until_stopped(["no such command"], [signal.SIGTERM]) == (143, True)


def test_no_sbatch_is_said_in_one_sentence(recipe, monkeypatch):
    monkeypatch.setattr(executors.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="sbatch: no such command"):
        submit(plan_of(recipe, "--nodes", "2", "--cpu-processes-per-node", "1"))


def test_refusal_of_slurm_leaves_nothing(recipe, tmp_path, monkeypatch, capfd):
    (tmp_path / "bin" / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: invalid partition' >&2\nexit 1\n")
    (tmp_path / "bin" / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=os.pathsep)
    plan = plan_of(recipe, "--partition", "nope", "--cpu-processes-per-node", "1")
    with pytest.raises(InputError, match="Slurm refused the job: sbatch: error: invalid partition"):
        submit(plan)
    assert not plan.logs.exists()
    assert capfd.readouterr().err == ""


def ending(number, code, ended, stopped=False, start=0):
    """What a rank leaves."""
    return {"rank": number, "host": f"n{number}", "code": code, "stopped": stopped, "ended": ended, "start": start}


@pytest.mark.parametrize(
    "endings, expected, words",
    [
        ([ending(0, 0, 1), ending(1, 0, 2)], 0, "2 of 2 ranks ended well"),
        ([ending(0, 1, 2), ending(1, 3, 1)], 3, "rank 1 on n1 failed first, exit code 3"),
        ([ending(0, 75, 1), ending(1, 1, 2)], 1, "rank 1 on n1 failed first, exit code 1"),
        (
            [ending(0, 143, 1, True), ending(1, 75, 2, True)],
            143,
            "rank 0 on n0 was stopped from outside, exit code 143",
        ),
        (
            [ending(0, 75, 1, True), ending(1, 143, 2, True)],
            75,
            "rank 0 on n0 was stopped from outside; the same command resumes, exit code 75",
        ),
        (
            [ending(0, 75, 1, True), ending(1, 75, 2, True)],
            75,
            "rank 0 on n0 was stopped from outside and saved a checkpoint; the same command resumes, exit code 75",
        ),
        ([ending(0, 139, 1)], 139, "failed first: it was killed by signal 11 (SIGSEGV), exit code 139"),
        ([ending(0, 0, 1)], 1, "1 of 2 ranks (rank 1 first) left no exit code"),
        ([ending(0, 9, 1)], 9, "rank 0 on n0 failed first"),
        ([], 1, "(Slurm: TIMEOUT); log: /logs/5_0_log.out"),
    ],
)
def test_verdict(endings, expected, words):
    code, sentence = verdict(endings, 2, SimpleNamespace(folder="/logs", job_id="5"), "TIMEOUT")
    assert code == expected
    assert words in sentence


@pytest.mark.parametrize(
    "log, quoted",
    [
        (
            "error: no data.\nerror: the disk is full; make room.\nbye\n",
            ", exit code 1: the disk is full; make room; log:",
        ),
        ("a warning\n  error: inside\n", ", exit code 1; log:"),
        ("error: old\nsubmitit INFO - Starting with JobEnvironment(...)\nnothing\n", ", exit code 1; log:"),
        ("error: " + 400 * "x", ", exit code 1: " + 300 * "x" + "; log:"),
        ("error: begin\n" + 1000 * "a line of thirty characters...\n", ", exit code 1; log:"),
        ("error: \xff\n", ", exit code 1: \N{REPLACEMENT CHARACTER}; log:"),
    ],
)
def test_the_last_error_of_the_blamed_rank_is_quoted(log, quoted, tmp_path):
    paths = SimpleNamespace(folder=str(tmp_path), job_id="5")
    watch.log_path(paths, 1).write_bytes(log.encode("latin-1"))
    assert quoted in verdict([ending(0, 75, 1), ending(1, 1, 2)], 2, paths)[1]


def test_a_job_that_is_terminated_and_saves_a_checkpoint(handlers, recipe, capfd):
    """75 as the processes say; the launcher's own end is that of the job."""
    plan = plan_of(recipe, *CPU, "--", "saves")
    job = submit(plan)
    until((recipe.parent / "up").exists)
    assert interrupted(job, plan)[0] == 75
    left = json.loads(worker.ending_path(plan.logs, job.job_id, 0).read_text())
    assert (left["code"], left["stopped"]) == (75, True)


def test_a_stop_between_two_commands_is_no_success(handlers, tmp_path):
    """The shell would end with the exit code of the last one, 0."""
    (tmp_path / "r.sh").write_text("true\nkill -TERM $$\ntrue\n")
    assert worker.run_until_stopped([*worker.SHELL, str(tmp_path / "r.sh")], []) == (143, False)
