"""The schedules against their formulas, fairseq's own against its formula, and what their options refuse."""

import math
from argparse import Namespace

import pytest
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.optim.lr_scheduler import LR_SCHEDULER_DATACLASS_REGISTRY, build_lr_scheduler
from optim_helpers import arguments, build, parameters, values

LR, W, T = 0.4, 20, 100
TIMES = [0, 1, W - 1, W, W + 1, T // 2, T, T + 30]

# Worked out by hand from google-research/bert `optimization.py`, google-research/electra `model/optimization.py`,
# NVIDIA's BERT `schedulers.py` and fairseq 0.12.2 `polynomial_decay_schedule.py`.
EXPECTED = {
    "bert": [0, 0.02, 0.38, 0.4 * 0.8, 0.4 * 0.79, 0.2, 0, 0],
    "nvidia": [0, 0.02, 0.38, 0.4 * 0.8**0.5, 0.4 * 0.79**0.5, 0.4 * 0.5**0.5, 0, 0],
    "electra": [0, 0.4 * 0.99 / 20, 0.4 * 0.81 * 0.95, 0.4 * 0.8, 0.4 * 0.79, 0.2, 0, 0],
    "wsd": [0.02, 0.04, 0.4, 0.4, 0.4, 0.4, 0, 0],
    "polynomial_decay": [0, 0.02, 0.38, 0.4, 0.4 * 79 / 80, 0.4 * 50 / 80, 0, 0],
}


def schedule(name: str, **options):
    """A schedule over an optimizer, with the defaults of its command line."""
    cfg = LR_SCHEDULER_DATACLASS_REGISTRY[name]()
    vars(cfg).update({"lr": [LR], "warmup_updates": W, "total_num_update": T, "max_update": 0} | options)
    args = Namespace(lr_scheduler=name, **{key: value for key, value in vars(cfg).items() if key != "_name"})
    return build_lr_scheduler(args, build(parameters(values()), "--optimizer", "alibert_adam"))


def rates(name: str, times=TIMES, **options) -> list[float]:
    """The learning rates after these numbers of updates."""
    found = schedule(name, **options)
    return [found.step_update(t) for t in times]


def from_command_line(*words: str):
    """Through hydra, as `fairseq-train` builds it: slow, but there options get their types, and values of others."""
    cfg = convert_namespace_to_omegaconf(arguments("--optimizer", "lamb", *words))
    return build_lr_scheduler(cfg.lr_scheduler, build(parameters(values()), "--optimizer", "lamb"))


@pytest.mark.parametrize("name", EXPECTED)
def test_every_schedule_is_its_formula(name):
    assert rates(name) == pytest.approx(EXPECTED[name], rel=1e-12, abs=0)


@pytest.mark.parametrize("name, power", [("bert", 1.0), ("electra", 1.0), ("nvidia", 0.5)])
def test_the_power_has_the_default_of_the_source_and_can_be_changed(name, power):
    assert rates(name) == rates(name, power=power) != rates(name, power=2.0)
    assert rates(name, times=[T // 2], power=2.0) == pytest.approx([LR / 4])


@pytest.mark.parametrize("name", ["bert", "electra", "nvidia"])
def test_the_rate_ends_at_the_end_rate(name):
    halfway, end, after = rates(name, [T // 2, T, 10 * T], power=1.0, end_learning_rate=0.1)
    assert halfway == pytest.approx((LR + 0.1) / 2) and end == after == 0.1


@pytest.mark.parametrize("name", ["bert", "electra", "nvidia"])
def test_without_warmup_the_first_update_has_the_whole_rate(name):
    assert rates(name, times=[0, 1], warmup_updates=0, power=1.0) == pytest.approx([LR, LR * 0.99])


def test_a_resumed_run_goes_on_at_the_rate_it_had():
    """The rate depends on the number of updates only; the state fairseq saves is of no consequence."""
    whole = rates("electra", times=range(T))
    first, resumed = schedule("electra"), schedule("electra")
    for t in range(13):
        first.step_update(t)
    resumed.load_state_dict(first.state_dict())
    assert [resumed.step_update(t) for t in range(13, T)] == whole[13:]


@pytest.mark.parametrize("name", ["bert", "electra", "nvidia", "wsd"])
def test_the_command_line_builds_it(name):
    words = ["--lr", str(LR), "--warmup-updates", str(W), "--total-num-update", str(T), "--max-update", "90"]
    found = from_command_line("--lr-scheduler", name, *words)
    assert [found.step_update(t) for t in TIMES] == rates(name)


def test_the_end_is_that_of_the_run_where_no_other_is_given():
    found = from_command_line("--lr-scheduler", "electra", "--lr", "0.4", "--max-update", "50")
    assert [found.step_update(t) for t in (0, 25, 50)] == pytest.approx([0.4, 0.2, 0])


def test_wsd_falls_over_its_last_share_from_the_peak_to_the_end_rate():
    found = rates("wsd", [T // 2, 3 * T // 4, T - 1, T], decay_share=0.5, end_learning_rate=0.1)
    assert found == pytest.approx([LR, (LR + 0.1) / 2, 0.1 + 0.3 / 50, 0.1])


def test_wsd_falls_by_the_root_of_its_progress():
    found = rates("wsd", [0, T // 2, 3 * T // 4, T - 1, T], decay_share=0.5, decay_form="sqrt", warmup_updates=4)
    assert found == pytest.approx([LR / 4, LR, LR * (1 - math.sqrt(0.5)), LR * (1 - math.sqrt(0.98)), 0])


@pytest.mark.parametrize("share", [0, 1.1])
def test_wsd_refuses_a_share_that_is_none(share):
    with pytest.raises(SystemExit, match="--decay-share .* is not in"):
        schedule("wsd", decay_share=share)


REFUSED = {
    "; add --total-num-update N.": {"total_num_update": None},
    "--warmup-updates 100 is not below --total-num-update 100": {"warmup_updates": 100},
    "--warmup-updates -1 is not below": {"warmup_updates": -1},
    "--lr 0.1,0.2: .* one rate": {"lr": [0.1, 0.2]},
    "--lr nan is not a number of 0 or more": {"lr": [math.nan]},
    "--power 0 is not a number above 0": {"power": 0},
    "--power -1 is not": {"power": -1},
    "--power nan is not": {"power": math.nan},
    "--power inf is not": {"power": math.inf},
    "--end-learning-rate nan is not in \\[0, 0.4\\], the --lr": {"end_learning_rate": math.nan},
    "--end-learning-rate 0.5 is not": {"end_learning_rate": 0.5},
    "--end-learning-rate -0.1 is not": {"end_learning_rate": -0.1},
}


@pytest.mark.parametrize("name", ["bert", "electra", "nvidia", "wsd"])
@pytest.mark.parametrize("message", REFUSED)
def test_options_that_give_no_schedule_are_refused_in_one_sentence(name, message):
    with pytest.raises(SystemExit, match=f"^error: .*{message}[^\n]*$"):
        schedule(name, **REFUSED[message])
