"""Stock fairseq, its own RoBERTa and its own commands on this Python: what the repairs are for."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils, trainer
from fairseq_cli.train import cli_main
from forked import finish
from long_cases import long_except

ROBERTA = [
    "--task", "masked_lm", "--criterion", "masked_lm", "--arch", "roberta_base", "--encoder-layers", "1",
    "--encoder-embed-dim", "16", "--encoder-ffn-embed-dim", "32", "--encoder-attention-heads", "2",
    "--max-positions", "32", "--tokens-per-sample", "30", "--optimizer", "adam", "--lr", "0.01",
    "--lr-scheduler", "fixed", "--batch-size", "4", "--num-workers", "0", "--log-format", "simple",
    "--log-interval", "1", "--seed", "1", "--cpu", "--disable-validation", "--no-epoch-checkpoints",
]  # fmt: skip
# The copies of RoBERTa's weights for PyTorch's fused layers, which fairseq neither trains nor restores.
STALE = ("in_proj_weight", "in_proj_bias", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias")
STALE += ("out_proj_weight", "out_proj_bias")
SCRIPTS = Path(sys.executable).parent
QUIET = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture(scope="module")
def data_bin(tmp_path_factory) -> Path:
    """Made by the console script, which imports fairseq before any plugin could."""
    folder = tmp_path_factory.mktemp("toy")
    draw = random.Random(0)
    words = "le patient présente une fièvre et une toux sèche sans douleur".split()
    lines = [" ".join(draw.choices(words, k=draw.randint(3, 20))) for _ in range(40)]
    (folder / "train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    prefix = folder / "train.txt"
    command = [
        SCRIPTS / "fairseq-preprocess",
        "--only-source",
        "--trainpref",
        prefix,
        "--validpref",
        prefix,
        "--destdir",
    ]
    subprocess.run([*command, folder / "bin"], check=True, env=QUIET, stdout=subprocess.DEVNULL)
    return folder / "bin"


@pytest.fixture
def train(data_bin, monkeypatch):
    """Run `fairseq-train` in this process; returns the checkpoint."""

    def run(save: Path, *more: str) -> Path:
        monkeypatch.setattr(sys, "argv", ["fairseq-train", str(data_bin), *ROBERTA, "--save-dir", str(save), *more])
        cli_main()
        return save / "checkpoint_last.pt"

    return run


def tensors(checkpoint: Path) -> dict[str, torch.Tensor]:
    """Weights, moments and, in half precision, master weights."""
    state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
    found = {name: value for name, value in state["model"].items() if not name.endswith(STALE)}
    optimizer = state["last_optimizer_state"]
    for index, moments in optimizer["state"].items():
        found |= {f"{index}.{name}": value for name, value in moments.items() if torch.is_tensor(value)}
    return found | {f"master.{index}": value for index, value in enumerate(optimizer.get("fp32_params", []))}


@pytest.mark.parametrize("precision", long_except([[], ["--bf16"]], ["--bf16"]))
def test_a_run_stopped_in_an_epoch_goes_on_bit_by_bit(precision, train, tmp_path):
    whole = tensors(train(tmp_path / "whole", "--max-update", "6", *precision))
    train(tmp_path / "parts", "--max-update", "4", *precision)
    parts = tensors(train(tmp_path / "parts", "--max-update", "6", *precision))
    assert whole.keys() == parts.keys() and any(name.startswith("master") for name in whole) == bool(precision)
    assert [name for name in whole if not torch.equal(whole[name], parts[name])] == []


def test_a_run_goes_on_from_the_checkpoint_before_a_damaged_one_bit_by_bit(train, tmp_path):
    whole = tensors(train(tmp_path / "whole", "--max-update", "6"))
    for updates in ("2", "4"):
        last = train(tmp_path / "parts", "--max-update", updates)
    damaged = bytearray(last.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    last.write_bytes(damaged)
    parts = tensors(train(tmp_path / "parts", "--max-update", "6"))
    assert [name for name in whole if not torch.equal(whole[name], parts[name])] == []
    assert (tmp_path / "parts" / "checkpoint_last.damaged.pt").read_bytes() == damaged


@pytest.mark.parametrize("link", long_except([False, True], True), ids=["missing", "dangling link"])
def test_a_run_whose_last_checkpoint_is_missing_resumes_and_deletes_none(link, train, tmp_path):
    """Stock fairseq starts at update 0 there, and deletes the whole checkpoints as it saves."""
    options = ("--save-interval-updates", "2", "--keep-interval-updates", "1")
    whole = tensors(train(tmp_path / "whole", "--max-update", "8"))
    last = train(tmp_path / "parts", "--max-update", "6", *options)
    last.unlink()
    if link:
        last.symlink_to(tmp_path / "moved.pt")
    parts = tensors(train(tmp_path / "parts", "--max-update", "8", *options))
    assert [name for name in whole if not torch.equal(whole[name], parts[name])] == []


def test_a_run_without_a_whole_checkpoint_is_refused(train, tmp_path, capsys):
    last = train(tmp_path, "--max-update", "2")
    last.write_bytes(b"")
    with pytest.raises(SystemExit) as exit:
        train(tmp_path, "--max-update", "4")
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert exit.value.code == 2 and "checkpoint_last.pt: damaged (it is empty); the folder has no other" in said


def test_a_restore_file_that_is_missing_is_refused(train, tmp_path, capsys):
    with pytest.raises(SystemExit) as exit:
        train(tmp_path, "--restore-file", "typo.pt", "--max-update", "1")
    assert exit.value.code == 2 and "--restore-file typo.pt: no such file; give" in capsys.readouterr().err


def test_a_run_that_resets_its_optimizer_still_begins_with_the_newest_weights(train, tmp_path, caplog):
    train(tmp_path, "--max-update", "4", "--save-interval-updates", "2").unlink()
    train(tmp_path, "--max-update", "1", "--reset-optimizer", "--no-save")
    assert "last.pt: missing; the run resumes from checkpoint_" in caplog.text


def test_a_finished_run_that_is_started_again_stays_as_it_is(train, tmp_path):
    before = train(tmp_path, "--max-update", "3").read_bytes()
    assert train(tmp_path, "--max-update", "3").read_bytes() == before
    assert train(tmp_path, "--max-update", "4").read_bytes() != before


def test_a_run_whose_time_is_over_stays_as_it_is_and_one_that_begins_with_its_weights_trains(train, tmp_path):
    last = train(tmp_path / "first", "--stop-time-hours", "1e-9")
    before = last.read_bytes()
    assert train(tmp_path / "first", "--stop-time-hours", "1e-9").read_bytes() == before
    assert train(tmp_path / "second", "--stop-time-hours", "1e-9", "--finetune-from-model", str(last)).exists()


KEEPS = ["--store-ema", "--ema-decay", "0.75"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], ["--max-update", "5"]),
        ([*KEEPS], ["--max-update", "1", "--reset-optimizer"]),
        ([*KEEPS], ["--max-update", "1", "--finetune-from-model"]),
        ([*KEEPS, "--bf16", "--ema-fp32"], ["--max-update", "1", "--bf16", "--ema-fp32", "--finetune-from-model"]),
    ],
    ids=["resumed", "reset", "from a parent", "from a parent in bf16"],
)
def test_an_average_begins_with_the_weights_of_a_checkpoint_that_the_run_has_not_averaged(
    before, after, train, tmp_path
):
    last = train(tmp_path / "save", "--max-update", "4", *before)
    first = checkpoint_utils.load_checkpoint_to_cpu(str(last))["model"]
    parent = "--finetune-from-model" in after
    last = train(tmp_path / ("child" if parent else "save"), *KEEPS, *after, *([str(last)] if parent else []))
    state = checkpoint_utils.load_checkpoint_to_cpu(str(last))
    found = state["extra_state"].get("ema_fp32_params", state["extra_state"]["ema"])
    names = [name for name in found if not name.endswith((*STALE, "version"))]
    assert len(names) > 20
    for name in names:
        expected = 0.75 * first[name].float() + 0.25 * state["model"][name].float()
        torch.testing.assert_close(found[name], expected, msg=lambda said, name=name: f"{name}: {said}")


def test_bf16_trains_in_bf16_with_master_weights_in_fp32(train, tmp_path, monkeypatch):
    seen, step = [], trainer.Trainer.train_step

    def recording(self, samples, *rest, **options):
        logs = step(self, samples, *rest, **options)
        master = self.optimizer.fp32_params
        seen.append(({p.dtype for p in self.model.parameters()}, {p.dtype for p in master}, float(master[0].sum())))
        return logs

    monkeypatch.setattr(trainer.Trainer, "train_step", recording)
    train(tmp_path, "--max-update", "3", "--bf16", "--no-save")
    assert [kinds[:2] for kinds in seen] == [({torch.bfloat16}, {torch.float32})] * 3
    assert len({total for *_, total in seen}) == 3  # every update changed the weights


def test_fp16_on_a_cpu_is_refused_in_one_sentence(train, tmp_path, capsys):
    with pytest.raises(SystemExit) as exit:
        train(tmp_path, "--fp16")
    said = capsys.readouterr().err.strip()
    assert exit.value.code == 2 and said.startswith("error: --fp16 needs a GPU") and "\n" not in said


@pytest.mark.parametrize("precision", ["--bf16", "--memory-efficient-bf16"])
def test_an_average_in_half_precision_is_refused_in_one_sentence(precision, train, tmp_path, capsys):
    with pytest.raises(SystemExit) as exit:
        train(tmp_path / "save", "--max-update", "1", "--store-ema", precision)
    said = capsys.readouterr().err.strip()
    assert exit.value.code == 2 and not (tmp_path / "save").exists()
    assert said == "error: --store-ema: in half precision an average rounds its updates away; add --ema-fp32."


@pytest.mark.parametrize("decay", ["1", "1.5", "-0.1", "nan"])
def test_an_average_that_runs_away_is_refused_in_one_sentence(decay, train, tmp_path, capsys):
    with pytest.raises(SystemExit):
        train(tmp_path / "save", "--max-update", "1", "--store-ema", f"--ema-decay={decay}")
    said = capsys.readouterr().err.strip()
    assert said == f"error: --ema-decay {float(decay)} is not in [0, 1); leave it out for 0.9999."


def test_a_foreign_checkpoint_ends_the_run_in_one_sentence(train, tmp_path, capsys):
    torch.save({"model": torch.nn.Linear(1, 1)}, tmp_path / "checkpoint_last.pt")
    with pytest.raises(SystemExit) as exit:
        train(tmp_path)
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert exit.value.code == 2 and "checkpoint_last.pt: not opened, because it holds torch.nn" in said


CRITERION = "its criterion was another (MaskedLmLoss vs CrossEntropyCriterion); give"
OPTIMIZER = "it was trained with --optimizer adam, whose moments adagrad cannot use; give"


@pytest.mark.parametrize(
    ("precision", "options", "sentence"),
    [
        ([], ["--criterion", "cross_entropy"], CRITERION),
        ([], ["--optimizer", "adagrad"], OPTIMIZER),
        (["--bf16"], ["--optimizer", "adagrad"], OPTIMIZER),  # fairseq sees the same wrapper around both
    ],
    ids=["criterion", "optimizer", "optimizer in bf16"],
)
def test_another_criterion_or_optimizer_ends_the_run(precision, options, sentence, train, tmp_path, capsys):
    before = train(tmp_path, "--max-update", "1", *precision).read_bytes()
    with pytest.raises(SystemExit) as exit:
        train(tmp_path, "--max-update", "2", *precision, *options)
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert exit.value.code == 2 and said.startswith(f"error: {tmp_path}/checkpoint_last.pt: {sentence}"), said
    assert "another --save-dir" in said and (tmp_path / "checkpoint_last.pt").read_bytes() == before


def test_another_precision_ends_the_run_unless_the_optimizer_is_reset(train, tmp_path, capsys):
    train(tmp_path, "--max-update", "1")
    with pytest.raises(SystemExit):
        train(tmp_path, "--max-update", "2", "--bf16")
    assert "its optimizer was another (FairseqAdam vs FP16Optimizer); give" in capsys.readouterr().err
    train(tmp_path, "--max-update", "2", "--bf16", "--optimizer", "adagrad", "--reset-optimizer")


def train_on_two_processes(data_bin: Path, save: Path, *more: str) -> tuple[int, str]:
    """With PyTorch's own DDP on the CPU; exit code and log."""
    distributed = ["--distributed-backend", "gloo", "--ddp-backend", "pytorch_ddp", "--find-unused-parameters"]
    words = ["fairseq-train", data_bin, *ROBERTA, "--save-dir", save, *distributed, *more]
    return finish(words, cwd=save.parent, env=QUIET, processes=2)


