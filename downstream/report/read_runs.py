"""What the report is told of: folders of downstream.finetune, downstream.masked_words and downstream.evaluate."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from alibert_common.errors import InputError
from alibert_common.files import read_json, read_text
from downstream.data.resampling_unit import unit_of
from downstream.metrics.sufficient_statistics import Figure, figure, grouped
from downstream.report.answers import FAMILIES
from downstream.tuning.result import refuse_unselected

RECORD = ("id", "group", "gold", "predicted", "tally")  # of a line of predictions.jsonl, whatever its family


@dataclass
class Run:
    """One model on one task: an output folder of downstream.finetune. name: the model's, in tables."""

    place: Path
    metrics: dict
    name: str

    @property
    def task(self) -> str:
        return self.metrics["task"]

    @property
    def split(self) -> str:
        """test; dev where test was not read."""
        return "test" if "test" in self.metrics else "dev"

    @property
    def figures(self) -> dict:
        """Over the seeds, of the split."""
        return self.metrics[self.split]

    @property
    def chief(self) -> dict:
        """{"mean", "deviation", "values"} of the figure that models are chosen by."""
        return at(self.figures, self.metrics["chief"]["path"])

    @property
    def chief_name(self) -> str:
        return " ".join(self.metrics["chief"]["path"]).replace("_", " ")

    @property
    def chief_figure(self) -> Figure:
        """By which tallies are added up. Raises InputError for one that is not known."""
        chief = self.metrics["chief"]
        try:
            return figure(chief["tally"], chief["counted"])
        except KeyError:
            raise InputError(
                f"{self.place / 'metrics.json'}: no figure is called {chief['tally']!r}; score the task again."
            ) from None

    @property
    def num_folds(self) -> int:
        return len(self.metrics["data"])

    @property
    def is_baseline(self) -> bool:
        """Whether no encoder is trained in it, so that no protocol says how: there is none, or only its cosines are."""
        return self.metrics["model"]["architecture"] == "baseline" or is_cosine(self.metrics)

    @cached_property
    def predictions(self) -> list[list[dict]]:
        """Of each seed, a record for each item of the split, with its fold (from 0), fold after fold.

        Raises InputError for files that are damaged, or seeds that answer different items.
        """
        seeds = []
        for seed in self.metrics["seeds"]:
            names = [f"seed-{seed}"]
            if self.num_folds > 1:
                names = [f"seed-{seed}-fold-{fold}" for fold in range(1, self.num_folds + 1)]
            keys = (*RECORD, *FAMILIES[self.metrics["kind"]].keys)
            folds = [_records(self.place / name, self.split, keys) for name in names]
            seeds.append([one | {"fold": fold} for fold, records in enumerate(folds) for one in records])
        first = [one["id"] for one in seeds[0]]
        if any([one["id"] for one in records] != first for records in seeds):
            raise InputError(f"{self.place}: its seeds answer different items; run downstream.finetune --overwrite.")
        return seeds

    @cached_property
    def unit(self) -> str:
        """What is drawn for intervals: documents, sentences, questions or pairs."""
        return unit_of(self.metrics["kind"], self.metrics["recipe"].get("format", ""), self.predictions[0])

    def forget_predictions(self) -> None:
        """Free the memory of what `predictions` has read."""
        self.__dict__.pop("predictions", None)

    def tallies(self) -> list[np.ndarray]:
        """Of the chief figure, of each fold (seeds, documents, k). Raises InputError as `predictions` does."""
        return [self._tallies_of(fold) for fold in range(self.num_folds)]

    def _tallies_of(self, fold: int) -> np.ndarray:
        seeds = [[one for one in records if one["fold"] == fold] for records in self.predictions]
        kept = [number for number, one in enumerate(seeds[0]) if one["tally"] is not None]
        groups = [seeds[0][number]["group"] for number in kept]
        try:
            rows = np.array([[records[number]["tally"] for number in kept] for records in seeds], float)
        except (TypeError, ValueError, IndexError):
            raise InputError(f"{self.place}: tallies of its seeds do not match; run it with --overwrite.") from None
        return grouped(rows, groups) if kept else rows


@dataclass
class Loaded:
    """Everything that was given: runs, and by folder what masked_words.json and pretraining_text.json hold."""

    runs: list[Run] = field(default_factory=list)
    masked_words: dict[str, dict] = field(default_factory=dict)
    pretraining: dict[str, dict] = field(default_factory=dict)


def folders_of(given: Path) -> list[Path]:
    """The folder itself; one that holds runs, as downstream.evaluate's output and its folder of a task, stands for
    them."""
    runs = sorted(file.parent for depth in ("*", "*/*") for file in given.glob(f"{depth}/metrics.json"))
    runs = [run for run in runs if not run.name.startswith("seed-")]
    return [given] * (not runs or any((given / name).is_file() for name in READ)) + runs


