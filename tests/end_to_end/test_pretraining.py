"""`fairseq-train` with every objective: it learns, on one process and on two; a killed run goes on bit by bit."""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils
from forked import Job, meeting
from forked import run as run_forked
from long_cases import long_except

OBJECTIVES = {
    "electra": ["--task", "electra", "--criterion", "electra", "--arch", "electra_tiny", "--optimizer", "lamb"],
    "electra_modern": [
        "--task", "electra", "--criterion", "electra", "--arch", "electra_modern_tiny", "--optimizer", "muon",
        "--generator-temperature", "2", "--generator-temperature-end", "1",
    ],
    "mlm": [
        "--task", "alibert_mlm", "--criterion", "alibert_mlm", "--arch", "alibert_tiny", "--optimizer", "alibert_adam",
    ],
    "modern": [
        "--task", "alibert_mlm", "--criterion", "alibert_mlm", "--arch", "alibert_modern_tiny", "--optimizer", "muon",
        "--mask-prob", "0.3", "--mask-prob-end", "0.15", "--length-schedule", "0.5:32", "--z-loss", "1e-4",
        "--store-ema", "--ema-decay", "0.9",
    ],
    "nsp": [
        "--task", "segment_pairs", "--sentence-objective", "nsp", "--criterion", "segment_pairs",
        "--arch", "segment_bert_tiny", "--optimizer", "lamb",
    ],
    "sop": [
        "--task", "segment_pairs", "--sentence-objective", "sop", "--criterion", "segment_pairs",
        "--mask-unit", "ngram", "--arch", "albert_tiny", "--optimizer", "lamb", "--lamb-no-bias-correction",
        "--clip-norm", "1.0",
    ],
}  # fmt: skip
RATES = {"nsp": "0.02", "sop": "0.02"}  # LAMB's, with which a few updates change the loss
WIDTHS = {"sop": "32"}  # ALBERT's embeddings are narrower than its layers
SHAPE = [
    "--encoder-layers", "2", "--encoder-embed-dim", "64", "--encoder-ffn-embed-dim", "128",
    "--encoder-attention-heads", "2", "--tokens-per-sample", "64", "--max-positions", "512",
]  # fmt: skip
# Of many more batches than are read ahead, by workers that need a moment to begin.
VALIDATING = ["--validate-interval-updates", "20", "--valid-subset", "train", "--batch-size-valid", "2"]
VALIDATING += ["--max-valid-steps", "150", "--num-workers", "2"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}


def command(objective: str, data_bin: Path, save: Path, repository: Path, *more: str) -> list[str]:
    """A `fairseq-train` call; dropout stays on, so a resumed run must also draw the same noise."""
    return [
        shutil.which("fairseq-train", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"),
        str(data_bin), "--user-dir", str(repository / "alibert_fairseq"), *OBJECTIVES[objective], *SHAPE,
        "--embedding-dim", WIDTHS.get(objective, "64"),
        "--batch-size", "4", "--lr", RATES.get(objective, "0.005"), "--lr-scheduler", "polynomial_decay",
        "--warmup-updates", "10", "--total-num-update", "200", "--save-dir", str(save), "--num-workers", "0",
        "--log-format", "simple", "--log-interval", "1", "--seed", "7", "--disable-validation",
        "--no-epoch-checkpoints", *more,
    ]  # fmt: skip


def losses(log: str) -> list[float]:
    """`loss` of every update, in bits."""
    return [float(value) for value in re.findall(r"train_inner .*? loss=([\d.]+)", log)]


def live_tensors(checkpoint: Path) -> dict[str, torch.Tensor]:
    """Every tensor of the model and of the optimizer in a checkpoint."""
    state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
    found = {f"model.{name}": value for name, value in state["model"].items()}
    found |= {f"average.{name}": value for name, value in state["extra_state"].get("ema", {}).items()}
    optimizer = state["last_optimizer_state"]
    for index, moments in optimizer["state"].items():
        found |= {f"optimizer.{index}.{name}": value for name, value in moments.items() if torch.is_tensor(value)}
    steps = [group.get("step", 0) for group in optimizer["param_groups"]]
    return found | {"optimizer.steps": torch.tensor(steps)}


def assert_same(first: Path, second: Path) -> None:
    """torch.equal on everything, and nothing missing."""
    ours, theirs = live_tensors(first), live_tensors(second)
    assert ours.keys() == theirs.keys() and len(ours) > 50
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []


def metrics(save: Path, name: str = "metrics.jsonl") -> list[dict]:
    """What the run wrote down of each update."""
    return [json.loads(line) for line in (save / name).read_text().splitlines()]


def assert_the_same_metrics(first: Path, second: Path, updates: int) -> None:
    """Each update once, and all numbers but the times."""
    ours, theirs = ([line | {"seconds": 0} for line in metrics(save)] for save in (first, second))
    assert ours == theirs and [line["update"] for line in ours] == list(range(1, updates + 1))
    assert (
        all(line["tokens"] > 0 and line["gnorm"] > 0 and line["loss"] > 0 for line in ours) and ours[-1]["epoch"] >= 1
    )


def run_and_signal(arguments: list[str], words: str, ask, cwd: Path) -> tuple[int, str]:
    """Start the run, `ask` its process once the log shows the words; (exit code, log)."""
    process = subprocess.Popen(
        arguments, cwd=cwd, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a shell in the background ignores
    )  # fmt: skip
    log = []
    for line in process.stdout:
        log.append(line)
        if words in line:
            ask(process)
    process.stdout.close()
    return process.wait(), "".join(log)


def ask(process: subprocess.Popen, number: int, later: float) -> None:
    """Once; or, as the launcher does with SIGUSR2, again and again until the process has ended. All its processes, as
    Slurm does."""
    time.sleep(later)
    os.killpg(process.pid, number)

    def repeat():
        while process.poll() is None:
            time.sleep(0.01)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)

    if number == signal.SIGUSR2:
        threading.Thread(target=repeat, daemon=True).start()


