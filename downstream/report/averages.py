"""All tasks in one table, and averages over benchmarks (benchmarks.yaml): always the same tasks for all models."""

import statistics
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from alibert_common.report.document import NONE, Strong, Table, Text
from downstream.experiment.results import cell
from downstream.metrics.seeds import over_seeds
from downstream.report import published
from downstream.report.groups import Group, on_all_tasks, unlike
from downstream.report.read_runs import Run

FILE = Path(__file__).with_name("benchmarks.yaml")
AVERAGE = "average"


@dataclass(frozen=True)
class Setting:
    """Groups of one way of training."""

    title: str
    groups: list[Group]

    @cached_property
    def titles(self) -> dict[str, list[str]]:
        """By task; several where a task was learned on other data or with another recipe, too."""
        found: dict[str, list[str]] = {}
        for group in self.groups:
            found.setdefault(group.first.task, []).append(group.title)
        return found

    @cached_property
    def tasks(self) -> dict[str, dict[str, Run]]:
        """By task, then by model; of tasks with one group."""
        return {
            group.first.task: {run.name: run for run in group.runs}
            for group in self.groups
            if len(self.titles[group.first.task]) == 1
        }

    @cached_property
    def models(self) -> list[str]:
        """Encoders first."""
        runs = {run.name: run for group in self.groups for run in group.runs}
        return sorted(runs, key=lambda name: (runs[name].is_baseline, list(runs).index(name)))

    def is_baseline(self, model: str) -> bool:
        return any(run.is_baseline for group in self.groups for run in group.runs if run.name == model)


def settings(groups: list[Group]) -> list[Setting]:
    """Groups that were trained alike, together."""
    by_setting: dict[str, list[Group]] = {}
    for group in groups:
        by_setting.setdefault(group.setting, []).append(group)
    found, firsts = [], {}
    for together in by_setting.values():
        title, first = f"{together[0].first.split}, {together[0].trained}", together[0].first
        like = firsts.setdefault(title, first)
        differs = "" if like is first else f"; {unlike(on_all_tasks(like), on_all_tasks(first))}"  # of one name
        found.append(Setting(title + differs, together))
    return found


def all_tasks(setting: Setting) -> Table:
    """A row a task (a table of it, where there are several) with its chief figure, the best mean of each marked."""
    rows = []
    for group in setting.groups:
        figures = {run.name: run.chief for run in group.runs}
        rows.append([group.title, group.first.chief_name, *_cells(figures, setting.models)])
    return Table(f"Every task ({setting.title})", ["task", "figure", *setting.models], rows)


def benchmarks() -> list[dict]:
    """In the order of the file."""
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def average(setting: Setting, benchmark: dict) -> list[Table | Text]:
    """The tasks of a benchmark that are averaged, the average over them, and which are not in it; nothing for none.

    They are the tasks that every encoder has (every model, where there is none). A baseline that lacks one of them has
    no average: it would be of other tasks.
    """
    listed = [task for tasks in benchmark["groups"].values() for task in tasks]
    there = [task for task in listed if task in setting.tasks]
    models = [model for model in setting.models if any(model in setting.tasks[task] for task in there)]
    deciding = [model for model in models if not setting.is_baseline(model)] or models
    common = [task for task in there if all(model in setting.tasks[task] for model in deciding)]
    if len(common) < 2:
        return []
    groups = [[task for task in tasks if task in common] for tasks in benchmark["groups"].values()]
    groups = [tasks for tasks in groups if tasks]
    means = {
        model: _over_tasks(setting, model, groups)
        for model in models
        if all(model in setting.tasks[task] for task in common)
    }
    rows = [[task, *_cells({name: run.chief for name, run in setting.tasks[task].items()}, models)] for task in common]
    rows.append([AVERAGE, *_cells(means, models)])
    table = Table(f"{benchmark['name']}: average over {len(common)} tasks ({setting.title})", ["task", *models], rows)
    return [table, _missing(setting, benchmark, listed, common), *_published(setting, benchmark, groups, means)]


