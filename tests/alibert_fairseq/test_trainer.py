"""fairseq-train uses AlibertTrainer, however it is started; and its callbacks act in the order of trainer.py."""

import json
import subprocess
import sys

import fairseq.trainer
import fairseq_cli.train
import pytest
import torch
from forked import run
from light_trainer import LightTrainer, with_callbacks
from tiny_training import ENVIRONMENT, OPTIONS, SCRIPTS, make_data_bin

from alibert_fairseq.callbacks import calibration, run_info
from alibert_fairseq.data.blocks import load_blocks
from alibert_fairseq.data.dictionary import load_dictionary
from alibert_fairseq.trainer import AlibertTrainer

GLOO = ["--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp"]
TORCHRUN = [SCRIPTS / "torchrun", "--standalone", "--nproc_per_node", "1"]
IMPORTED_FIRST = """
import sys
import alibert_fairseq
from fairseq_cli.train import cli_main
cli_main()
if "torch._dynamo" in sys.modules:
    sys.exit("torch._dynamo was imported: two seconds of a start, for nothing")
"""
WAYS = {  # fairseq-train itself: every other test of a training; processes that fairseq starts: test_pretraining.py
    "plugin first": [sys.executable, "-c", IMPORTED_FIRST],
    "torchrun module": [*TORCHRUN, "-m", "fairseq_cli.train", *GLOO],
}


