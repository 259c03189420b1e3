"""What a training does with batches that are not finite and with too little memory, in real runs."""

import json
import re

import pytest
import torch
from forked import finish
from long_cases import long_except
from test_faults import LONG, MINUTE, OTHER, TWO, Pair
from test_pretraining import ENVIRONMENT, assert_same, command, metrics

# A plugin around the plugin, which spoils the samples of some ids; where a run is resumed, they come again.
SPOILING = """
import os
import torch
import alibert_fairseq
from alibert_fairseq.tasks.pretraining import PretrainingTask

IDS = [int(number) for number in os.environ.get("SPOILED", "").split()]
original = PretrainingTask.train_step

def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
    if os.environ.get("HUNGRY") == os.environ.get("RANK", "0") and update_num == 3:
        torch.empty(1 << 46)
    if IDS == [-1] or any(number in IDS for number in sample["id"].tolist()):
        weight = next(model.parameters())
        if os.environ.get("SPOIL") == "loss":
            forward = criterion.forward
            def spoiled(*arguments, **options):
                loss, size, logged = forward(*arguments, **options)
                logged["loss"] = logged["loss"] * float("inf")
                return loss, size, logged
            criterion.forward = spoiled
            try:
                return original(self, sample, model, criterion, optimizer, update_num, ignore_grad)
            finally:
                criterion.forward = forward
        hook = weight.register_hook(lambda gradient: gradient * float("nan"))
        try:
            return original(self, sample, model, criterion, optimizer, update_num, ignore_grad)
        finally:
            hook.remove()
    return original(self, sample, model, criterion, optimizer, update_num, ignore_grad)

PretrainingTask.train_step = train_step
"""


@pytest.fixture
def spoiling(tmp_path) -> str:
    """A folder for --user-dir."""
    (tmp_path / "spoiling").mkdir()
    (tmp_path / "spoiling" / "__init__.py").write_text(SPOILING)
    return str(tmp_path / "spoiling")


def train(data_bin, save, repository, plugin, *more) -> list[str]:
    """A command with that plugin."""
    words = command("mlm", data_bin, save, repository, *more)
    words[words.index("--user-dir") + 1] = plugin
    return words


def test_a_batch_that_is_not_finite_is_skipped_and_the_run_goes_on_bit_by_bit(data_bin, repository, spoiling, tmp_path):
    """Killed by the number of updates, and gone on with on both sides of the skipped batch, its line is the same."""
    env = ENVIRONMENT | {"SPOILED": "3 4 5", "SPOIL": "loss"}

    def run(save, updates):
        arguments = train(data_bin, tmp_path / save, repository, spoiling, "--max-update", str(updates), *TWO)
        status, log = finish(arguments, tmp_path, env, 2)
        assert status == 0 and "Traceback" not in log, log[-3000:]
        return log

    log = run("whole", 30)
    found = {line["update"]: line["skipped"] for line in metrics(tmp_path / "whole")}
    skipped = [update for update, count in found.items() if count]
    assert list(found) == list(range(1, 31)) and 1 <= sum(found.values()) <= 6
    assert re.search(rf"update {skipped[0]}: not finite \(.*\); batch skipped, 1 in a row, in .*nonfinite", log)
    for place in (skipped[0] - 1, skipped[0] + 1):
        run("parts", place)
    run("parts", 30)
    assert_same(tmp_path / "whole" / "checkpoint_last.pt", tmp_path / "parts" / "checkpoint_last.pt")
    ours, theirs = ([line | {"seconds": 0} for line in metrics(tmp_path / save)] for save in ("whole", "parts"))
    assert ours == theirs
    files = sorted(path.name for path in (tmp_path / "whole").glob("*nonfinite*"))
    assert files and not (tmp_path / "whole" / "crash.pt").exists()
    batch = torch.load(tmp_path / "whole" / files[0], weights_only=True)
    assert batch["update"] == int(files[0].split("_")[1]) in skipped and batch["seed"] == 7 + batch["update"] - 1
    ids = {number for sample in batch["samples"] for number in sample["id"].tolist()}
    assert ids & {3, 4, 5}  # of a loss, it is known whose it is


def test_a_model_that_is_not_finite_any_more_ends_the_run(data_bin, repository, spoiling, tmp_path):
    save = tmp_path / "save"
    good = train(data_bin, save, repository, spoiling, "--max-update", "2", *TWO)
    assert finish(good, tmp_path, ENVIRONMENT, 2)[0] == 0
    before = (save / "checkpoint_last.pt").read_bytes()
    bad = train(data_bin, save, repository, spoiling, "--max-update", "9", "--stop-after-nonfinite", "3", *TWO)
    status, log = finish(bad, tmp_path, ENVIRONMENT | {"SPOILED": "-1"}, 2)
    said = [line for line in log.splitlines() if line.startswith("error: ")]
    knows = [line for line in said if "update 3: 3 batches in a row whose loss or gradient is not finite" in line]
    assert status in (1, 75) and len(knows) == 1 and "Traceback" not in log, log[-3000:]
    assert f"{save}/nonfinite_3_rank" in knows[0] and "a lower --lr, more --warmup-updates or a smaller" in knows[0]
    assert (save / "checkpoint_last.pt").read_bytes() == before and not (save / "crash.pt").exists()
    assert [line["update"] for line in metrics(save)] == [1, 2] and (save / "nonfinite_3_rank0.pt").exists()