def run_and_meet(arguments: list[str], update: int, meet, cwd: Path, processes: int = 1) -> tuple[list[int], str]:
    """Start the run and `meet` its processes' numbers once the log shows the update; (exit codes, log)."""
    os.mkfifo(cwd / "log")
    environments = meeting(ENVIRONMENT, processes) if processes > 1 else [ENVIRONMENT]
    job = Job([arguments] * processes, environments, cwd, [cwd / "log"] * processes)
    said, late = [], threading.Timer(300, stop, [job.pids])
    late.start()  # of a run that hangs, the log has no end
    try:
        with open(cwd / "log") as log:
            for line in log:
                said.append(line)
                if f"num_updates={update}," in line:
                    meet(job.pids)
    finally:
        late.cancel()
    return job.ends(within=300), "".join(said)


def stop(pids: list[int]) -> None:
    """Kill all processes of a run."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


LEARNED = [name for name in OBJECTIVES if name not in ("mlm", "nsp")]  # as modern and sop


@pytest.mark.parametrize("objective", long_except(LEARNED, "electra_modern", "sop"))
def test_a_run_learns_and_a_killed_one_ends_with_the_same_bits(objective, data_bin, repository, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole_run = command(objective, data_bin, whole, repository, "--max-update", "40")
    log = run_forked(*whole_run, cwd=tmp_path, env=ENVIRONMENT)
    curve = losses(log)
    assert len(curve) == 40 and sum(curve[-5:]) < 0.9 * sum(curve[:5])
    saves = command(objective, data_bin, broken, repository, "--max-update", "40", "--save-interval-updates", "15")
    codes, _ = run_and_meet(saves, 22, stop, tmp_path)
    assert codes == [-signal.SIGKILL], "the run ended before it could be killed"
    resumed = run_forked(*saves, cwd=tmp_path, env=ENVIRONMENT)
    assert "Loaded checkpoint" in resumed and len(losses(resumed)) == 25  # from update 15 on
    assert_same(whole / "checkpoint_last.pt", broken / "checkpoint_last.pt")
    assert_the_same_metrics(whole, broken, updates=40)
    assert 22 in [line["update"] for line in metrics(broken, "metrics.lost.jsonl")]


STOPS = [
    ("electra", signal.SIGUSR2, "num_updates=12,", []),
    ("mlm", signal.SIGINT, "begin validation", VALIDATING),
]


@pytest.mark.parametrize(
    ("objective", "number", "words", "more"),
    long_except(STOPS, STOPS[1]),
)
def test_a_run_that_is_asked_to_stop_saves_a_checkpoint_and_goes_on_bit_by_bit(
    objective, number, words, more, data_bin, repository, tmp_path
):
    """The workers of the data loader, which are to read a validation, get the signal too."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"

    def train(save):
        words = command(objective, data_bin, save, repository, "--max-update", "30", *more)
        return [word for word in words if not more or word != "--disable-validation"]

    run_forked(*train(whole), cwd=tmp_path, env=ENVIRONMENT)
    asked = train(parts)
    code, log = run_and_signal(asked, words, functools.partial(ask, number=number, later=0.3 if more else 0), tmp_path)
    stopped = int(re.search(r"stopped after update (\d+); the same command resumes", log)[1])
    assert code == 75 and stopped in (12, 13, 14, 20) and "Traceback" not in log
    assert len(losses(run_forked(*asked, cwd=tmp_path, env=ENVIRONMENT))) == 30 - stopped
    assert_same(whole / "checkpoint_last.pt", parts / "checkpoint_last.pt")
    assert_the_same_metrics(whole, parts, updates=30)