def test_a_run_goes_on_with_other_processes_and_the_same_effective_batch(data_bin, train, tmp_path):
    """One process, two, from the checkpoint before a damaged one, and one again, against one all the time."""
    options = ["--dropout", "0", "--attention-dropout", "0"]  # two processes draw other noise than one
    whole = tensors(train(tmp_path / "whole", *options, "--update-freq", "2", "--max-update", "9"))
    for updates in ("4", "5"):  # in the middle of an epoch of three
        last = train(tmp_path / "parts", *options, "--update-freq", "2", "--max-update", updates)
    last.write_bytes(b"")
    two = [data_bin, tmp_path / "parts", *options, "--max-update", "8"]
    code, refused = train_on_two_processes(*two, "--update-freq", "2")
    assert code and "it was trained by 1 processes with --update-freq 2, 2 batches an update" in refused
    assert "; give --update-freq 1, or begin the epoch anew" in refused
    last.unlink()  # all processes learn from the first one which checkpoint it is
    code, log = train_on_two_processes(*two, "--update-freq", "1")
    assert "@ 4 updates" in log and not code, log[-12000:]
    parts = tensors(train(tmp_path / "parts", *options, "--update-freq", "2", "--max-update", "9"))
    apart = max(float((whole[name] - parts[name]).abs().max()) for name in whole if whole[name].is_floating_point())
    assert whole.keys() == parts.keys() and apart < 1e-5  # sums in another order