def load_all(folders: list[Path]) -> Loaded:
    """Raises InputError for a folder without anything of ours, for what is damaged, and for one given twice."""
    loaded, seen = Loaded(), set()
    for folder in folders:
        if folder.resolve() in seen:
            raise InputError(f"{folder}: is given twice; give it once.")
        seen.add(folder.resolve())
        there = [name for name in READ if (folder / name).is_file()]
        if not there:
            raise InputError(
                f"{folder}: has none of {', '.join(READ)}; give output folders of downstream.finetune or of "
                "downstream.evaluate."
            )
        for name in there:
            READ[name](folder, loaded)
    _tell_apart(loaded.runs)
    return loaded


def load(folder: Path) -> Run:
    """One run. Raises InputError where metrics.json is missing or not one of ours, or has a test score of settings that
    were not chosen on dev."""
    file = folder / "metrics.json"
    metrics = read_json(file)
    try:
        run = Run(folder, metrics, model_name(metrics))
        _check(run)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{file}: not written by downstream.finetune ({error!r}); give another folder.") from None
    refuse_unselected(metrics, file)
    return run


def _check(run: Run) -> None:
    """Read what every table needs, so that a file that lacks it is refused before anything is computed."""
    for key in ("kind", "recipe", "data_sha256", "num_parameters", "seconds_per_seed"):
        _ = run.metrics[key]
    _ = run.chief_name, run.metrics["chief"]["tally"], run.is_baseline, FAMILIES[run.metrics["kind"]]
    if not run.num_folds or len(run.chief["values"]) != len(run.metrics["seeds"]) or run.chief["mean"] is None:
        raise ValueError("its chief figure has no value for each seed")


def at(figures: dict, path: list[str] | tuple[str, ...]) -> dict:
    """What stands under these keys, one below the other."""
    for key in path:
        figures = figures[key]
    return figures


def is_cosine(metrics: dict) -> bool:
    """Whether an encoder is in it that nothing was trained of: a protocol that trains has no pooling."""
    return "pooling" in metrics["protocol"]


def model_name(metrics: dict) -> str:
    """The folder's, what was not taken of it, and whether its cosines answer."""
    model, how = metrics["model"], ", cosine" * is_cosine(metrics)
    return model["folder"] + ", random weights" * model["random_init"] + ", frozen" * model["frozen"] + how


def _load_run(folder: Path, loaded: Loaded) -> None:
    loaded.runs.append(load(folder))


def _load_masked_words(folder: Path, loaded: Loaded) -> None:
    file = folder / "masked_words.json"
    content = read_json(file)
    try:
        for sources in content["scores"].values():
            for row in sources.values():
                _ = row["words"], *(row[f"top_{limit}"]["share"] + row[f"top_{limit}"]["high"] for limit in (1, 3, 5))
        _ = content["measure"], content["seed"], content["candidates"]["number"]
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{file}: not written by downstream.masked_words ({error!r}); make it anew.") from None
    loaded.masked_words[str(folder)] = content


def _load_pretraining(folder: Path, loaded: Loaded) -> None:
    file = folder / "pretraining_text.json"
    content = read_json(file)
    try:
        _ = [one["sentences"] + one["found"] + len(one["items_touched"]) for one in content["tasks"].values()]
        _ = [content["test_sha256"][task] for task in content["tasks"]], *content["files"]
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{file}: not written by downstream.evaluate ({error!r}); make it anew.") from None
    loaded.pretraining[str(folder)] = content


READ = {
    "metrics.json": _load_run,
    "masked_words.json": _load_masked_words,
    "pretraining_text.json": _load_pretraining,
}


def _tell_apart(runs: list[Run]) -> None:
    """Models of one name but with other weights get the beginning of their SHA-256 behind the name."""
    weights: dict[str, set[str]] = {}
    for run in runs:
        weights.setdefault(run.name, set()).add(run.metrics["model"].get("sha256", ""))
    for run in runs:
        if len(weights[run.name]) > 1:
            run.name += f" ({run.metrics['model'].get('sha256', '')[:6]})"


def _records(folder: Path, split: str, keys: tuple[str, ...]) -> list[dict]:
    """The lines of a split. Raises InputError for a line that is not whole, or lacks a key."""
    file, records = folder / "predictions.jsonl", []
    for number, line in enumerate(read_text(file).removesuffix("\n").split("\n"), 1):
        try:
            record = json.loads(line)
            if record["split"] == split:
                records.append(record)
                _ = [record[key] for key in keys]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{file}, line {number}: is no prediction ({error!r}); run with --overwrite.") from None
    if not records:
        raise InputError(f"{file}: holds no prediction of {split}; run downstream.finetune with --overwrite.")
    return records
