"""A learner on a task over several seeds and folds: what is finished is not done again, what is written is whole.

An output folder holds seed-N/ (seed-N-fold-K/ of cross-validation), each with metrics.json and predictions.jsonl;
model/, of the best of them on dev, with its card (README.md); splits.json, the ids in each split of each fold, where
splits were drawn; and metrics.json, table.md, scores.png and curves.png over all.
"""

import json
import re
import shutil
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch

from alibert_common.directories import directory_written_whole
from alibert_common.errors import InputError
from alibert_common.files import read_json, write_json
from alibert_common.locks import locked
from downstream.data.contamination import in_training
from downstream.data.patients import in_several
from downstream.data.splits import Split, Splits, with_fewer
from downstream.experiment.card import usage_of, write_card
from downstream.experiment.peak_memory import peak, reset_peak
from downstream.experiment.results import summarise, write_results
from downstream.learners.base import Learner
from downstream.tasks.base import Encoded, Task
from downstream.training.selection import as_json, refuse_changed

ONE = re.compile(r"seed-\d+(-fold-\d+)?")
RESULTS = ("metrics.json", "table.md", "scores.png", "curves.png", "splits.json")
# Keys of a unit's metrics.json, conditions and scores apart.
READ_AGAIN = "seed fold best_epoch num_parameters selected_on_dev data curve seconds threads peak_memory".split()
UNSEEN = "entities of a label that training has not"  # of the counts of metrics.json
HALF = re.compile(rf"\.({ONE.pattern}|model|{'|'.join(map(re.escape, RESULTS))})\.\w+\.partial(\.old)?")  # see files.py


class Unit(NamedTuple):
    """A training that is scored and written at once."""

    seed: int
    fold: int | None  # from 1; None without cross-validation

    @property
    def place(self) -> int:
        """Place of its fold in the list of folds."""
        return (self.fold or 1) - 1

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"seed-{self.seed}" + (f"-fold-{self.fold}" if self.fold else "")


