"""All tasks in one table, and averages over benchmarks (benchmarks.yaml): always the same tasks for all models."""

import statistics
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from alibert_common.report.document import NONE, Block, Strong, Table
from downstream.experiment.results import cell
from downstream.metrics.seeds import over_seeds
from downstream.report import published
from downstream.report.groups import Group, differences, on_all_tasks
from downstream.report.read_runs import Run

FILE = Path(__file__).with_name("benchmarks.yaml")
AVERAGE = "average"


@dataclass(frozen=True)
class Setting:
    """The groups with the same training."""

    title: str
    groups: list[Group]

    @cached_property
    def num_groups(self) -> Counter:
        """The groups of each task; several if the task was also learned from other data or with another recipe."""
        return Counter(group.first.task for group in self.groups)

    @cached_property
    def tasks(self) -> dict[str, dict[str, Run]]:
        """The runs by task, then by model; only tasks with one group."""
        alone = [group for group in self.groups if self.num_groups[group.first.task] == 1]
        return {group.first.task: {run.name: run for run in group.runs} for group in alone}

    @cached_property
    def models(self) -> list[str]:
        """Best first: by the mean distance from the best score of each task."""
        distances: dict[str, list[float]] = {}
        for group in self.groups:
            for run in group.runs:  # the best one is the first
                distances.setdefault(run.name, []).append(group.runs[0].score["mean"] - run.score["mean"])
        return sorted(distances, key=lambda name: statistics.fmean(distances[name]))


def summary(groups: list[Group]) -> list[Block]:
    """For each setting, the table of all tasks and then the averages."""
    blocks: list[Block] = []
    for setting in settings(groups):
        blocks += [all_tasks(setting), *(block for of in benchmarks() for block in average(setting, of))]
    return blocks


def settings(groups: list[Group]) -> list[Setting]:
    """The groups by setting."""
    by_setting: dict[str, list[Group]] = {}
    for group in groups:
        by_setting.setdefault(group.setting, []).append(group)
    found: list[Setting] = []
    firsts: dict[str, Run] = {}
    for together in by_setting.values():
        first = together[0].first
        title = f"{first.split}, {together[0].trained}"
        like = firsts.setdefault(title, first)  # the first setting of this title
        differs = "" if like is first else f"; {differences(on_all_tasks(like), on_all_tasks(first))}"
        found.append(Setting(title + differs, together))
    return found


def all_tasks(setting: Setting) -> Table:
    """A row per group of a task with its main metric; the best mean is in bold."""
    rows = []
    for group in setting.groups:
        scores = {run.name: run.score for run in group.runs}
        rows.append([group.title, group.first.metric_name, *_cells(scores, setting.models)])
    return Table(f"All tasks ({setting.title})", ["task", "metric", *setting.models], rows)


def benchmarks() -> list[dict]:
    """The benchmarks in the order of the file."""
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def average(setting: Setting, benchmark: dict) -> list[Block]:
    """The averaged tasks of a benchmark, their average, and the missing tasks; nothing below two tasks.

    The tasks are those that every encoder has (without encoders, every model). A baseline that lacks one of them has no
    average.
    """
    listed = [task for tasks in benchmark["groups"].values() for task in tasks]
    there = [task for task in listed if task in setting.tasks]
    models = [model for model in setting.models if any(model in setting.tasks[task] for task in there)]
    baselines = {run.name for group in setting.groups for run in group.runs if run.is_baseline}
    deciding = [model for model in models if model not in baselines] or models
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
    rows = [[task, *_cells({name: run.score for name, run in setting.tasks[task].items()}, models)] for task in common]
    rows.append([AVERAGE, *_cells(means, models)])
    table = Table(f"{benchmark['name']}: average over {len(common)} tasks ({setting.title})", ["task", *models], rows)
    return [table, _missing(setting, benchmark, listed, common), *_published(setting, benchmark, groups, means)]


def _cells(scores: dict[str, dict], models: list[str]) -> list[str]:
    """A cell per model; the best is in bold if there are several."""
    best = max(score["mean"] for score in scores.values()) if len(scores) > 1 else None
    bold = {model: Strong if score["mean"] == best else str for model, score in scores.items()}
    return [bold[model](cell(scores[model])) if model in scores else NONE for model in models]


def _over_tasks(setting: Setting, model: str, groups: list[list[str]]) -> dict:
    """The mean over groups of the means over their tasks; of each seed, if all tasks have the same number of seeds."""
    values = {task: setting.tasks[task][model].score["values"] for tasks in groups for task in tasks}
    if len(set(map(len, values.values()))) > 1:
        values = {task: [statistics.fmean(seeds)] for task, seeds in values.items()}
    means = [mean_of(dict(zip(values, seed, strict=True)), groups) for seed in zip(*values.values(), strict=True)]
    return over_seeds([{AVERAGE: mean} for mean in means])[AVERAGE]


def mean_of(values: dict[str, float], groups: list[list[str]]) -> float:
    """The mean over groups of the means over their tasks."""
    return statistics.fmean(statistics.fmean(values[task] for task in tasks) for tasks in groups)


def _missing(setting: Setting, benchmark: dict, listed: list[str], common: list[str]) -> str:
    left = [task for task in listed if task not in common]
    several = [task for task in left if setting.num_groups[task] > 1]
    unscored = [task for task in left if task not in several]
    parts = {
        "Source": benchmark.get("source"),
        "Not in the average, because an encoder has no score in this setting": unscored,
        "Not in the average, because the task has several tables in this setting": several,
        "Tasks of the benchmark without a recipe": benchmark.get("absent"),
    }
    sentences = [f"{name}: {', '.join(of) if isinstance(of, list) else of}." for name, of in parts.items() if of]
    sentences += [f"Note: {benchmark['note']}"] if "note" in benchmark else []
    return " ".join(sentences) or "The average covers all tasks of the benchmark."


def _published(setting: Setting, benchmark: dict, groups: list[list[str]], means: dict[str, dict]) -> list[Block]:
    """Published models with a score for each averaged task, averaged the same way.

    The difference to ours is given if all their scores compare. The averages of papers are added if no task is missing.
    """
    if not setting.title.startswith("test"):
        return []
    found: dict[str, dict[str, published.Published]] = {}
    for task in (task for tasks in groups for task in tasks):
        chief = tuple(next(iter(setting.tasks[task].values())).metrics["chief"]["path"])
        for score in published.of(task):
            if score.path == chief:
                found.setdefault(f"{score.source}: {score.model}", {})[task] = score
    whole = {who: by_task for who, by_task in found.items() if len(by_task) == sum(map(len, groups))}
    theirs = {who: mean_of({task: by_task[task].value for task in by_task}, groups) for who, by_task in whole.items()}
    compare = {who for who, by_task in whole.items() if all(score.compares is True for score in by_task.values())}
    if groups == [*benchmark["groups"].values()]:
        theirs |= benchmark.get("published", {})
    if not theirs:
        return []
    rows = []
    for who, value in theirs.items():
        ours = [published.against(mean["mean"], value) if who in compare else NONE for mean in means.values()]
        rows.append([who, f"{value:.3f}", *ours])
    head = ["published", "published score", *(f"{model} (difference)" for model in means)]
    return [
        Table(f"{benchmark['name']}: published scores of the same tasks, averaged the same way", head, rows),
        "The section of each task says whether its published score is comparable with ours. "
        f"If one of them is not, the difference is {NONE}.",
    ]