@pytest.fixture(scope="module")
def data_bin(tmp_path_factory):
    return make_data_bin(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_start_a_training_uses_it(way, data_bin, repository, tmp_path):
    command = [
        *WAYS[way],
        data_bin,
        "--user-dir",
        repository / "alibert_fairseq",
        *OPTIONS,
    ]
    command += ["--save-dir", tmp_path / "save", "--max-update", "2"]
    done = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    lines = [json.loads(line) for line in (tmp_path / "save" / "metrics.jsonl").read_text().splitlines()]
    assert [(line["update"], line["processes"]) for line in lines] == [(1, 1), (2, 1)]
    assert (tmp_path / "save" / ".owner").exists()


def test_a_calibration_counts_the_tokens_of_all_data_bins(data_bin, repository, tmp_path):
    found = tmp_path / "found.json"
    command = [
        SCRIPTS / "fairseq-train",
        f"{data_bin}:{data_bin}",
        "--user-dir",
        repository / "alibert_fairseq",
        *OPTIONS,
    ]
    command += ["--save-dir", tmp_path / "save", "--max-update", "9", "--no-save"]
    command += ["--stop-time-hours", "1e-6"]  # for trainings without this plugin; here it ends nothing
    run(*command, env=ENVIRONMENT | {calibration.VARIABLE: str(found)}, cwd=tmp_path)
    one = load_blocks(str(data_bin), "train", 1, load_dictionary(str(data_bin)), 32, "none", combine=True)
    assert json.loads(found.read_text())["epoch_tokens"] == 2 * sum(one.sizes)


def test_without_fairseq_one_sentence_names_the_extra(tmp_path):
    code = "import sys; sys.modules['fairseq'] = None; import alibert_fairseq"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    sentence = "ImportError: alibert_fairseq needs fairseq 0.12.2; install it with the extra `fairseq`, as in "
    assert done.stderr.splitlines()[-1].startswith(sentence) and "During handling" not in done.stderr


def test_it_is_fairseqs_trainer_wherever_that_is_looked_up():
    assert fairseq.trainer.Trainer is fairseq_cli.train.Trainer is AlibertTrainer
    assert AlibertTrainer.__mro__[1].__module__ == "fairseq.trainer"


def test_numbers_that_are_slow_on_a_cpu_become_zero(tmp_path):
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor cannot flush denormal numbers")
    assert torch.tensor(1e-38) / 10 > 0
    with_callbacks(LightTrainer, tmp_path)
    try:
        assert torch.tensor(1e-38) / 10 == 0
    finally:
        torch.set_flush_denormal(False)


def called(trainer, calls: list) -> None:
    """Have each callback note what is called of it."""
    for name, callback in vars(trainer).items():
        for method in vars(type(callback)) if type(callback).__module__.startswith("alibert_fairseq.callbacks") else ():
            if not method.startswith("_"):
                setattr(callback, method, noting(f"{name}.{method}", getattr(callback, method), calls))


def noting(name, method, calls):
    def note(*arguments, **options):
        calls.append(name)
        return method(*arguments, **options)

    return note


def test_what_happens_around_a_load_and_a_save_in_order(tmp_path, monkeypatch):
    note = tmp_path / "note.json"
    monkeypatch.setenv(run_info.VARIABLE, str(note))
    trainer, calls = with_callbacks(LightTrainer, tmp_path, budget_minutes=15), []
    called(trainer, calls)
    trainer.load_checkpoint("last")
    told = json.loads(note.read_text())
    assert (told["max_update"], told["stop_time_hours"]) == (0, 0.25)  # the clock ends it
    order = "listen at claim open begin begin begin write begin".split()
    assert [call.partition(".")[2] for call in calls] == order
    assert trainer.owner.owner.claim["run"] == json.loads((tmp_path / ".owner").read_text())["run"]
    calls.clear()
    trainer.consolidate_optimizer(), trainer.save_checkpoint("checkpoint_last.pt", {})
    states = ["nonfinite.extra_state", "precision.extra_state"]
    assert calls == ["pending.take", "watchdog.at", "metrics_log.sync", "owner.check", *states]
    assert trainer.stop_signal.saved and trainer.done == ["load", "consolidate", "save"]


def test_what_happens_around_an_update_in_order(tmp_path):
    trainer, calls = with_callbacks(LightTrainer, tmp_path), []
    trainer.load_checkpoint("last")
    called(trainer, calls)
    trainer.train_step([])
    around = [
        "budget.position",
        "calibration.measured",
        "watchdog.at",
        "memory.checked",
        "nonfinite.skipped",
        "owner.checked",
    ]
    inside = ["owner.check", "precision.decide", "watchdog.at"]
    inside += ["stop_signal.as_number", "stop_signal.learn", "nonfinite.note_sum"]
    assert calls == around + inside


@pytest.mark.parametrize(("updates", "spent"), [(0, 0), (4, 900.0)])
def test_only_a_resumed_run_has_spent_the_time_of_its_checkpoint(updates, spent, tmp_path):
    """A run that begins with the weights of another has its whole --budget-minutes."""

    class Loading(LightTrainer):
        def load_checkpoint(self, filename, reset_optimizer=False):
            self._previous_training_time, self.updates = 900.0, updates
            return {"epoch": 3}

    trainer = with_callbacks(Loading, tmp_path)
    trainer.load_checkpoint("last")
    assert trainer._previous_training_time == spent


@pytest.mark.parametrize("reset", [False, True])
def test_a_run_with_the_weights_of_another_counts_its_own_skipped_batches(reset, tmp_path):
    class Loading(LightTrainer):
        def load_checkpoint(self, filename, reset_optimizer=False):
            return {"skipped": 3}

    trainer = with_callbacks(Loading, tmp_path)
    trainer.load_checkpoint("last", reset)
    assert trainer.nonfinite.in_a_row == (0 if reset else 3)


def test_an_update_that_predicts_the_next_token_has_no_loss_of_masked_tokens(tmp_path):
    trainer = with_callbacks(LightTrainer, tmp_path)
    for number in range(40):
        trainer.found = {"loss": 6.5} if number % 8 else {"loss": 9.0, "causal_loss": 9.0}
        found = trainer._reduce_and_log_stats([], 1, grad_norm=1.0)
        assert found == ({"loss": 6.5} if number % 8 else {"causal_loss": 9.0})
    assert trainer.loss_spikes.spikes.count == 0 and len(trainer.loss_spikes.spikes.losses) == 35
