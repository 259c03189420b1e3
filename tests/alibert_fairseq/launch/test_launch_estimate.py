"""What a dry run says of an update, of fewer GPUs, of memory and of time; what a calibration counts."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.data.data_utils import batch_by_size

from alibert_fairseq.callbacks.calibration import VARIABLE, Calibration, counted
from alibert_fairseq.launch.__main__ import dry_run
from alibert_fairseq.launch.estimate import GIB, calibrate, describe_run
from alibert_fairseq.launch.plan import Plan


def plan(nodes=12, processes=4, gpu=True):
    """AliBERT's."""
    return Plan(Path("r.sh"), [], gpu, nodes, processes, gpu, None, Path("logs"))


def found(**changed):
    """A calibration on CPU of a quarter of the recipe's batch."""
    return {
        "device": "CPU", "parameters": 110_000_000, "state_bytes": 2 * GIB, "activation_bytes": GIB, "peak_bytes": 0,
        "flop": 3 * 10**12, "seconds": 10.0, "sequences": 5, "tokens_per_sample": 512, "batch_size": 20,
        "max_tokens": None, "update_freq": 1, "max_update": 1000, "left_out": [],
    } | changed  # fmt: skip


def said(plan, found) -> dict[str, str]:
    """{first word: the rest} of the lines."""
    return {line[:13].strip(): line[13:] for line in describe_run(plan, found).splitlines()}


