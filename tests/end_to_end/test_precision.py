"""Half precision trains as float32 does; under --fp16 an overflow costs a batch and half the scale; a run resumes.

The runs are `fairseq-train` in this process. Under --fp16 fairseq needs CUDA for two things: to flatten parameters,
which this plugin's optimizers refuse, and to make a zero after an overflow. So `fairseq_compat` refuses --fp16 on a
CPU; here the refusal is lifted, and the zero is made on the CPU.
"""

import functools
import json
import logging
import re
import sys
from contextlib import contextmanager

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq_cli.train import cli_main
from long_cases import long_except
from test_pretraining import OBJECTIVES, RATES, SHAPE, WIDTHS, assert_same, losses

import alibert_fairseq  # noqa: F401  registers
from alibert_fairseq.callbacks import precision
from fairseq_compat import command_line

UPDATES = 10
OPTIONS = [
    *SHAPE, "--batch-size", "4", "--lr", "0.001", "--clip-norm", "1.0", "--lr-scheduler", "electra",
    "--warmup-updates", "10", "--total-num-update", "200", "--max-update", str(UPDATES), "--num-workers", "0",
    "--log-format", "simple", "--log-interval", "1", "--seed", "7", "--disable-validation", "--no-epoch-checkpoints",
    # On a CPU, torch keeps 1 / sqrt(variance + epsilon) of a LayerNorm in half precision, in which BERT's epsilon of
    # 1e-12 is infinite for the rows of padding, at first all zero. On a GPU it keeps it in float32.
    "--layer-norm-eps", "1e-5",
]  # fmt: skip
FP16 = ["--fp16", "--fp16-no-flatten-grads"]
# A scale of 4 at which nothing overflows: a skipped batch would compare two runs over different batches.
PRECISIONS = {
    "fp16": [*FP16, "--fp16-init-scale", "4", "--ema-fp32"],
    "bf16": ["--bf16", "--ema-fp32"],
    "bf16-autocast": ["--bf16-autocast"],
}
# Bits. Measured: 0.001 and 0.04; with a learning rate a tenth higher, 0.05 and 0.14. The loss of ELECTRA, about 59 at
# first, has 50 times the discriminator's, and a rounded weight may change a sample that the discriminator judges.
NEAR = {"mlm": 0.01, "electra": 0.1, "modern": 0.02, "electra_modern": 0.02}


@contextmanager
def logged():
    """The lines that are logged meanwhile, as fairseq prints them."""
    lines, handler, root = [], logging.Handler(), logging.getLogger()
    handler.emit = lambda record: lines.append(f"{record.name} | {record.getMessage()}")
    level = root.level
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


@pytest.fixture(scope="module")
def train(data_bin):
    """Run the objective on a CPU with more options, of which the last of two equal ones counts; its log."""

    def train(objective: str, *words: str) -> str:
        with pytest.MonkeyPatch.context() as patch, logged() as lines:
            patch.setattr(command_line, "refuse_fp16", lambda: None)
            patch.setattr(torch.Tensor, "cuda", lambda tensor: tensor)
            patch.setattr(torch.cuda, "is_available", lambda: False)
            options = [*OBJECTIVES[objective], *OPTIONS, "--embedding-dim", WIDTHS.get(objective, "64")]
            options += ["--lr", RATES.get(objective, "0.001")]
            patch.setattr(sys, "argv", ["fairseq-train", str(data_bin), *options, *words])
            cli_main()
        return "\n".join(lines)

    return train


@pytest.fixture(scope="module")
def in_float32(train):
    """The losses of the objective in float32, computed once."""
    return functools.cache(lambda objective: losses(train(objective, "--no-save")))


CASES = [  # both objectives and both bodies in each precision
    ("fp16", "electra"), ("fp16", "modern"), ("bf16", "mlm"), ("bf16", "electra_modern"),
    ("bf16-autocast", "electra"), ("bf16-autocast", "modern"),
]  # fmt: skip


