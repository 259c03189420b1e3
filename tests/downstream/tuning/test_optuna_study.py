"""The trials of a search: every point once, the same after a kill, what is given up, what wins."""

import itertools
import math
import statistics

import pytest

from alibert_common.errors import InputError
from downstream.tuning.optuna_study import (
    FIRST,
    HALFWAY,
    SearchPlan,
    best,
    finished,
    held,
    next_point,
    open_study,
    run_trial,
)

POINTS = [{"rate": rate, "epochs": epochs} for rate in (0.1, 0.2, 0.3, 0.4) for epochs in (1, 2, 3, 4)]


def figure(settings: dict) -> float:
    """Best in the middle of the grid."""
    return 1 - (settings["rate"] - 0.3) ** 2 - (settings["epochs"] - 2) ** 2 / 10


def notes(settings: dict, behind=None) -> dict:
    return {"state": "complete", "dev": [figure(settings)]}


def plan(sampler: str = "grid", points: list[dict] = POINTS, num_trials: int | None = None) -> SearchPlan:
    return SearchPlan(points, sampler, num_trials or len(points), 1)


def run(journal, made: SearchPlan, train=notes):
    study = open_study(journal, {"data": "x"})
    while len(finished(study)) < made.num_trials:
        run_trial(study, made, train)
    return study


def outcome(study) -> list[tuple]:
    return [(trial.params, trial.value, trial.user_attrs) for trial in finished(study)]


def test_a_grid_is_tried_point_by_point_in_a_drawn_order(tmp_path):
    tried = [trial.params for trial in finished(run(tmp_path / "journal", plan()))]
    assert tried != POINTS and sorted(map(repr, tried)) == sorted(map(repr, POINTS))
    assert tried == plan().order and tried != SearchPlan(POINTS, "grid", 16, seed=2).order


def test_tpe_tries_new_points_only_and_goes_where_it_is_better(tmp_path):
    points = [{"x": x, "y": y} for x in range(8) for y in range(8)]

    def train(settings, behind):
        return {"state": "complete", "dev": [-abs(settings["x"] - 6) - abs(settings["y"] - 2.0)]}

    values = {}
    for sampler in ("grid", "tpe"):
        done = finished(run(tmp_path / sampler, plan(sampler, points, 20), train))
        assert len({repr(trial.params) for trial in done}) == 20
        values[sampler] = [trial.value for trial in done]
    assert values["tpe"][:FIRST] == values["grid"][:FIRST]
    assert statistics.fmean(values["tpe"][FIRST:]) > statistics.fmean(values["grid"][FIRST:]) + 1


@pytest.mark.parametrize("sampler", ["grid", "tpe"])
@pytest.mark.parametrize("killed_in", [1, 7])
def test_a_killed_search_goes_on_and_ends_as_if_it_had_not_been(tmp_path, sampler, killed_in):
    whole = outcome(run(tmp_path / "whole", plan(sampler, num_trials=12)))
    begun = []

    def killed(settings, behind):
        begun.append(settings)
        if len(begun) == killed_in:
            raise KeyboardInterrupt
        return notes(settings)

    for _ in range(2):
        try:
            study = run(tmp_path / "killed", plan(sampler, num_trials=12), killed)
        except KeyboardInterrupt:
            pass
    assert outcome(study) == whole
    assert len(begun) == 12 + 1 and begun[killed_in - 1] == begun[killed_in]  # only what was running is run again


def test_a_point_that_was_given_out_and_not_begun_is_begun(tmp_path):
    study = open_study(tmp_path / "journal", {"data": "x"})
    study.enqueue_trial(next_point(study, plan()))
    done = finished(run(tmp_path / "journal", plan()))
    assert [trial.params for trial in done] == plan().order


def test_a_line_that_a_full_disk_cut_is_taken_away(tmp_path):
    run(tmp_path / "journal", plan(num_trials=3))
    whole = (tmp_path / "journal").read_bytes()
    (tmp_path / "journal").write_bytes(whole + b'{"op_code": 8, "wor')
    assert len(finished(open_study(tmp_path / "journal", {"data": "x"}))) == 3
    assert (tmp_path / "journal").read_bytes().startswith(whole)
    assert outcome(run(tmp_path / "journal", plan())) == outcome(run(tmp_path / "other", plan()))


def test_a_journal_of_other_conditions_is_refused(tmp_path):
    run(tmp_path / "journal", plan(num_trials=1))
    with pytest.raises(InputError, match=r"journal: made under other conditions \(data\); give another --output"):
        open_study(tmp_path / "journal", {"data": "y"})


@pytest.mark.parametrize("content", ["not json\nat all\n", '{"a": 1}\n{}\n', "[1]\n[2]\n"])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "journal").write_text(content)
    with pytest.raises(InputError, match="journal: not written by downstream.search"):
        open_study(tmp_path / "journal", {})