@pytest.mark.parametrize("batch, multiple", [(20, 4), (10, 4), (12, 8), (6, 8), (20, 1)])
def test_the_batch_is_the_one_that_fairseq_makes(batch, multiple, monkeypatch, tmp_path):
    """It cuts a batch of 10 to 8 where --required-batch-size-multiple is 4."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "found.json"))
    dataset = SimpleNamespace(batch_size=batch, max_tokens=None, required_batch_size_multiple=multiple)
    optimization = SimpleNamespace(update_freq=[1], max_update=9, max_epoch=0)
    schedule = SimpleNamespace(warmup_updates=3)
    cfg = SimpleNamespace(dataset=dataset, optimization=optimization, lr_scheduler=schedule)
    task, model = SimpleNamespace(max_positions=lambda: 512), torch.nn.Linear(2, 2)
    calibration = Calibration(SimpleNamespace(cfg=cfg, task=task, model=model, cuda=False))
    calibration.begin()
    sizes = {"max_sentences": batch, "required_batch_size_multiple": multiple}
    made = len(batch_by_size(np.arange(100), None, num_tokens_vec=np.full(100, 512), **sizes)[0])
    assert calibration.found["batch_size"] == made and calibration.found["warmup_updates"] == 3
    assert (dataset.batch_size, dataset.required_batch_size_multiple) == (calibration.found["sequences"], 1)


def test_aliberts_cluster():
    """960 = 48 x 20; a GPU that is not here is given 100 TFLOP/s: 4 x 3 TFLOP take 0.12 s, 1,000 of them 2 minutes."""
    lines = said(plan(), found())
    assert lines["batch"] == "20 sequences of 512 tokens a GPU"
    assert lines["update"] == "960 x 512 tokens: 48 GPUs x 20 = 960 sequences, 491,520 tokens"
    assert lines["on fewer"].startswith("24: --update-freq 2, 16: --update-freq 3, 12: --update-freq 4, ")
    expected = "6.0 GiB a GPU: 110 M parameters, gradients and optimizer 2.0 GiB, activations 4.0 GiB (counted)"
    assert lines["memory"] == expected
    assert lines["time"].startswith(
        "0.12 s an update, 2 min 0 s for 1,000, without the exchange of gradients (12.00 TFL"
    )


def test_accumulation_counts_in_the_update_and_in_its_time():
    lines = said(plan(nodes=1), found(update_freq=12))
    assert lines["update"] == "960 x 512 tokens: 4 GPUs x --update-freq 12 x 20 = 960 sequences, 491,520 tokens"
    assert lines["on fewer"].startswith("3: --update-freq 16, 2: --update-freq 24, 1: --update-freq 48 (")
    assert lines["time"].startswith("1.44 s an update, 24 min 0 s")


def test_what_was_measured_on_this_kind_of_device_is_said_to_be():
    """A batch of 20 takes 4 times as long as the 5 sequences that were timed."""
    lines = said(plan(1, 1, gpu=False), found())
    assert "on fewer" not in lines
    assert lines["time"].startswith("40 s an update, 11 h 6 min for 1,000") and "measured here on CPU" in lines["time"]
    gpu = said(plan(), found(device="H100", peak_bytes=9 * GIB, sequences=20, seconds=0.25, max_update=0))
    assert gpu["memory"].startswith("9.0 GiB a GPU, measured here on H100")
    assert gpu["time"] == "0.25 s an update, without the exchange of gradients (measured here on H100, one process)"


def test_a_batch_in_tokens():
    lines = said(plan(), found(batch_size=None, max_tokens=10_240))
    assert lines["batch"] == "at most 10,240 tokens a GPU" and lines["update"] == "48 GPUs x 10,240 = 491,520 tokens"
    assert lines["time"].startswith("0.12 s") and lines["memory"].startswith("6.0 GiB")


NEEDS_A_GPU = "error: --fp16 needs a GPU; on a CPU use --bf16, or neither for full precision."
NO_ROOM = "error: update 1: not enough memory for a batch of 20 x 512 tokens"
KILLED = "the recipe was killed by signal 9 (SIGKILL); a kill is mostly for want of memory on this machine"
ON_A_GPU = "the recipe has --fp16, which needs a GPU; run this on a node with one"


@pytest.mark.parametrize(
    ("lines", "gpu", "why", "refused"),
    [
        ("exit 3", False, "the recipe says: exit code 3", True),
        ("echo 'error: no data' >&2; exit 2", False, "the recipe says: error: no data", True),
        ("exit 0", False, "its training does not use this plugin", False),
        (f"echo '{NEEDS_A_GPU}'; exit 2", True, ON_A_GPU, False),
        (f"echo '{NEEDS_A_GPU}'; exit 2", False, f"the recipe says: {NEEDS_A_GPU}", True),
        ("kill -9 $$", True, KILLED, False),
        ("bash -c 'kill -9 $$'; exit $?", False, KILLED, False),
        (f"echo '{NO_ROOM}'; exit 1", True, f"the recipe says: {NO_ROOM}", False),
        (f"echo '{NO_ROOM}'; exit 1", False, f"the recipe says: {NO_ROOM}", True),
        ("echo 'error: taken' >&2; exit 75", False, "the recipe says: error: taken", False),
    ],
)
def test_why_nothing_was_measured(lines, gpu, why, refused, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (tmp_path / "r.sh").write_text(f'{lines}\nfairseq-train "$@"\n')
    asked = replace(plan(1, 1, gpu=gpu), recipe=tmp_path / "r.sh")
    assert calibrate(asked) == ({}, why, refused)
    assert dry_run(replace(asked, on_slurm=False)) == refused
    assert capsys.readouterr().out.endswith(f"no estimate: {why}\n")


def test_fp16_is_left_out_without_a_gpu_and_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (tmp_path / "r.sh").write_text(f'echo "[\\"$*\\"]" >{tmp_path}/said; echo "{{}}" >$ALIBERT_CALIBRATION\n')
    asked = replace(plan(1, 1), recipe=tmp_path / "r.sh", arguments=["--fp16", "--fp16-init-scale", "4", "--seed", "2"])
    left_out = calibrate(asked).found
    assert left_out == {"left_out": ["--fp16"]}
    words = (tmp_path / "said").read_text()
    assert "--fp16-init-scale 4 --seed 2 --save-dir" in words and "--fp16 " not in words
    assert said(plan(), found() | left_out)["memory"].endswith("activations 4.0 GiB (counted, without --fp16)")


@pytest.mark.parametrize("rows", [3, 6])
def test_what_is_counted_of_an_update(rows):
    """Two products and the two gradients of each; kept are the input, the hidden layer, and the copy of a weight."""
    weight, last = torch.nn.Parameter(torch.randn(8, 16)), torch.nn.Parameter(torch.randn(16, 4))
    model = torch.nn.ParameterList([weight, last])
    inputs = torch.randn(rows, 8, requires_grad=True)

    def update():
        hidden = inputs @ weight.half().float()
        (hidden @ last).sum().backward()

    with counted(model) as counts:
        update()
    flop, copies, others = (counts[name] for name in ("flop", "copy_bytes", "activation_bytes"))
    assert flop == 3 * (2 * rows * 8 * 16 + 2 * rows * 16 * 4)
    assert copies == 8 * 16 * 4
    assert others == rows * 8 * 4 + rows * 16 * 4


def test_attention_is_counted_as_on_a_gpu():
    """Its dropout makes the CPU keep matrices of tokens x tokens; afterwards it is there again."""
    function = torch.nn.functional.scaled_dot_product_attention
    kept = []
    for dropout in (0.0, 0.5):
        query = torch.randn(1, 2, 64, 8, requires_grad=True)

        def update(query=query, dropout=dropout):
            attend = torch.nn.functional.scaled_dot_product_attention
            attend(query, query, query, dropout_p=dropout).sum().backward()

        with counted(torch.nn.ParameterList()) as counts:
            update()
        kept.append(counts["activation_bytes"])
    assert kept[0] == kept[1] < 64 * 64 * 2 * 4
    assert torch.nn.functional.scaled_dot_product_attention is function