@pytest.mark.parametrize(("precision", "objective"), long_except(CASES, CASES[0], CASES[3], CASES[5]))
def test_half_precision_stays_near_float32(precision, objective, train, in_float32):
    expected = in_float32(objective)
    found = losses(train(objective, "--no-save", *PRECISIONS[precision]))
    distances = [abs(a - b) for a, b in zip(expected, found, strict=True)]
    assert len(distances) == UPDATES and max(distances) < NEAR[objective], (expected, found)
    # else a run that learns nothing would be near; without the first batch, which may hold short sequences
    assert sum(expected[1:4]) - sum(expected[-3:]) > 12 * NEAR[objective]


@pytest.mark.parametrize("faster", long_except([False, True], True))
def test_a_run_keeps_the_precision_that_a_measurement_chose(faster, train, monkeypatch, tmp_path):
    def measured(seconds):
        monkeypatch.setattr(precision.Precision, "_measured", lambda self, samples: seconds)

    measured({faster: 1.0, not faster: 2.0})
    words = ["--measure-precision", "--save-dir"]
    whole = train("mlm", *words, str(tmp_path / "whole"))
    train("mlm", *words, str(tmp_path / "parts"), "--max-update", "4")
    measured({faster: 2.0, not faster: 1.0})  # as on another machine
    resumed = train("mlm", *words, str(tmp_path / "parts"))
    name = precision.NAMES[faster]
    assert f"precision: {name} (a batch" in whole and f"precision: {name}, as the checkpoint's run" in resumed
    assert_same(*(tmp_path / place / "checkpoint_last.pt" for place in ("whole", "parts")))
    other = train("mlm", "--no-save", *words[:1], "--finetune-from-model", str(tmp_path / "whole/checkpoint_last.pt"))
    assert f"precision: {precision.NAMES[not faster]} (a batch" in other  # a run of its own measures
    fixed = train("mlm", *(["--bf16-autocast"] if faster else []), "--save-dir", str(tmp_path / "fixed"))
    assert losses(fixed) == losses(whole)


def test_a_measurement_is_refused_beside_a_precision_of_fairseq(train):
    with pytest.raises(SystemExit, match="--bf16 is another precision"):
        train("mlm", "--no-save", "--bf16", "--measure-precision")


def test_a_measurement_leaves_the_run_as_it_was(train):
    measured, plain = train("mlm", "--no-save", "--measure-precision"), losses(train("mlm", "--no-save"))
    if "precision: float32" in measured:
        assert losses(measured) == plain
    else:
        assert losses(measured) == losses(train("mlm", "--no-save", "--bf16-autocast"))


@pytest.mark.parametrize("objective", ["electra"])
def test_an_overflow_halves_the_scale_and_a_resumed_run_ends_with_the_same_bits(objective, train, tmp_path):
    words = [*FP16, "--fp16-init-scale", str(2**20)]
    whole = train(objective, *words, "--save-dir", str(tmp_path / "whole"))
    scales = [float(scale) for scale in re.findall(r"ignoring gradient, setting loss scale to: ([\d.]+)", whole)]
    assert scales == [2.0 ** (19 - i) for i in range(len(scales))] and scales
    lines = (tmp_path / "whole/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["skipped"] for line in lines] == [len(scales)] + [0] * (UPDATES - 1)
    batches, updates, rates = progress(whole)
    assert updates == list(range(1, UPDATES + 1)) and batches == [len(scales) + update for update in updates]

    begun = train(objective, *words, "--save-dir", str(tmp_path / "parts"), "--max-update", "4")
    resumed = train(objective, *words, "--save-dir", str(tmp_path / "parts"))
    assert progress(begun)[2] + progress(resumed)[2] == rates and "setting loss scale" not in resumed
    saved = [tmp_path / place / "checkpoint_last.pt" for place in ("whole", "parts")]
    assert_same(*saved)
    states = [checkpoint_utils.load_checkpoint_to_cpu(str(path))["last_optimizer_state"] for path in saved]
    assert [state["loss_scale"] for state in states] == [scales[-1]] * 2
    assert all(map(torch.equal, *(state["fp32_params"] for state in states)))


def progress(log: str) -> tuple[list[int], list[int], list[str]]:
    """Of every update that was made: its batch's number, its own, and the learning rate of the next."""
    found = re.findall(r"train_inner \| epoch 001: +(\d+) / .*? num_updates=(\d+), lr=([\d.e-]+)", log)
    return [int(batch) for batch, *_ in found], [int(update) for _, update, _ in found], [rate for *_, rate in found]
