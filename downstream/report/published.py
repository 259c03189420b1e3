"""Published scores (published.yaml) next to ours, with the difference; AliBERT's Table 5 for masked words."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import yaml

from alibert_common.report.document import NONE, Block, Table
from downstream.report.groups import Group
from downstream.report.read_runs import Run, at

FILE = Path(__file__).with_name("published.yaml")
LIMITS = (1, 3, 5)  # of AliBERT's Table 5
VERDICTS = {
    True: "is comparable with ours",
    "data": "has the same data and split as ours, but its metric is more lenient or not described",
    False: "is not comparable with ours",
}


class Published(NamedTuple):
    """One score, from 0 to 1 (for data/LABEL: a count). compares: a key of VERDICTS; condition: how it differs."""

    model: str
    task: str
    path: tuple[str, ...]
    value: float
    deviation: float | None
    source: str
    compares: bool | str
    condition: str


@cache
def everything() -> tuple[Published, ...]:
    """All published scores, in the order of the file."""
    return tuple(_read(yaml.safe_load(FILE.read_text(encoding="utf-8"))))


def of(task: str) -> list[Published]:
    """The published scores of a task."""
    return [score for score in everything() if score.task == task]


def _read(sources: list[dict]) -> Iterator[Published]:
    for source in sources:
        scale = 100 if source.get("percent") else 1
        rows = [(row, *task) for row in source["rows"] for task in row["tasks"].items()]
        for row, task, scores in rows:
            for path, values in scores.items():
                for model, given in zip(source["models"], values, strict=True):
                    value, deviation = given if isinstance(given, list) else (given, None)
                    deviation = None if deviation is None else deviation / scale
                    about = source["source"], row["compares"], row["condition"]
                    yield Published(model, task, tuple(path.split("/")), value / scale, deviation, *about)


def beside_ours(group: Group) -> list[Block]:
    """A row per published score of a metric that we have, with our scores and the differences."""
    rows, found = [], []
    for theirs in of(group.first.task) if group.first.split == "test" else []:
        ours = [_ours(run, theirs.path) for run in group.runs]
        if any(score is not None for score in ours):
            metric, deviation = " ".join(theirs.path).replace("_", " "), theirs.deviation
            value = f"{theirs.value:.3f}" + (f" ± {deviation:.3f}" if deviation is not None else "")
            compared = [against(score, theirs.value) for score in ours]
            rows.append([f"{theirs.source}: {theirs.model}", metric, value, *compared])
            found.append(theirs)
    head = ["published", "metric", "published score", *(f"{run.name} (difference)" for run in group.runs)]
    return [Table(f"{group.title}: published scores and ours", head, rows), conditions(found)] if found else []


def against(ours: float | None, theirs: float) -> str:
    """`0.512 (-0.123)`."""
    return NONE if ours is None else f"{ours:.3f} ({ours - theirs:+.3f})"


def conditions(found: list[Published]) -> str:
    """For each table of a paper, whether its scores are comparable, and why."""
    reasons = dict.fromkeys((score.source, score.compares, score.condition) for score in found)
    return " ".join(f"{source} {VERDICTS[compares]}: {why}." for source, compares, why in reasons)


def _ours(run: Run, path: tuple[str, ...]) -> float | None:
    """None where the run has no such metric."""
    try:
        return at(run.scores, path)["mean"]
    except (KeyError, TypeError):
        return None


def masked_words(contents: dict[str, dict]) -> list[Block]:
    """For each output of downstream.masked_words a row per model and source; then AliBERT's Table 5."""
    blocks: list[Block] = []
    for folder, content in contents.items():
        rows = []
        means = {
            model: fmean(row["top_1"]["share"] for row in sources.values())
            for model, sources in content["scores"].items()
        }
        for model in sorted(means, key=lambda model: -means[model]):
            sources, note = content["scores"][model], content["models"].get(model, {}).get("note", "")
            name = f"{model} ({note})" if note else model
            for source, row in sources.items():
                tops = [row[f"top_{limit}"] for limit in LIMITS]
                shares = [f"{top['share']:.3f} [{top['low']:.3f}, {top['high']:.3f}]" for top in tops]
                rows.append([name, source, *shares, f"{row['words']:,}"])
        head = ["model", "source", *(f"top {limit}" for limit in LIMITS), "words"]
        caption = f"Masked words ({folder}): share found among the first predictions, with 95% intervals"
        blocks.append(Table(caption, head, rows))
        blocks.append(f"{content['measure']} ({content['candidates']['number']:,} candidates, seed {content['seed']})")
    if not blocks:
        return []
    theirs = of("masked_words")
    scores: dict[str, list[str]] = {}
    for score in theirs:
        scores.setdefault(score.model, [score.model]).append(f"{score.value:.2f}")
    head = [theirs[0].source, *(f"top {limit}" for limit in LIMITS)]
    return [*blocks, Table("Masked words, published", head, list(scores.values())), conditions(theirs)]
