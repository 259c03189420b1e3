"""Fine-tune a Hugging Face encoder on a task and score it: `python -m downstream.finetune RECIPE --model DIR`.

Reads the recipe, its data and the model's folder; writes to the output folder seed-N/ (metrics.json, predictions.jsonl)
for each seed, model/ (the best seed's), metrics.json, table.md, scores.png and curves.png. A second call with the same
settings goes on from the seeds that are finished.
"""

import argparse
import dataclasses
import hashlib
import json
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import torch

from downstream import models
from downstream.documents import Document
from downstream.files import InputError, directory_written_whole, exit_with_sentence, write_json
from downstream.metrics.entities import micro_f1
from downstream.readers import read_split
from downstream.recipe import Protocol, Recipe, load_protocol, load_recipe
from downstream.results import summarise, versions, write_results
from downstream.scoring import counts_of, describe, evaluate, gold_tags
from downstream.tasks.ner import Layout, Split, label_names, prepare, stitch
from downstream.training import Machine, best_epoch, fit, predict


class Run(NamedTuple):
    """Everything a seed needs; `conditions` says in plain figures what the scores depend on, the seed apart."""

    recipe: Recipe
    protocol: Protocol
    folder: Path  # of the encoder
    random_init: bool
    layout: Layout
    frame: models.Frame
    splits: dict[str, Split]
    machine: Machine
    output: Path
    conditions: dict


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m downstream.finetune", description=__doc__.split("\n\n")[0])
    parser.add_argument("recipe", type=Path, help="the task's yaml file, for example recipes/finetune/sample.yaml")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", type=Path, help="a local Hugging Face folder with a fast tokenizer")
    source.add_argument("--check", action="store_true", help="only read the recipe and its data; say what they hold")
    parser.add_argument(
        "--random-init",
        action="store_true",
        help="keep the model's architecture and tokenizer, draw its weights anew (the baseline)",
    )
    parser.add_argument(
        "--protocol",
        default="tuned",
        help="how to train: a file of protocols/ beside the recipe, or one of ours: tuned, made for small encoders and "
        "corpora (the default), alibert, the paper's settings",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting of the protocol"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=3,
        help="how many, counted from 1; default 3, the fewest that show a deviation worth the name",
    )
    parser.add_argument("--data", type=Path, help="folder of the recipe's splits; default: the recipe's own")
    parser.add_argument("--output", type=Path, help="default runs/finetune/TASK-PROTOCOL[-SETTING]-MODEL")
    parser.add_argument("--dev-only", action="store_true", help="do not read the test split; to choose settings")
    parser.add_argument("--bf16", action="store_true", help="bf16 autocast: faster on GPUs and on CPUs that have it")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default auto: a GPU if any")
    parser.add_argument("--overwrite", action="store_true", help="throw away what an earlier run left in the output")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    if args.seeds < 1:
        raise InputError(f"--seeds {args.seeds}: at least one seed is needed.")
    if args.check:
        return print(check(args))
    started = time.perf_counter()
    run = set_up(args)
    if args.overwrite:
        clear(run.output)
    results = []
    for seed in range(1, args.seeds + 1):
        result = finished(run, seed)
        results.append(result or run_seed(run, seed))
        f1, note = results[-1]["dev"]["micro"]["f1"], " (finished before)" if result else ""
        print(f"seed {seed}: micro F1 on dev {f1:.4f}{note}", flush=True)
    summary = summarise(results, run.conditions, {name: counts_of(split) for name, split in run.splits.items()})
    summary["model_seed"] = json.loads((run.output / "model" / "finetuning.json").read_text(encoding="utf-8"))["seed"]
    summary["seconds"] = round(time.perf_counter() - started, 1)
    print(write_results(summary, run.output))


