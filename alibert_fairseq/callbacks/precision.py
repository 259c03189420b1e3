"""`--measure-precision`: the first update is tried in float32 and in bfloat16, and the run keeps the faster one.

A processor's list of instructions does not say it: one that lists avx512_bf16 was slower in bfloat16, others are three
times as fast. A run that resumes keeps its precision, so that its numbers stay those of a run without a stop.
"""

import logging
import statistics
import time

import torch
from fairseq.distributed import utils as distributed

logger = logging.getLogger(__name__)

PRECISION = "precision"  # in extra_state of a checkpoint
NAMES = {False: "float32", True: "bfloat16"}
SECONDS = 5  # after the first of each, or three of each


class Precision:
    """The callback: it does nothing without the option."""

    def __init__(self, trainer):
        self.trainer = trainer
        self.chosen: str | None = None

    def begin(self, extra_state: dict | None) -> None:
        """Once the checkpoint is loaded. Ends the run in one sentence with a precision that is fairseq's."""
        others = [name for name in ("fp16", "bf16", "amp") if getattr(self.trainer.cfg.common, name, False)]
        if others and self._measures():
            raise SystemExit(
                f"error: --measure-precision decides on --bf16-autocast, and --{others[0]} is another precision; leave "
                "one of them out."
            )
        self.chosen = (extra_state or {}).get(PRECISION) if self._measures() else None
        if self.chosen:
            self._use(self.chosen == "bfloat16")
            logger.info("precision: %s, as the checkpoint's run", self.chosen)

    def decide(self, samples: list) -> None:
        """Before the first update."""
        if self.chosen or not self._measures():
            return
        seconds = self._measured([sample for sample in samples if sample])
        bfloat16 = seconds[True] < seconds[False]
        self.chosen = NAMES[bfloat16]
        self._use(bfloat16)
        told = ", ".join(f"{NAMES[way]} {1000 * spent:.0f} ms" for way, spent in seconds.items())
        logger.info("precision: %s (a batch, forward and backward: %s)", self.chosen, told)

    def extra_state(self) -> dict[str, str]:
        """What a checkpoint keeps of it."""
        return {PRECISION: self.chosen} if self.chosen else {}

    def _measures(self) -> bool:
        return getattr(self.trainer.cfg.model, "measure_precision", False)

    def _use(self, bfloat16: bool) -> None:
        self.trainer.get_model().cfg.bf16_autocast = bfloat16

    def _measured(self, samples: list) -> dict[bool, float]:
        """Seconds of a batch in either way; the sum over the processes, so that all decide the same."""
        times: dict[bool, list[float]] = {False: [], True: []}
        began = time.perf_counter()
        for turn in range(4):
            for bfloat16, found in times.items():
                self._use(bfloat16)
                spent = self._batch(samples[0]) if samples else 0.0
                if turn:  # the first of each prepares memory and kernels
                    found.append(spent)
            if turn and time.perf_counter() - began > SECONDS:
                break
        own = {NAMES[way]: statistics.median(found) for way, found in times.items()}
        if self.trainer.data_parallel_world_size > 1:
            own = distributed.all_reduce_dict(own, self.trainer.device, self.trainer.data_parallel_process_group)
        return {way: float(own[name]) for way, name in NAMES.items()}

    def _batch(self, sample: dict) -> float:
        """The model alone, without the exchange of gradients; what it leaves is removed."""
        trainer = self.trainer
        prepared, _ = trainer._prepare_sample(sample)
        self._wait()
        began = time.perf_counter()
        trainer.criterion.train()(trainer.get_model(), prepared)[0].backward()
        self._wait()
        spent = time.perf_counter() - began
        trainer.zero_grad()
        return spent

    def _wait(self) -> None:
        if self.trainer.cuda:
            torch.cuda.synchronize()