def _cells(figures: dict[str, dict], models: list[str]) -> list[str]:
    """A cell a model; the best stands out where there is something to be better than."""
    best = max((one["mean"] for one in figures.values()), default=None)
    cells = []
    for model in models:
        text = cell(figures[model]) if model in figures else NONE
        cells.append(Strong(text) if len(figures) > 1 and model in figures and figures[model]["mean"] == best else text)
    return cells


def _over_tasks(setting: Setting, model: str, groups: list[list[str]]) -> dict:
    """The mean over groups of the means over their tasks, of each seed where all tasks have as many."""
    values = {task: setting.tasks[task][model].chief["values"] for tasks in groups for task in tasks}
    if len({len(one) for one in values.values()}) > 1:
        values = {task: [statistics.fmean(one)] for task, one in values.items()}
    num_seeds = len(next(iter(values.values())))
    return over_seeds([mean_of({task: one[seed] for task, one in values.items()}, groups) for seed in range(num_seeds)])


def mean_of(values: dict[str, float], groups: list[list[str]]) -> float:
    """The mean over groups of the means over their tasks."""
    return statistics.fmean(statistics.fmean(values[task] for task in tasks) for tasks in groups)


def _missing(setting: Setting, benchmark: dict, listed: list[str], common: list[str]) -> Text:
    left = [task for task in listed if task not in common]
    several = [task for task in left if len(setting.titles.get(task, ())) > 1]
    wanting = [task for task in left if len(setting.titles.get(task, ())) < 2]
    told = [f"Source: {benchmark['source']}."] if "source" in benchmark else []
    for why, tasks in (
        ("for want of a score of each encoder in this setting", wanting),
        ("because it has several tables in this setting", several),
    ):
        told += [f"Not in the average, {why}: {', '.join(tasks)}."] if tasks else []
    told += (
        [f"Of the benchmark, but without a recipe: {', '.join(benchmark['absent'])}."] if "absent" in benchmark else []
    )
    told += [f"Of note: {benchmark['note']}"] if "note" in benchmark else []
    return Text(" ".join(told) or "All its tasks are in the average.")


def _published(
    setting: Setting, benchmark: dict, groups: list[list[str]], means: dict[str, dict]
) -> list[Table | Text]:
    """Models of papers that report each of the averaged tasks, averaged the same way, with the difference where each of
    these figures compares with ours. Where no task is missing, too, the averages that papers report, whose tasks do not
    all compare."""
    if not setting.title.startswith("test"):
        return []
    found: dict[str, dict[str, published.Published]] = {}
    for task in (task for tasks in groups for task in tasks):
        chief = tuple(next(iter(setting.tasks[task].values())).metrics["chief"]["path"])
        for one in published.of(task):
            if one.path == chief:
                found.setdefault(f"{one.source}: {one.model}", {})[task] = one
    whole = {who: by_task for who, by_task in found.items() if len(by_task) == sum(map(len, groups))}
    theirs = {
        who: mean_of({task: one.value for task, one in by_task.items()}, groups) for who, by_task in whole.items()
    }
    compare = {who for who, by_task in whole.items() if all(one.compares is True for one in by_task.values())}
    if groups == [*benchmark["groups"].values()]:
        theirs |= benchmark.get("published", {})
    if not theirs:
        return []
    rows = []
    for who, value in theirs.items():
        ours = [published.against(one["mean"], value) if who in compare else NONE for one in means.values()]
        rows.append([who, f"{value:.3f}", *ours])
    head = ["published", "theirs, the same tasks", *(f"{model} (difference)" for model in means)]
    return [
        Table(f"{benchmark['name']}: published figures of the same tasks, averaged the same way", head, rows),
        Text(
            f"Whether the figure of a task compares with ours stands with the task; {NONE} where one of them does not."
        ),
    ]
