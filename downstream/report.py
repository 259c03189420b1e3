"""Several runs of one task side by side: `python -m downstream.report OUTPUT... [--output FILE]`.

Reads the metrics.json that `downstream.finetune` left in each folder; prints, and writes with --output, one Markdown
table of F1 by entity type, with the cost of each run beside it.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from downstream.files import InputError, exit_with_sentence, read_text, written_whole
from downstream.results import cell
from downstream.selection import refuse_unselected

# What must be the same in all runs of a table.
COMPARED = {
    "task": lambda run: run["task"],
    "split": lambda run: run["split"],
    "recipe": lambda run: run["recipe"],
    "protocol": lambda run: run["protocol"],
    "data": lambda run: run["data_sha256"],
    "number of seeds": lambda run: len(run["seeds"]),
}


def load(folder: Path) -> dict:
    """metrics.json of one run. Raises InputError where there is none, it is not one of ours, or its test score is of
    settings that were not chosen on dev."""
    text = read_text(folder / "metrics.json")
    try:
        metrics = json.loads(text)
        split, name = "test" if "test" in metrics else "dev", metrics["model"]["folder"]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{folder / 'metrics.json'}: not written by downstream.finetune ({error}).") from None
    refuse_unselected(metrics, folder / "metrics.json")
    return metrics | {"split": split, "name": name, "place": folder}


def table(runs: list[dict]) -> str:
    """Markdown, a column a run, a row a type; mean and deviation over the seeds.

    Raises InputError for runs that do not compare: another task, recipe, protocol, number of seeds, data or split.
    """
    for name, key in COMPARED.items():
        if any(key(run) != key(runs[0]) for run in runs):
            values = zip(runs, _different(map(key, runs)), strict=True)
            shown = "; ".join(f"{run['place']}: {value}" for run, value in values)
            raise InputError(f"these runs do not compare, their {name} differs ({shown}); make them alike.")
    task, protocol, split = runs[0]["task"], runs[0]["protocol"]["name"], runs[0]["split"]
    names = [run["name"] + (", random weights" if run["model"]["random_init"] else "") for run in runs]
    lines = [f"F1 of strict entities, {task} ({split}), protocol {protocol}, {len(runs[0]['seeds'])} seeds", ""]
    lines += [f"| Entities | {' | '.join(names)} |", "|---|" + "---|" * len(runs)]
    for kind in runs[0][split]["types"]:
        lines.append(f"| {kind} | {' | '.join(cell(run[split]['types'][kind]['f1']) for run in runs)} |")
    for average in ("micro", "macro"):
        lines.append(f"| {average} | {' | '.join(cell(run[split][average]['f1']) for run in runs)} |")
    lines.append(f"| parameters | {' | '.join(format(run['num_parameters'], ',') for run in runs)} |")
    lines.append(f"| seconds a seed | {' | '.join(seconds(run) for run in runs)} |")
    return "\n".join(lines) + "\n"


def _different(values: Iterable) -> list:
    """The values; of dictionaries only what is not the same in all."""
    values = list(values)
    if not all(isinstance(value, dict) for value in values):
        return values
    names = {name: None for value in values for name in value}  # in their order
    unlike = [name for name in names if any(value.get(name) != values[0].get(name) for value in values)]
    return [", ".join(f"{name} {value.get(name)}" for name in unlike) for value in values]


def seconds(run: dict) -> str:
    """Mean time of a seed, training and scoring."""
    return f"{sum(run['seconds_per_seed']) / len(run['seconds_per_seed']):.0f}"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m downstream.report", description=__doc__.split("\n\n")[0])
    parser.add_argument("runs", type=Path, nargs="+", metavar="OUTPUT", help="output folder of downstream.finetune")
    parser.add_argument("--output", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    text = table([load(folder) for folder in arguments.runs])
    print(text, end="")
    if arguments.output:
        with written_whole(arguments.output) as handle:
            handle.write(text)


if __name__ == "__main__":
    exit_with_sentence(main)
