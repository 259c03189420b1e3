"""tests/campaigns/kill_training.py in short: its kills do no harm, and what would be harm is seen."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils
from same_training import METRICS, differences

REPOSITORY = Path(__file__).resolve().parents[2]
CAMPAIGNS = REPOSITORY / "tests" / "campaigns"
SEED = "59"  # a save before a rename, the first after an epoch; a start
# The campaign trains other objectives too; test_pretraining.py kills those.
SHORT = """
import sys
from alibert_fairseq.optim.adam_lamb_step import AdamLamb
sys.path.insert(0, {place!r})
import kill_training
assert "--max-epoch 3" in kill_training.OPTIONS
kill_training.OPTIONS = kill_training.OPTIONS.replace("--max-epoch 3", "--max-epoch 2")
print("status", kill_training.main())
AdamLamb.load_state_dict = lambda self, state: None  # the moments are lost at each start
sys.argv[sys.argv.index("--kills") + 1] = "1"
print("status", kill_training.main())
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("killed")


@pytest.fixture(scope="module")
def campaigns(place, data_bin) -> list[tuple[str, dict, int]]:
    """Of two kills, and of one without moments: all it said, what it found, its exit status."""
    options = [str(data_bin), "--output", "runs", "--seed", SEED, "--kills", "2", "--objective", "mlm"]
    command = [sys.executable, "-c", SHORT.format(place=str(CAMPAIGNS)), *options]
    own = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=place, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    parts = re.findall(r"(.*?)^(\{.*?^\})\nstatus (\d)\n", done.stdout, re.MULTILINE | re.DOTALL)
    return [(said, json.loads(found), int(status)) for said, found, status in parts]


def test_killed_trainings_end_with_the_same_bits(campaigns):
    said, found, status = campaigns[0]
    assert status == 0, said
    of = found["mlm"]
    assert (of["kills"], of["workers"], of["runs"], of["equal_runs"]) == (2, {"0": 2}, 1, 1)
    assert of["in_save"] >= 1 and of["updates_done_again"] > 0 and of["differences"] == []
    assert of["kinds"] == {"names": 1, "again": 1}
    # The first save after the end of the epoch is killed: the run resumes from that end, at update 25.
    assert re.search(r"kill 1, names: after update 2[678], .*checkpoint_2_28.pt.tmp", said)


def test_a_training_that_goes_on_without_its_moments_is_seen(campaigns):
    said, found, status = campaigns[1]
    assert status == 1 and found["mlm"]["equal_runs"] == 0 and "the same" not in said
    assert any("checkpoint_last.pt: optimizer." in what for what in found["mlm"]["differences"])


def change_tensor(state):
    """The least there is: the last bit of one number."""
    weight = state["model"]["encoder.lm_head.bias"].view(-1)
    weight[7] = torch.nextafter(weight[7], torch.tensor(10.0))


def change_moment(state):
    moments = state["last_optimizer_state"]["state"][3]["exp_avg_sq"].view(-1)
    moments[0] = torch.nextafter(moments[0], torch.tensor(10.0))


DAMAGES = {
    "model.encoder.lm_head.bias": change_tensor,
    "model.encoder.lm_head.bias: missing": lambda state: state["model"].pop("encoder.lm_head.bias"),
    "model.more: nobody else has it": lambda state: state["model"].update(more=torch.ones(1)),
    "optimizer.3.exp_avg_sq": change_moment,
    "optimizer.3.exp_avg: missing": lambda state: state["last_optimizer_state"]["state"][3].pop("exp_avg"),
    "optimizer.group 0.lr": lambda state: state["last_optimizer_state"]["param_groups"][0].update(lr=0.1),
    "history.num_updates": lambda state: state["optimizer_history"][-1].update(num_updates=49),
    "place.epoch": lambda state: state["extra_state"]["train_iterator"].update(epoch=2),
    "place.iterations_in_epoch": lambda state: state["extra_state"]["train_iterator"].update(iterations_in_epoch=1),
    "best": lambda state: state["extra_state"].update(best=1.0),
    "average.loss": lambda state: dict(state["extra_state"]["metrics"])["train"][0][3].update(val=1.0),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_checkpoint_that_differs_is_seen(place, campaigns, tmp_path, what):
    whole, ours = tmp_path / "whole", tmp_path / "ours"
    for folder in (whole, ours):
        folder.mkdir()
        for name in ("checkpoint_last.pt", METRICS):
            shutil.copy(place / "runs" / "mlm-0" / name, folder)
    last = ours / "checkpoint_last.pt"
    state = torch.load(last, weights_only=False)
    DAMAGES[what](state)
    checkpoint_utils.torch_persistent_save(state, str(last))
    assert differences(ours, whole) == [f"checkpoint_last.pt: {what}"]


def test_files_and_updates_that_differ_are_seen(place, campaigns, tmp_path):
    whole, ours = place / "runs" / "mlm-0", tmp_path / "ours"
    shutil.copytree(whole, ours)
    (ours / "checkpoint_best.pt").unlink()
    (ours / "checkpoint_last.pt.tmp").touch()
    lines = (ours / METRICS).read_text().splitlines()
    (ours / METRICS).write_text("\n".join([*lines[:8], *lines[7:]]))
    left, missing, repeated = differences(ours, whole)
    assert (left, missing) == ("checkpoint_last.pt.tmp: left", "checkpoint_best.pt: missing")
    assert repeated.startswith(f"{METRICS}: updates [1, 2, 3, 4, 5, 6, 7, 8, 8, 9,")
    shutil.rmtree(ours)
    shutil.copytree(whole, ours)
    later = json.loads(lines[9])
    lines[9] = json.dumps(later | {"seconds": 1000})
    (ours / METRICS).write_text("\n".join(lines))
    assert differences(ours, whole) == []
    lines[9] = json.dumps(later | {"gnorm": later["gnorm"] * 1.0000001})
    (ours / METRICS).write_text("\n".join(lines))
    assert differences(ours, whole) == [f"{METRICS}: update 10"]
    (ours / METRICS).write_text("\n".join([*lines[:9], *lines[10:]]))
    assert differences(ours, whole)[0].startswith(f"{METRICS}: updates [1, 2, 3, 4, 5, 6, 7, 8, 9, 11,")