def test_commands_also_run_as_modules(tmp_path):
    """`python -m` asks the loader for the module's code, which a wrapper that only executes would not have."""
    done = subprocess.run(
        [sys.executable, "-m", "fairseq_cli.preprocess", "--help"],
        cwd=tmp_path,
        env=QUIET,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0 and "--srcdict" in done.stdout, done.stderr


def test_processes_that_fairseq_starts_itself(data_bin, tmp_path):
    """As on a machine with two GPUs, by hand: of what goes wrong in one, its sentence and its exit code are left."""
    more, code, said = ["--restore-file", "other.pt"], 2, "other.pt: not a whole checkpoint of fairseq"
    program = """
import sys, torch
from fairseq_cli import train

if __name__ == "__main__":
    torch.cuda.device_count = lambda: 2
    train.cli_main()
"""
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "other.pt").write_bytes(b"nothing")
    command = [sys.executable, "train.py", data_bin, *ROBERTA, "--save-dir", "save", "--distributed-world-size", "2"]
    command += ["--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp", "--max-update", "2", *more]
    done = subprocess.run(command, env=QUIET, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == code and said in done.stderr and "Traceback" not in done.stderr, done.stderr[-3000:]


def test_workers_end_with_the_batches_they_were_for():
    """Not when the garbage is collected, which costs five seconds a worker: fairseq asks for no batch too many."""
    program = """
import gc, time, torch, multiprocessing
from fairseq.data import iterators

gc.disable()
loader = torch.utils.data.DataLoader(list(range(8)), num_workers=2)
began = time.perf_counter()
for _ in range(3):
    batches = iterators.CountingIterator(iterators.BufferedIterator(10, loader), total=8)
    assert len(list(batches)) == 8
while multiprocessing.active_children():
    assert time.perf_counter() - began < 60
    time.sleep(0.05)
"""
    done = subprocess.run([sys.executable, "-c", program], env=QUIET, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_workers_outlive_a_signal_to_all_and_not_their_process():
    """Slurm signals every process of a job; torch itself ends its workers by SIGTERM. A parent that is gone ends them
    too, within torch's five seconds."""
    program = """
import multiprocessing, os, signal, subprocess, sys, time
from fairseq.data import iterators

signal.signal(signal.SIGTERM, lambda *_: None)
loader = iterators.torch.utils.data.DataLoader(list(range(400)), num_workers=2, batch_size=None)
batches = iter(loader)
next(batches), next(batches)  # both have begun
for name in ("TERM", "INT", "USR2"):
    for worker in multiprocessing.active_children():
        subprocess.run(["kill", f"-{name}", str(worker.pid)], check=True)
assert len(list(batches)) == 398
batches = iter(loader)
next(batches), next(batches)
first, second = multiprocessing.active_children()
first.terminate()
first.join(10)
assert first.exitcode == 0 and second.is_alive(), first.exitcode
print(second.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], env=QUIET, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr[-2000:]
    worker, end = int(done.stdout), time.monotonic() + 30
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_run_that_stops_while_batches_are_read_ends_well():
    """The reading thread is inside torch nearly always: without the repair the exit status is 134."""
    program = """
import torch
from fairseq.data import iterators

class Batches:
    def __len__(self):
        return 10_000

    def __iter__(self):
        for _ in range(len(self)):
            batch = torch.rand(300, 300)
            for _ in range(20):
                batch = batch @ batch
            yield batch

reader = iterators.BufferedIterator(10, Batches())
assert next(reader).shape == next(reader).shape == (300, 300)
"""
    done = subprocess.run([sys.executable, "-c", program], env=QUIET, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("terminate")) == (0, 0), done.stderr[-500:]