def check(args: argparse.Namespace) -> str:
    """What the recipe's splits hold, a line each, and a digest of all that scores depend on but the model.

    Raises InputError where a run would, the model apart.
    """
    recipe = load_recipe(args.recipe)
    protocol = load_protocol(args.recipe, args.protocol, args.set)
    splits = read_documents(args, recipe)
    lines = []
    for name, (documents, passed) in splits.items():
        types = Counter(entity.label for document in documents for entity in document.entities)
        found = ", ".join(f"{types[label]} {label}" for label in recipe.types)
        past = "".join(f"; {count} {what}" for what, count in passed.items())
        lines.append(f"{name}: {len(documents)} documents, {types.total()} entities ({found}){past}")
    digest = hashlib.sha256(repr((recipe, protocol, splits)).encode()).hexdigest()
    return "\n".join([*lines, f"sha256 of recipe, protocol and documents: {digest}"])


def set_up(args: argparse.Namespace) -> Run:
    """Read and check everything before the first update, so that bad input costs seconds."""
    recipe = load_recipe(args.recipe)
    protocol = load_protocol(args.recipe, args.protocol, args.set)
    machine = Machine(models.device_of(args.device), args.bf16)
    config, tokenizer = models.load_config(args.model), models.load_tokenizer(args.model)
    frame = models.frame_of(tokenizer, config)
    size = min(recipe.max_tokens, frame.longest) - len(frame.prefix) - len(frame.suffix)
    layout = Layout(label_names(recipe.types), recipe.policy(), size, recipe.sequence == "line")
    splits, digests = read_data(args, recipe, tokenizer, layout)
    conditions = {
        "task": recipe.task,
        "recipe": dataclasses.asdict(recipe),
        "protocol": {"name": args.protocol, "changed": args.set, **dataclasses.asdict(protocol)},
        "model": describe_model(args, config),
        "max_tokens": size + len(frame.prefix) + len(frame.suffix),
        "data_sha256": digests,
        "dev_only": args.dev_only,
        "precision": "bf16 autocast" if args.bf16 else "fp32",
        "device": machine.device.type,
        "versions": versions(),
    }
    output = args.output or default_output(args, recipe)
    refuse_foreign(output)
    return Run(recipe, protocol, args.model, args.random_init, layout, frame, splits, machine, output, conditions)


def describe_model(args: argparse.Namespace, config) -> dict:
    name, digest = args.model.resolve().name, models.fingerprint(args.model)
    return {"folder": name, "architecture": config.model_type, "random_init": args.random_init, "sha256": digest}


def default_output(args: argparse.Namespace, recipe: Recipe) -> Path:
    parts = [recipe.task, args.protocol, *args.set, args.model.resolve().name]
    parts += ["random"] * args.random_init + ["dev-only"] * args.dev_only
    return Path("runs/finetune") / "-".join(parts)


def read_documents(args: argparse.Namespace, recipe: Recipe) -> dict[str, tuple[list[Document], Counter]]:
    """The documents of each split, and counts of what was read past."""
    if args.data is None and recipe.data is None:
        place = f"get them from {recipe.source}" if recipe.source else "give their folder with --data"
        raise InputError(f"{args.recipe}: the data are not part of this project; {place}.")
    root = args.data or args.recipe.parent / recipe.data
    names = ("train", "dev") if args.dev_only else ("train", "dev", "test")
    splits = {name: read_split(recipe.format, root / recipe.splits[name], recipe.labels()) for name in names}
    if not any(document.entities for document in splits["train"][0]):
        raise InputError(f"{root / recipe.splits['train']}: no entity of the recipe's types to learn from.")
    return splits


def read_data(args: argparse.Namespace, recipe: Recipe, tokenizer, layout: Layout) -> tuple[dict[str, Split], dict]:
    """The prepared splits by name, and the SHA-256 of each one's documents."""
    splits, digests = {}, {}
    for name, (documents, passed) in read_documents(args, recipe).items():
        split = prepare(documents, tokenizer, layout, training=name == "train")
        split.counts.update(passed)
        digests[name] = hashlib.sha256(repr(documents).encode()).hexdigest()
        splits[name] = split
    if not any(example.spans for example in splits["train"].examples):
        raise InputError(f"{args.recipe}: its nested, discontinuous, partial_words leave no entity to learn from.")
    return splits, digests