@dataclass
class Experiment:
    """All that a run needs. `conditions` are the plain values that scores depend on, except seed and fold."""

    task: Task
    learner: Learner
    folds: list[Splits]
    output: Path
    conditions: dict
    train_documents: int | None = None  # of each training split, drawn anew by each seed; None: all
    encoded: dict[tuple[int, str], Encoded] = field(default_factory=dict)  # by fold (from 0) and split, once needed

    def units(self, num_seeds: int) -> list[Unit]:
        """The units in the order of their seeds."""
        folds = range(1, len(self.folds) + 1) if len(self.folds) > 1 else [None]
        return [Unit(seed, fold) for seed in range(1, num_seeds + 1) for fold in folds]

    def run(self, num_seeds: int) -> str:
        """Run all units that are not finished, write the results and return the table.

        Raises InputError, before anything is trained, for an output that was made under other conditions, or is not
        from here.
        """
        self.refuse_foreign()
        with self._alone():
            for path in self.output.glob(".*.partial*"):  # what a run that was killed left half written
                if HALF.fullmatch(path.name):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            return self._run_alone(num_seeds)

    def _alone(self) -> AbstractContextManager[None]:
        """Wait until no other command writes the output."""
        busy = f"{self.output}: another command is writing it; waiting for its end"
        return locked(self.output / ".lock", busy, wait=True, shared=True)  # it holds the model

    def _run_alone(self, num_seeds: int) -> str:
        started, results = time.perf_counter(), []
        self._begin_each(num_seeds)
        self._notes()  # damaged ones are refused before anything is trained
        earlier = {unit: self.finished(unit) for unit in self.units(num_seeds)}
        if (recipe := self.task.recipe).draws:  # official splits are known by their files
            ids = [{name: [*map(self.task.id_of, part.items)] for name, part in fold.items()} for fold in self.folds]
            write_json(self.output / "splits.json", {"split_seed": recipe.split_seed, "folds": ids})
        for unit, before in earlier.items():
            results.append(before or self.run_one(unit))
            on_dev, note = self.task.chosen(results[-1]["dev"]), " (finished before)" if before else ""
            print(f"{unit.name}: {' '.join(self.task.chief.path)} on dev {on_dev:.4f}{note}", flush=True)
        self._mend_model(results)
        summary = summarise(results, self.conditions, self.task)
        summary["shared_with_training"] = [in_training(self.task, splits) for splits in self.folds]
        if recipe.patients_by:
            summary["patients_in_several_splits"] = [in_several(splits) for splits in self.folds]
        if self.learner.saves:
            notes = self._notes() or {}
            kept = Unit(notes["seed"], notes["fold"])
            summary |= {"model_seed": kept.seed, "model_fold": kept.fold}
            result = self.finished(kept) or self.run_one(kept)  # more seeds may have been asked for once, and removed
            form, items = summary["model"].get("form"), self.folds[0]["train"].items
            usage = usage_of(self.task, items, summary["max_tokens"], form)
            write_card(self.output / "model", summary, result, usage)
        summary["seconds"] = round(time.perf_counter() - started, 1)
        return write_results(summary, self.output)

    def _begin_each(self, num_seeds: int) -> None:
        """Warn of labels that training has not, for each seed where seeds draw their documents.

        Raises InputError where the few documents that a seed draws hold nothing to learn.
        """
        drawn = self.train_documents is not None
        for unit in self.units(num_seeds if drawn else 1):
            splits = self.splits_of(unit)
            self.task.begin(splits["train"].items)
            place = f"{unit.name}, " if drawn else f"fold {unit.fold}, " * (unit.fold is not None)
            for name, part in splits.items():
                if told := self.task.unseen_labels(part.items):
                    print(f"warning: {place}{name}: {told}, and count as missed", flush=True)

    def splits_of(self, unit: Unit) -> Splits:
        """The splits of the unit. Its seed draws fewer training documents: the deviation is over draws, too."""
        splits = self.folds[unit.place]
        if self.train_documents is None:
            return splits
        return splits | {"train": with_fewer(self.task, splits["train"], self.train_documents, unit.seed)}

    def _notes(self) -> dict | None:
        """The notes of the model in the output, if there is one."""
        file = self.output / "model" / "finetuning.json"
        if not file.is_file():
            return None
        notes = read_json(file)
        refuse_incomplete(notes, ("seed", "fold", "dev", "conditions"), file)
        return notes

    def _mend_model(self, results: list[dict]) -> None:
        """Train the best again if its model is lost: it was removed, or the run killed as one took another's place."""
        best = max(results, key=lambda result: self.task.chosen(result["dev"]))
        if self.learner.saves and not self._holds(self.task.chosen(best["dev"])):
            print("the model of the best is not in the output and is made again", flush=True)
            results[results.index(best)] = self.run_one(Unit(best["seed"], best["fold"]))

    def run_one(self, unit: Unit) -> dict:
        """Train, score and write; the model too if it is the best on dev so far."""
        started = time.perf_counter()
        reset_peak()
        splits = self.splits_of(unit)
        encoded = self._encode_all(unit, splits)
        curve = self.learner.fit(encoded["train"], encoded["dev"], unit.seed)
        kept = self.learner.kept(curve)
        result = {**unit._asdict(), "best_epoch": kept and kept.epoch, "num_parameters": self.learner.num_parameters}
        result["selected_on_dev"] = self.learner.selected
        records = []
        for name in [name for name in splits if name != "train"]:
            items, answers = encoded[name].items, self.learner.answer(encoded[name])
            result[name] = self.task.score(items, answers)
            records += self._records(name, items, answers)
        result["data"] = {name: self._counts(part, encoded[name]) for name, part in splits.items()}
        if self.train_documents is not None:
            drawn = {"documents": self.train_documents, "seed": unit.seed, "sha256": splits["train"].sha256}
            result["drawn_for_training"] = drawn
        result["curve"] = [epoch._asdict() for epoch in curve]
        result["seconds"] = round(time.perf_counter() - started, 1)
        result["threads"] = torch.get_num_threads()  # another number may change the last digits of a sum
        result["peak_memory"] = peak(self.conditions.get("device", "cpu"))
        result["conditions"] = self.conditions
        on_dev = self.task.chosen(result["dev"])
        if self.learner.saves and not self._holds(on_dev):
            notes = {**unit._asdict(), "dev": on_dev, "names": self.task.names, "conditions": self.conditions}
            self.learner.save(self.output / "model", notes)
        with directory_written_whole(self.output / unit.name) as folder:
            lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
            (folder / "predictions.jsonl").write_text("".join(lines), encoding="utf-8")
            write_json(folder / "metrics.json", result)
        return result

    def _records(self, split: str, items: list, answers: list) -> list[dict]:
        """Lines of predictions.jsonl."""
        return [
            {"split": split, "group": self.task.undivided(item), **self.task.record(item, answer), "tally": tally}
            for item, answer, tally in zip(items, answers, self.task.tallies(items, answers), strict=True)
        ]

    def _encode_all(self, unit: Unit, splits: Splits) -> dict[str, Encoded]:
        """Begin the task and encode. Few documents are trained on for as many updates as all would be: with the same
        number of epochs, a small share would be too short a training, whatever the model."""
        self.task.begin(self.folds[unit.place]["train"].items)
        if self.train_documents is None:
            return {name: self.encoded_split(unit.place, name) for name in splits}
        epoch = len(self.encoded_split(unit.place, "train").pieces)
        self.task.begin(splits["train"].items)  # what it knows of the labels comes from these alone
        found = {name: self.learner.encode(part.items, training=name == "train") for name, part in splits.items()}
        found["train"].epoch = epoch
        return found

    def encoded_split(self, place: int, name: str) -> Encoded:
        """The items of a split, encoded once."""
        key = (place, name)
        if key not in self.encoded:
            self.encoded[key] = self.learner.encode(self.folds[place][name].items, training=name == "train")
        return self.encoded[key]

    def _counts(self, part: Split, encoded: Encoded) -> dict:
        unseen, _ = self.task.unseen(part.items)
        counts = {**part.counts, **part.own, **encoded.counts, **({UNSEEN: unseen} if unseen else {})}
        return {"items": len(part.items), **counts, "types": self.task.describe(part.items)}

    def finished(self, unit: Unit) -> dict | None:
        """The result that an earlier call got under the same conditions."""
        file = self.output / unit.name / "metrics.json"
        if not file.is_file():
            return None
        result = read_json(file)
        refuse_changed(result.get("conditions", {}), as_json(self.conditions), file)
        refuse_incomplete(result, [*READ_AGAIN, *(name for name in self.folds[unit.place] if name != "train")], file)
        return result

    def _holds(self, on_dev: float) -> bool:
        """Whether the output has a model of these conditions that did at least as well on dev."""
        other = self._notes() or {"conditions": None}
        return other["conditions"] == as_json(self.conditions) and other["dev"] >= on_dev

    def refuse_foreign(self) -> None:
        """Raise InputError if a folder that would be replaced is not one that was written from here."""
        found = [(path, "metrics.json") for path in self._written()]
        for folder, ours in [(self.output / "model", "finetuning.json"), *found]:
            if folder.exists() and not (folder / ours).is_file():
                raise InputError(
                    f"{folder}: not from downstream.finetune, and would be replaced; give another --output."
                )

    def _written(self) -> list[Path]:
        """The paths with names of units."""
        return [path for path in self.output.glob("seed-*") if ONE.fullmatch(path.name)]

    def clear(self) -> None:
        """Remove what earlier runs wrote to the output folder, and nothing else."""
        self.refuse_foreign()
        with self._alone():
            for folder in [*self._written(), self.output / "model"]:
                shutil.rmtree(folder, ignore_errors=True)
            for name in RESULTS:
                (self.output / name).unlink(missing_ok=True)


def refuse_incomplete(record: dict, keys: Iterable[str], file: Path) -> None:
    """Raises InputError for what an earlier run wrote into this file, if it lacks one of these keys."""
    missing = [key for key in keys if key not in record]
    if missing:
        raise InputError(f"{file}: lacks {', '.join(missing)}; remove {file.parent}, and it is made anew.")
