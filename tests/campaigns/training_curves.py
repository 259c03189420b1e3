"""Draw what fairseq-train logged: `python tests/campaigns/training_curves.py LOG... --output FILE.png`.

Above, the masked-language-modelling loss (the generator's for ELECTRA) in bits a drawn token; below, the AUC of the
discriminator; both against minutes of training. Reads logs of `--log-format simple`.
"""

import argparse
import itertools
import math
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

MARKS = ("-", "--", ":", "-.")


def read_curve(log: Path) -> list[dict[str, float]]:
    """The figures of every `train_inner` line."""
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if "| train_inner |" in line]
    return [{name: float(value) for name, value in re.findall(r"(\w+)=([\d.e+-]+)", line)} for line in lines]


def loss_in_bits(point: dict[str, float]) -> float:
    return point["generator_loss_nats"] / math.log(2) if "generator_loss_nats" in point else point["loss"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    figure, (losses, detection) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
    for mark, log in zip(itertools.cycle(MARKS), arguments.logs, strict=False):
        curve = read_curve(log)
        minutes = [point["wall"] / 60 for point in curve]
        losses.plot(minutes, [loss_in_bits(point) for point in curve], mark, color="black", label=log.stem)
        if "discriminator_auc" in curve[0]:
            detection.plot(minutes, [point["discriminator_auc"] for point in curve], mark, color="black")
    losses.set(ylabel="loss of the masked tokens (bits)")
    losses.legend()
    detection.set(xlabel="minutes of one core", ylabel="AUC of the discriminator")
    figure.savefig(arguments.output)


if __name__ == "__main__":
    main()
