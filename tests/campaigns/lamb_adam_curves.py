"""Tables and picture of lamb_adam.sh: `python tests/campaigns/lamb_adam_curves.py DATA_BIN OUTPUT --output FILE.png`.

Prints the held-out losses of every learning rate, those of the longest runs at equal updates and at equal time, and
what an update costs; draws loss against updates and against seconds. Seconds are updates times the CPU seconds of
OUTPUT/cost.jsonl, not the runs' own clock, which other work on the machine bends.
"""

import argparse
import json
import math
import re
from collections import defaultdict
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from preprocess.databin.fairseq_writer import id_type  # noqa: E402

# What is compared of each objective. ELECTRA's whole loss would not do: it is low early, while the generator's
# samples give themselves away, and the AUC is highest then.
MEASURES = {"mlm": "loss", "electra": "generator_loss_nats"}
PANELS = (
    ("mlm", "loss", "masked language modelling:\nloss (bits)"),
    ("electra", "generator_loss_nats", "replaced token detection:\ngenerator's loss (nats)"),
    ("electra", "discriminator_auc", "replaced token detection:\ndiscriminator's AUC"),
)
OPTIMIZERS = {"adam": "black", "lamb": "tab:red"}
RUNGS = (80, 160)  # where lamb_adam.sh chooses
SPECIAL_IDS = 4  # <s> <pad> </s> <unk>, never drawn

Curve = dict[int, dict[str, float]]  # update: what was measured on the held-out blocks


def read_curve(log: Path) -> Curve:
    """The figures of every validation; of one that a resumed run repeated, the last."""
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if "'valid' subset | " in line]
    points = [{name: float(value) for name, value in re.findall(r"\| (\w+) ([-+.e\d]+)", line)} for line in lines]
    return {int(point["num_updates"]): point for point in points}


def read_curves(folder: Path) -> dict[tuple[str, str], dict[str, Curve]]:
    """(objective, optimizer): {learning rate: curve}, the rates in rising order."""
    curves = defaultdict(dict)
    for objective in MEASURES:
        for optimizer in OPTIMIZERS:
            prefix = f"{objective}-{optimizer}-"
            rates = {log.stem.removeprefix(prefix): log for log in folder.glob(f"{prefix}*.log")}
            curves[objective, optimizer] = {rate: read_curve(rates[rate]) for rate in sorted(rates, key=float)}
    return curves


def longest(curves: dict[str, Curve]) -> tuple[str, Curve]:
    """The learning rate that was trained to the end, and its curve."""
    return max(curves.items(), key=lambda item: max(item[1]))


