"""What a budget in minutes says of a run's position, and how it ends the run."""

from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from alibert_fairseq.callbacks.budget import Budget


def budget(processes=1, seconds=None, stop_time_hours=0.0) -> tuple[Budget, SimpleNamespace]:
    """Of ten minutes and 1,000 updates, in a run that resumed after two minutes; its own clock is at three."""
    cfg = OmegaConf.create({
        "task": {"budget_minutes": 10}, "lr_scheduler": {"total_num_update": 1000},
        "optimization": {"max_update": 1000, "stop_time_hours": stop_time_hours, "max_epoch": 0},
    })  # fmt: skip
    trainer = SimpleNamespace(
        cfg=cfg, data_parallel_world_size=processes, _cumulative_training_time=seconds, _previous_training_time=120.0,
        cumulative_training_time=lambda: 180.0 if seconds is None else seconds, get_num_updates=lambda: 7,
    )  # fmt: skip
    return Budget(trainer, cfg), trainer


def test_the_position_follows_the_clock_and_stops_at_the_end():
    assert budget()[0].position() == 300
    assert budget(seconds=900.0)[0].position() == 1000


def test_processes_begin_with_the_time_of_the_checkpoint_and_then_take_the_mean_of_their_clocks():
    """Their own clocks differ, and so would their learning rates."""
    assert budget(processes=2)[0].position() == 200
    assert budget(processes=2, seconds=240.0)[0].position() == 400


@pytest.mark.parametrize("given", [0.0, 1.0])
def test_the_clock_ends_the_run(given):
    callback, trainer = budget(stop_time_hours=given)
    callback.begin()
    assert trainer.cfg.optimization.max_update == 0
    assert trainer.cfg.optimization.stop_time_hours == pytest.approx(1 / 6)


def test_what_measures_a_recipe_may_end_before(monkeypatch):
    """`launch --dry-run` gives --stop-time-hours for trainings without this plugin."""
    with pytest.raises(SystemExit, match="^error: --stop-time-hours may end the run before"):
        budget(stop_time_hours=0.05)
    monkeypatch.setenv("ALIBERT_CALIBRATION", "found.json")
    budget(stop_time_hours=0.05)
