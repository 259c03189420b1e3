"""Read the output folders of downstream.finetune, downstream.masked_words and downstream.evaluate."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alibert_common.errors import InputError
from alibert_common.files import read_json, read_text
from alibert_common.json_value import parse_json
from downstream.data.resampling_unit import PATIENTS, unit_of
from downstream.metrics.sufficient_statistics import Figure, figure, grouped
from downstream.report.answers import FAMILIES
from downstream.training.selection import refuse_unselected

RECORD = ("id", "group", "gold", "predicted", "tally")  # keys of each line of predictions.jsonl


@dataclass
class Run:
    """One model on one task: an output folder of downstream.finetune.

    name: the model's name in tables. split: test, or dev if test was not read. scores: all metrics of the split, over
    the seeds. score: {"mean", "deviation", "values"} of the main metric, which selects models on dev. num_folds: of the
    cross-validation; otherwise 1. is_baseline: whether no encoder is trained: the run has none, or uses only its
    cosines.
    """

    place: Path
    metrics: dict
    name: str

    def __post_init__(self) -> None:
        path = self.metrics["chief"]["path"]
        self.task: str = self.metrics["task"]
        self.split = "test" if "test" in self.metrics else "dev"
        self.scores: dict = self.metrics[self.split]
        self.score = at(self.scores, path)
        self.metric_name = " ".join(path).replace("_", " ")
        self.num_folds = len(self.metrics["data"])
        self.is_baseline = self.metrics["model"]["architecture"] == "baseline" or is_cosine(self.metrics)

    @property
    def metric(self) -> Figure:
        """The main metric as a function of sufficient statistics. Raises InputError for an unknown one."""
        chief = self.metrics["chief"]
        try:
            return figure(chief["tally"], chief["counted"])
        except KeyError:
            raise InputError(
                f"{self.place / 'metrics.json'}: unknown metric {chief['tally']!r}; score the task again."
            ) from None

    @cached_property
    def predictions(self) -> list[list[dict]]:
        """The records of each seed: one per item of the split, with its fold (from 0), in the order of the folds.

        Raises InputError for damaged files, and for seeds that answer different items.
        """
        seeds = []
        for seed in self.metrics["seeds"]:
            names = [f"seed-{seed}"]
            if self.num_folds > 1:
                names = [f"seed-{seed}-fold-{fold}" for fold in range(1, self.num_folds + 1)]
            keys = (*RECORD, *FAMILIES[self.metrics["kind"]].keys)
            folds = [_records(self.place / name, self.split, keys) for name in names]
            seeds.append([record | {"fold": fold} for fold, records in enumerate(folds) for record in records])
        first = [record["id"] for record in seeds[0]]
        if any([record["id"] for record in records] != first for records in seeds):
            raise InputError(f"{self.place}: its seeds answer different items; run downstream.finetune --overwrite.")
        return seeds

    @cached_property
    def unit(self) -> str:
        """The unit of resampling: patients, documents, sentences, questions or pairs."""
        if "patients_in_several_splits" in self.metrics:
            return PATIENTS
        return unit_of(self.metrics["kind"], self.metrics["recipe"].get("format", ""), self.predictions[0])

    def forget_predictions(self) -> None:
        """Free the memory of the predictions."""
        self.__dict__.pop("predictions", None)

    def statistics(self) -> list[np.ndarray]:
        """Sufficient statistics of the main metric, by fold: (seeds, documents, k). Raises as `predictions` does."""
        found = []
        for fold in range(self.num_folds):
            seeds = [[record for record in records if record["fold"] == fold] for records in self.predictions]
            kept = [number for number, record in enumerate(seeds[0]) if record["tally"] is not None]
            try:
                rows = np.array([[records[number]["tally"] for number in kept] for records in seeds], float)
            except (TypeError, ValueError, IndexError):
                raise InputError(f"{self.place}: `tally` differs between its seeds; run it with --overwrite.") from None
            found.append(grouped(rows, [seeds[0][number]["group"] for number in kept]) if kept else rows)
        return found


class Loaded(NamedTuple):
    """The runs, and the contents of masked_words.json and pretraining_text.json by folder."""

    runs: list[Run]
    masked_words: dict[str, dict]
    pretraining: dict[str, dict]


def folders_of(given: Path) -> list[Path]:
    """The folder itself, or the runs in it: the output of downstream.evaluate, or its folder of a task."""
    runs = sorted(file.parent for depth in ("*", "*/*") for file in given.glob(f"{depth}/metrics.json"))
    runs = [run for run in runs if not run.name.startswith("seed-")]
    return [given] * (not runs or any((given / name).is_file() for name in FILES)) + runs


def load_all(folders: list[Path]) -> Loaded:
    """Read all folders. Raises InputError for a folder of another kind, a damaged file, and a folder given twice."""
    runs: list[Run] = []
    contents: dict[str, dict[str, dict]] = {name: {} for name in CHECKED}
    seen = set()
    for folder in folders:
        if folder.resolve() in seen:
            raise InputError(f"{folder}: given twice; give it once.")
        seen.add(folder.resolve())
        there = [name for name in FILES if (folder / name).is_file()]
        if not there:
            raise InputError(
                f"{folder}: has none of {', '.join(FILES)}; give output folders of downstream.finetune or "
                "downstream.evaluate."
            )
        for name in there:
            if name in CHECKED:
                contents[name][str(folder)] = _checked(folder / name)
            else:
                runs.append(load(folder))
    _tell_apart(runs)
    return Loaded(runs, *contents.values())


def load(folder: Path) -> Run:
    """One run. Raises InputError if metrics.json is missing or of another program, or if its test score has settings
    that were not selected on dev."""
    file = folder / "metrics.json"
    metrics = read_json(file)
    try:
        name = model_name(metrics)
        for key in ("kind", "recipe", "data_sha256", "num_parameters", "seconds_per_seed"):
            _ = metrics[key]  # which every table needs, so that an incomplete file is refused before any computation
        run = Run(folder, metrics, name)
        _ = metrics["chief"]["tally"], FAMILIES[metrics["kind"]]
        if not run.num_folds or len(run.score["values"]) != len(metrics["seeds"]) or run.score["mean"] is None:
            raise ValueError("its main metric lacks a value for a seed")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{file}: not written by downstream.finetune ({error!r}); give another folder.") from None
    refuse_unselected(metrics, file)
    return run


def at(scores: dict, path: list[str] | tuple[str, ...]) -> dict:
    """The value under these nested keys."""
    for key in path:
        scores = scores[key]
    return scores


def is_cosine(metrics: dict) -> bool:
    """Whether only the cosines of an encoder answer; a protocol that trains has no pooling."""
    return "pooling" in metrics["protocol"]


def model_name(metrics: dict) -> str:
    """The name of the model's folder, and how it was used."""
    model, cosine = metrics["model"], ", cosine" * is_cosine(metrics)
    form = f", {model['form']}" if "form" in model else ""
    return model["folder"] + form + ", random weights" * model["random_init"] + ", frozen" * model["frozen"] + cosine