def by_epochs(curves: dict) -> tuple:
    """A training that reports a curve, percent by percent, and stops where it should; where each one stopped."""
    stopped = {}

    def train(settings, behind):
        for percent, value in curves[settings["n"]]:
            stopped[settings["n"]] = percent
            if behind(percent, value):
                return {"state": "pruned", "dev": [value]}
        return {"state": "complete", "dev": [value]}

    return train, stopped


def test_what_is_worse_than_the_median_is_given_up_but_not_early_and_not_of_the_first(tmp_path):
    points = [{"n": n} for n in range(9)]
    order = [point["n"] for point in plan(points=points).order]
    values = dict(zip(order, [0.9, 0.9, 0.9, 0.1, 0.9, 0.1, 0.95, 0.1, 0.9], strict=True))
    curves = {n: [(percent, value) for percent in (25, HALFWAY, 75, 100)] for n, value in values.items()}
    curves[order[6]].insert(2, (60, 0.95))
    curves[order[7]] = [(20, 0.1), (40, 0.1), (60, 0.1), (80, 0.1)]  # at 60 there is one other, which is no median
    train, stopped = by_epochs(curves)
    study = run(tmp_path / "journal", plan(points=points), train)
    assert [stopped[n] for n in order] == [100, 100, 100, 100, 100, HALFWAY, 100, 80, 100]
    states = [trial.state.name for trial in finished(study)]
    assert states.count("PRUNED") == 1 and states[5] == "PRUNED"
    assert best(study, plan(points=points)).params == {"n": order[6]}


def test_given_up_trials_do_not_win_and_are_not_run_again(tmp_path):
    points, runs = [{"n": n} for n in range(3)], itertools.count()

    def train(settings, behind):
        next(runs)
        return {"state": "pruned" if settings["n"] == 2 else "complete", "dev": [float(settings["n"])]}

    study = run(tmp_path / "journal", plan(points=points), train)
    assert best(study, plan(points=points)).params == {"n": 1} and next(runs) == 3


def test_no_figure_is_not_the_best_and_not_run_again(tmp_path):
    points, runs = [{"n": n} for n in range(3)], itertools.count()

    def train(settings, behind):
        next(runs)
        return {"state": "complete", "dev": [math.nan if settings["n"] else -1.0]}

    study = run(tmp_path / "journal", plan(points=points), train)
    assert best(study, plan(points=points)).params == {"n": 0} and next(runs) == 3
    alone = run(tmp_path / "alone", plan(points=points[1:]), train)
    with pytest.raises(InputError, match="no settings have a figure"):
        best(alone, plan(points=points[1:]))


@pytest.mark.parametrize("sampler", ["grid", "tpe"])
def test_diverged_trials_do_not_end_a_search_nor_win_and_are_not_run_again(tmp_path, sampler):
    points, runs = [{"n": n} for n in range(8)], itertools.count()

    def train(settings, behind):
        next(runs)
        if settings["n"] < 4:
            return {"state": "complete", "dev": [settings["n"] / 10]}
        behind(25, 0.9)
        return {"state": "diverged", "dev": []}

    for _ in range(2):
        study = run(tmp_path / "journal", plan(sampler, points), train)
    assert best(study, plan(points=points)).params == {"n": 3} and next(runs) == 8
    alone = run(tmp_path / "alone", plan(sampler, points[4:]), train)
    with pytest.raises(
        InputError, match=r"^no settings have a figure on dev \(4 of 4 trials diverged\); .* lower rates"
    ):
        best(alone, plan(points=points[4:]))


def test_seeds_are_averaged_and_of_equals_the_first_of_the_grid_wins(tmp_path):
    points = [{"n": n} for n in range(6)]
    figures = [[0.1, 0.9], [0.6, 0.6], [0.5, 0.7], [0.6, 0.6], [0.2, 0.2], [0.9, 0.0]]
    study = run(
        tmp_path / "journal", plan(points=points), lambda one, _: {"state": "complete", "dev": figures[one["n"]]}
    )
    chosen = best(study, plan(points=points))
    assert chosen.params == {"n": 1} and chosen.value == pytest.approx(0.6)


def test_two_searches_do_not_write_one_journal(tmp_path):
    with held(tmp_path / "new" / "journal"):
        with pytest.raises(InputError, match="journal: another search is writing it"), held(tmp_path / "new/journal"):
            pass
    with held(tmp_path / "new" / "journal"):
        pass


def test_the_lock_of_a_search_that_was_killed_is_not_waited_for(tmp_path):
    (tmp_path / "journal.lock").symlink_to("journal")  # as Optuna makes it
    with held(tmp_path / "journal"):
        assert not (tmp_path / "journal.lock").is_symlink()
