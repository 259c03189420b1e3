"""What an update costs: `python tests/campaigns/lamb_adam_cost.py COST.jsonl NAME FAIRSEQ_TRAIN_ARGUMENT...`.

Trains in this process and appends to COST.jsonl {"name", "update": [...], "step": [...]}: CPU seconds of this process
for each update, batches and masks included, and the part of them for clipping and the optimizer's step. The first two
updates, which also allocate, are left out. CPU time, for other work on the machine lengthens it less than the clock's.
"""

import json
import sys
from pathlib import Path
from time import process_time

from fairseq.optim import FairseqOptimizer
from fairseq.trainer import Trainer
from fairseq_cli.train import cli_main

WARM_UP = 2


class Clock:
    """Notes what fairseq's Trainer and optimizer take."""

    def __init__(self):
        self.ends: list[float] = []  # process time at the end of each update
        self.steps: list[float] = []  # seconds of each update's clipping and step

    def watch(self) -> "Clock":
        """Put this clock around the methods it measures."""
        Trainer.train_step = self._noting_end(Trainer.train_step)
        for name in ("clip_grad_norm", "step"):
            setattr(FairseqOptimizer, name, self._adding_up(getattr(FairseqOptimizer, name)))
        return self

    def _noting_end(self, train_step):
        def timed(*args, **kwargs):
            self.steps.append(0.0)
            result = train_step(*args, **kwargs)
            self.ends.append(process_time())
            return result

        return timed

    def _adding_up(self, method):
        def timed(*args, **kwargs):
            begin = process_time()
            result = method(*args, **kwargs)
            self.steps[-1] += process_time() - begin
            return result

        return timed

    def figures(self) -> dict[str, list[float]]:
        """Seconds of each update behind the first, which has no beginning here, and of its step."""
        updates = [end - begin for begin, end in zip(self.ends, self.ends[1:], strict=False)]
        return {"update": updates[WARM_UP - 1 :], "step": self.steps[WARM_UP:]}


def main() -> None:
    output, name = Path(sys.argv[1]), sys.argv[2]
    sys.argv[1:] = sys.argv[3:]
    clock = Clock().watch()
    cli_main()
    with output.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"name": name} | clock.figures()) + "\n")


if __name__ == "__main__":
    main()