def _check_masked_words(content: dict) -> None:
    for sources in content["scores"].values():
        for row in sources.values():
            _ = row["words"], *(row[f"top_{limit}"]["share"] + row[f"top_{limit}"]["high"] for limit in (1, 3, 5))
    _ = content["measure"], content["seed"], content["candidates"]["number"]


def _check_pretraining(content: dict) -> None:
    _ = [task["sentences"] + task["found"] + len(task["items_touched"]) for task in content["tasks"].values()]
    _ = [content["test_sha256"][task] for task in content["tasks"]], *content["files"]


CHECKED = {
    "masked_words.json": ("masked_words", _check_masked_words),
    "pretraining_text.json": ("evaluate", _check_pretraining),
}
FILES = ("metrics.json", *CHECKED)


def _checked(file: Path) -> dict:
    """A JSON file. Raises InputError if a key that the report needs cannot be read."""
    content, (command, check) = read_json(file), CHECKED[file.name]
    try:
        check(content)
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{file}: not written by downstream.{command} ({error!r}); make it again.") from None
    return content


def _tell_apart(runs: list[Run]) -> None:
    """Add the beginning of their SHA-256 to the names of models with the same name and different weights."""
    weights: dict[str, set[str]] = {}
    for run in runs:
        weights.setdefault(run.name, set()).add(run.metrics["model"].get("sha256", ""))
    for run in runs:
        if len(weights[run.name]) > 1:
            run.name += f" ({run.metrics['model'].get('sha256', '')[:6]})"


def _records(folder: Path, split: str, keys: tuple[str, ...]) -> list[dict]:
    """The lines of a split. Raises InputError for a damaged line, or one that lacks a key."""
    file, records = folder / "predictions.jsonl", []
    for number, line in enumerate(read_text(file).removesuffix("\n").split("\n"), 1):
        try:
            record = parse_json(line)
            if record["split"] == split:
                records.append(record)
                _ = [record[key] for key in keys]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{file}, line {number}: not a prediction ({error!r}); run with --overwrite.") from None
    if not records:
        raise InputError(f"{file}: has no prediction of {split}; run downstream.finetune with --overwrite.")
    return records