def read_costs(file: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """(objective, optimizer): CPU seconds of an update, and of its clipping and optimizer's step.

    Medians. But for clipping and step, an objective's updates are the same work with either optimizer: what differs
    there is the machine, so the rest is the median over both.
    """
    blocks = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rest, steps = defaultdict(list), defaultdict(list)
    for block in blocks:
        objective, optimizer = block["name"].split("-")
        steps[objective, optimizer] += block["step"]
        rest[objective] += (np.array(block["update"]) - block["step"]).tolist()
    costs = {}
    for (objective, optimizer), seconds in steps.items():
        step = float(np.median(seconds))
        costs[objective, optimizer] = float(np.median(rest[objective])) + step, step
    return costs


def frequency_levels(data_bin: Path) -> dict[str, tuple[float, float]]:
    """objective: its measure for who knows how frequent each piece is and nothing of context; and copies what is shown.

    ELECTRA shows 15 % of the drawn tokens. BERT's 80/10/10 needs weighing: of the drawn tokens that are no <mask>, x is
    the original with the chance q(x) = p(x) / (p(x) + 1/V), for as many are replaced by any of the V pieces.
    """
    size = sum(1 for _ in (data_bin / "dict.txt").open(encoding="utf-8")) + SPECIAL_IDS
    counts = {}
    for split in ("train", "valid"):
        ids = np.fromfile(data_bin / f"{split}.bin", dtype=id_type(size))
        counts[split] = np.bincount(ids, minlength=size)[SPECIAL_IDS:].astype(float)
    train, valid = (counts["train"] + 1) / (counts["train"] + 1).sum(), counts["valid"] / counts["valid"].sum()
    bits = float(-(valid * np.log2(train)).sum())
    original = train / (train + 1 / len(train))  # q
    shown, random = -(valid * np.log2(original)).sum(), -np.log2(1 - original).mean() + bits
    nats = bits * math.log(2)
    return {"mlm": (bits, float(0.8 * bits + 0.1 * shown + 0.1 * random)), "electra": (nats, 0.85 * nats)}


def at(curve: Curve, name: str, update: float) -> float | None:
    """A figure at an update, between two validations on the line through them; None outside the run."""
    updates = sorted(curve)
    if not updates[0] <= update <= updates[-1]:
        return None
    return float(np.interp(update, updates, [curve[u][name] for u in updates]))


def reached(curve: Curve, name: str, value: float) -> float | None:
    """The update at which a falling figure first reaches a value, on the line between two validations."""
    before = None
    for update in sorted(curve):
        now = curve[update][name]
        if now <= value:
            return update if before is None else float(np.interp(-value, [-before[1], -now], [before[0], update]))
        before = update, now
    return None


def print_row(*cells: object) -> None:
    shown = ("-" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells)
    print("| " + " | ".join(shown) + " |")


def print_table(*heads: str) -> None:
    print()
    print_row(*heads)
    print("|" + "---|" * len(heads))


def print_grid(curves: dict, objective: str) -> None:
    """The measure of every learning rate where the campaign chose, and at the end."""
    ends = {max(longest(curves[objective, optimizer])[1]) for optimizer in OPTIMIZERS}
    rungs = sorted({*RUNGS, *ends})
    print_table("optimizer", "learning rate", *(f"update {rung}" for rung in rungs))
    for optimizer in OPTIMIZERS:
        for rate, curve in curves[objective, optimizer].items():
            print_row(optimizer, rate, *(at(curve, MEASURES[objective], rung) for rung in rungs))


def print_equal_updates(adam: Curve, lamb: Curve, ratio: float) -> None:
    """Both optimizers' figures at equal updates; LAMB's also at equal time, `ratio` = cost of LAMB's / of Adam's."""
    names = ["loss", *(name for name in ("generator_loss_nats", "discriminator_auc") if name in adam[max(adam)])]
    print_table("update", *(f"{name}: {which}" for name in names for which in ("adam", "lamb", "lamb, Adam's time")))
    for update in range(40, min(max(adam), max(lamb)) + 1, 40):
        places = ((adam, update), (lamb, update), (lamb, update / ratio))
        print_row(update, *(at(curve, name, place) for name in names for curve, place in places))


def print_equal_loss(adam: Curve, lamb: Curve, name: str, levels: tuple[float, float], ratio: float) -> None:
    """When both reach the levels, and values down to where the worse one ended."""
    print_table(name, "update: adam", "update: lamb", "time of lamb / of adam")
    worse_end = max(curve[max(curve)][name] for curve in (adam, lamb))
    for value in sorted({*levels, *np.linspace(adam[min(adam)][name], worse_end, 6)[1:]}, reverse=True):
        first, second = reached(adam, name, value), reached(lamb, name, value)
        print_row(float(value), first, second, second * ratio / first if first and second else None)


def draw(curves: dict, costs: dict, levels: dict[str, tuple[float, float]], file: Path) -> None:
    """Each measure against updates and against seconds; the learning rates that were given up are thin."""
    figure, rows = plt.subplots(len(PANELS), 2, figsize=(7, 7.5), sharey="row", layout="constrained")
    for (objective, name, title), (left, right) in zip(PANELS, rows, strict=True):
        for optimizer, color in OPTIMIZERS.items():
            best_rate, _ = longest(curves[objective, optimizer])
            seconds = costs[objective, optimizer][0]
            for rate, curve in curves[objective, optimizer].items():
                style = {"label": f"{optimizer}, {rate}"} if rate == best_rate else {"linewidth": 0.5, "alpha": 0.6}
                updates = np.array(sorted(curve))
                figures = [curve[update][name] for update in updates]
                left.plot(updates, figures, color=color, **style)
                right.plot(updates * seconds, figures, color=color, **style)
        for level in levels[objective] if name == MEASURES[objective] else ():
            left.axhline(level, color="gray", linewidth=0.7, linestyle=":")
        left.set(ylabel=title, xlabel="updates")
        right.set(xlabel="seconds of one core")
        left.legend(fontsize=8)
    figure.savefig(file, dpi=75, pil_kwargs={"optimize": True})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data_bin", type=Path, help="the data-bin the runs were trained on")
    parser.add_argument("folder", type=Path, help="where the campaign wrote its logs")
    parser.add_argument("--output", type=Path, required=True, help="the picture, a PNG")
    arguments = parser.parse_args()
    curves, costs = read_curves(arguments.folder), read_costs(arguments.folder / "cost.jsonl")
    levels = frequency_levels(arguments.data_bin)
    for objective, (frequencies, copying) in levels.items():
        print(f"{objective}: frequencies {frequencies:.2f}, and what is shown copied {copying:.2f}")
    print_table("run", "seconds an update", "of them clipping and step", "share in %")
    for run, (update, step) in costs.items():
        print_row(" ".join(run), update, step, 100 * step / update)
    for objective in MEASURES:
        print_grid(curves, objective)
        adam, lamb = (longest(curves[objective, optimizer])[1] for optimizer in OPTIMIZERS)
        ratio = costs[objective, "lamb"][0] / costs[objective, "adam"][0]
        print_equal_updates(adam, lamb, ratio)
        print_equal_loss(adam, lamb, MEASURES[objective], levels[objective], ratio)
    draw(curves, costs, levels, arguments.output)


if __name__ == "__main__":
    main()