def finished(run: Run, seed: int) -> dict | None:
    """The result of a seed that an earlier call finished under the same conditions, if the best model is there too."""
    file = run.output / f"seed-{seed}" / "metrics.json"
    if not file.is_file():
        return None
    result = json.loads(file.read_text(encoding="utf-8"))
    now = as_json(run.conditions)
    different = [key for key in now if result["conditions"].get(key) != now[key]]
    if different:
        raise InputError(
            f"{file}: made under other conditions ({', '.join(different)}); give another --output, or --overwrite."
        )
    return result if (run.output / "model" / "finetuning.json").is_file() else None


def refuse_foreign(output: Path) -> None:
    """Raise InputError if a folder that would be replaced is not one that this command wrote."""
    for folder, ours in [(output / "model", "finetuning.json"), *((seed, "metrics.json") for seed in seeds_in(output))]:
        if folder.exists() and not (folder / ours).is_file():
            raise InputError(f"{folder}: not from downstream.finetune, and would be replaced; give another --output.")


def seeds_in(output: Path) -> list[Path]:
    """What stands under the names of seeds."""
    return [path for path in output.glob("seed-*") if re.fullmatch(r"seed-\d+", path.name)]


def clear(output: Path) -> None:
    """Remove what earlier runs wrote to the output folder, and nothing else."""
    for folder in [*seeds_in(output), output / "model"]:
        shutil.rmtree(folder, ignore_errors=True)
    for name in ("metrics.json", "table.md", "scores.png", "curves.png"):
        (output / name).unlink(missing_ok=True)


def run_seed(run: Run, seed: int) -> dict:
    """Train, score and write one seed; the model too if it is the best on dev so far."""
    started = time.perf_counter()
    torch.manual_seed(seed)
    model = models.load_model(run.folder, run.layout.names, run.random_init, run.protocol.dropout)
    model = model.to(run.machine.device)
    curve = fit(
        model,
        run.splits["train"].sequences,
        run.frame,
        run.protocol,
        seed,
        run.machine,
        lambda: micro_f1(gold_tags(run.splits["dev"]), tag(run, model, "dev")),
    )
    chosen = best_epoch(curve)
    result = {"seed": seed, "best_epoch": chosen.epoch, "num_parameters": model.num_parameters()}
    predictions = []
    for name in list(run.splits)[1:]:
        tags = tag(run, model, name)
        result |= evaluate(run.splits[name], name, tags, run.recipe.types)
        predictions += describe(run.splits[name], name, tags)
    result["curve"] = [epoch._asdict() for epoch in curve]
    result["seconds"] = round(time.perf_counter() - started, 1)
    result["conditions"] = run.conditions
    keep_if_best(run, model, seed, chosen.dev_f1)
    with directory_written_whole(run.output / f"seed-{seed}") as folder:
        lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in predictions]
        (folder / "predictions.jsonl").write_text("".join(lines), encoding="utf-8")
        write_json(folder / "metrics.json", result)
    return result


def tag(run: Run, model, name: str) -> list[list[str]]:
    """The predicted word tags of each document of a split."""
    split = run.splits[name]
    return stitch(split, predict(model, split.sequences, run.frame, run.machine), run.layout.names)


def keep_if_best(run: Run, model, seed: int, dev_f1: float) -> None:
    """Save the model unless the output holds the one of another seed that did at least as well on dev."""
    target = run.output / "model"
    notes = target / "finetuning.json"
    if notes.is_file():
        other = json.loads(notes.read_text(encoding="utf-8"))
        if other["conditions"] == as_json(run.conditions) and other["dev_f1"] >= dev_f1:
            return
    content = {"seed": seed, "dev_f1": dev_f1, "conditions": run.conditions}
    models.save_model(model, run.folder, target, content)


def as_json(value: dict) -> dict:
    """The value as it comes back from a JSON file (tuples are lists there)."""
    return json.loads(json.dumps(value))


if __name__ == "__main__":
    exit_with_sentence(main)
