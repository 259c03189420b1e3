"""Encoding speed on one thread. The tokenizers take turns on the same lines, so that a busy machine slows all."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

from alibert_common.executors.base import ALONE
from preprocess.mixing.reader import Corpus
from preprocess.tokenizer.training_sample import draw_lines
from preprocess.tokenizer_study.candidates import Candidate

SPEED_LINES = 10_000  # about 1 MB: a second per tokenizer
ROUNDS = 3  # the fastest one counts; disturbances only slow
SWITCH = "TOKENIZERS_PARALLELISM"  # the variable that sets one thread


def speeds(candidates: list[Candidate], text: list[Path], seed: int, folder: Path) -> list[dict[str, float]]:
    """Tokens and megabytes of raw text per second for each tokenizer, and the ratio of the latter to the first's.

    `text` are files of documents, of which some lines are drawn; `folder` is for these.
    """
    lines = list(draw_lines([Corpus("text", text)], SPEED_LINES, seed, ALONE, folder).lines())
    seconds, tokens = [float("inf")] * len(candidates), [0] * len(candidates)
    with one_thread(), tqdm(total=ROUNDS * len(candidates), desc="timing", mininterval=1) as bar:
        for _ in range(ROUNDS):
            for number, candidate in enumerate(candidates):
                begun = time.perf_counter()
                encodings = candidate.tokenizer.encode_batch_fast(lines, add_special_tokens=False)
                seconds[number] = min(seconds[number], time.perf_counter() - begun)
                tokens[number] = sum(len(encoding.ids) for encoding in encodings)
                bar.update()
    size = sum(len(line.encode()) for line in lines) / 1e6
    return [
        {"tokens_per_second": count / least, "megabytes_per_second": size / least, "speed_ratio": seconds[0] / least}
        for count, least in zip(tokens, seconds, strict=True)
    ]


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, `tokenizers` uses no other thread."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "false"
    try:
        yield
    finally:
        os.environ.pop(SWITCH) if before is None else os.environ.update({SWITCH: before})