def test_too_little_memory_of_one_process_ends_both(data_bin, repository, spoiling, tmp_path, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "HUNGRY", "1")
    pair = Pair(tmp_path / "save", [data_bin] * 2, repository, tmp_path, *LONG, "--user-dir", spoiling)
    sentence = r"error: rank 1 \(.+\): update 4: not enough memory for a batch of 4 x 64 tokens .*smaller --batch-size"
    assert pair.ended(1, sentence, within=MINUTE) == [75, 1]
    assert "can't allocate memory" in pair.sentences(1)[0] and re.search(OTHER.format(0, 1), pair.sentences(0)[0])
    assert json.loads((tmp_path / "save" / "metrics.jsonl").read_text().splitlines()[-1])["update"] == 3


STEPS = [("alibert_adam", ""), ("lamb", "--bf16"), ("adam", "--memory-efficient-bf16")]


@pytest.mark.parametrize(("optimizer", "precision"), long_except(STEPS, *STEPS[:2]))
def test_a_skipped_batch_leaves_every_tensor_as_it_was(optimizer, precision, data_bin, repository, tmp_path):
    """And the updates after it are those of a training that never met it."""
    options = ["--cpu", "--optimizer", optimizer, *precision.split()]
    met, never = (
        trainer_of([*command("mlm", data_bin, tmp_path / save, repository, *options)[1:], "--clip-norm", "1.0"])
        for save in ("met", "never")
    )
    batches = [sample for sample, _ in zip(met.get_train_iterator(1).next_epoch_itr(), range(4), strict=False)]
    for trainer in (met, never):
        assert trainer.train_step(batches[:1]) is not None
    before = state_of(met)
    hook = next(met.model.parameters()).register_hook(lambda gradient: gradient * float("inf"))
    assert met.train_step(batches[1:2]) is None and met.get_num_updates() == 1
    hook.remove()
    assert [name for name, value in state_of(met).items() if not torch.equal(value, before[name])] == []
    for trainer in (met, never):
        for batch in batches[2:]:
            assert trainer.train_step([batch]) is not None
    after, expected = state_of(met), state_of(never)
    assert after.keys() == expected.keys() and len(after) > 50 and met.get_num_updates() == 3
    assert [name for name in after if not torch.equal(after[name], expected[name])] == []


def test_the_batch_that_was_kept_gives_the_loss_again(data_bin, repository, tmp_path):
    """With dropout, from the weights before it and the seed beside it."""
    trainer = trainer_of(command("mlm", data_bin, tmp_path / "save", repository, "--cpu")[1:])
    batches = [sample for sample, _ in zip(trainer.get_train_iterator(1).next_epoch_itr(), range(2), strict=False)]
    trainer.train_step(batches[:1])
    hook = next(trainer.model.parameters()).register_hook(lambda gradient: gradient * float("nan"))
    trainer.train_step(batches[1:])
    hook.remove()
    kept = torch.load(tmp_path / "save" / "nonfinite_2_rank0.pt", weights_only=True)
    torch.manual_seed(kept["seed"])
    trainer.model.train()
    loss, *_ = trainer.task.train_step(kept["samples"][0], trainer.model, trainer.criterion, trainer.optimizer, 1)
    assert float(loss.detach()) == kept["loss"]


def trainer_of(arguments: list[str]):
    """fairseq's Trainer of a command, at its start."""
    from fairseq import options, tasks, utils
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    from alibert_fairseq.trainer import AlibertTrainer

    cfg = convert_namespace_to_omegaconf(
        options.parse_args_and_arch(options.get_training_parser(), input_args=[str(word) for word in arguments])
    )
    utils.set_torch_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    task.load_dataset("train")
    trainer = AlibertTrainer(cfg, task, task.build_model(cfg.model), task.build_criterion(cfg.criterion))
    trainer.load_checkpoint("nothing to load")
    trainer.begin_epoch(1)
    return trainer


def state_of(trainer) -> dict[str, torch.Tensor]:
    """Copies of every tensor of the model and of the optimizer, master weights too."""
    found = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    state = trainer.optimizer.state_dict()
    for index, moments in state["state"].items():
        found |= {f"{index}.{name}": value.clone() for name, value in moments.items() if torch.is_tensor(value)}
    return found | {f"master.{index}": value.clone() for index, value in enumerate(state.get("fp32_params", []))}