def test_packed_rows_hold_more_tokens_and_are_learned(data_bin, repository, tmp_path):
    tokens = {}
    for name, packing in (("alone", []), ("packed", ["--pack-sequences"])):
        own = ["--sample-break-mode", "complete_doc", "--max-update", "20", *packing]
        words = command("modern", data_bin, tmp_path / name, repository, *own)
        at = words.index("--length-schedule")
        curve = losses(run_forked(*words[:at], *words[at + 2 :], cwd=tmp_path, env=ENVIRONMENT))
        assert sum(curve[-5:]) < sum(curve[:5])
        tokens[name] = sum(line["tokens"] for line in metrics(tmp_path / name))
    assert tokens["packed"] > 1.05 * tokens["alone"]


def test_two_processes_learn_and_both_stop_when_the_second_is_asked_to(data_bin, repository, tmp_path):
    """The second saves nothing. They stop after the same update, and resume to the same bits."""
    distributed = ["--cpu", "--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp"]

    def train(save):
        return command("electra", data_bin, tmp_path / save, repository, "--max-update", "30", *distributed)

    def ask_second(pids):
        os.kill(pids[1], signal.SIGUSR2)

    log = run_forked(*train("whole"), cwd=tmp_path, env=ENVIRONMENT, processes=2)
    curve = losses(log)
    assert "training on 2 devices" in log and len(curve) == 30 and sum(curve[-3:]) < 0.9 * sum(curve[:3])
    codes, log = run_and_meet(train("parts"), 12, ask_second, tmp_path, processes=2)
    stopped = int(re.search(r"stopped after update (\d+); the same command resumes", log)[1])
    assert stopped in (12, 13, 14, 15) and codes == [75, 75]  # in the middle of an epoch
    resumed = run_forked(*train("parts"), cwd=tmp_path, env=ENVIRONMENT, processes=2)
    assert len(losses(resumed)) == 30 - stopped
    assert_same(tmp_path / "whole" / "checkpoint_last.pt", tmp_path / "parts" / "checkpoint_last.pt")
    assert_the_same_metrics(tmp_path / "whole", tmp_path / "parts", updates=30)
    assert {line["processes"] for line in metrics(tmp_path / "whole")} == {2}


TWO_GPUS = """
import torch
from fairseq_cli import train

if __name__ == "__main__":
    torch.cuda.device_count = lambda: 2
    train.cli_main()
"""


def test_processes_that_fairseq_starts_itself_stop_with_a_checkpoint(data_bin, repository, tmp_path):
    """As on a machine with two GPUs, without torchrun or the launcher; the signal is to their parent alone."""

    def ask(process):
        os.kill(process.pid, signal.SIGINT)

    (tmp_path / "train.py").write_text(TWO_GPUS)
    words = command("electra", data_bin, tmp_path / "save", repository, "--max-update", "400", "--cpu")[1:]
    words += ["--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp", "--distributed-world-size", "2"]
    code, log = run_and_signal([sys.executable, "train.py", *words], "num_updates=12,", ask, tmp_path)
    stopped = int(re.search(r"stopped after update (\d+); the same command resumes", log)[1])
    assert code == 75 and "Traceback" not in log, log[-3000:]
    last = metrics(tmp_path / "save")[-1]
    assert (last["update"], last["processes"]) == (stopped, 2) and (tmp_path / "save/checkpoint_last.pt").exists()
