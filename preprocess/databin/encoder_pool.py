"""Blocks of lines encoded on several cores, in order, with a bounded number of blocks on their way."""

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.executors.local import begin_worker
from preprocess.databin import line_encoder, subword_regularization
from preprocess.databin.batches import Block, EncodedBlock, encode_block, sample_block
from preprocess.databin.line_encoder import LineEncoder
from preprocess.databin.subword_regularization import Sampling, SubwordSampler
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import read_layout

BLOCKS_PER_WORKER = 3  # one in work, one waiting, one on its way back: no worker idles, memory stays bounded


@dataclass(frozen=True)
class Encoding:
    """What to encode with: the tokenizer of a directory, whose files have this digest, and how to draw, if at all."""

    tokenizer: Path
    digest: str
    sampling: Sampling | None = None


class Worker:
    """What a process encodes with: the best segmentation, or with `sampling` drawn ones."""

    def __init__(self, encoding: Encoding):
        """Raises InputError for a tokenizer that cannot be read or, with `sampling`, not be sampled."""
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the cores are shared out by --workers
        self.encoder = LineEncoder(load_tokenizer(encoding.tokenizer), read_layout(encoding.tokenizer))
        self.sampler = SubwordSampler(self.encoder, encoding.sampling) if encoding.sampling else None

    def work(self, block: Block, drawn: bool, part: int, number: int) -> list[EncodedBlock]:
        """The block in its best segmentation, or in each of the samples; it is block `number` of part `part`."""
        if self.sampler and drawn:
            return sample_block(self.sampler, block, part, number)
        return [encode_block(self.encoder, block)]

    @property
    def spare_cache(self) -> int:
        """Bytes that its caches may still take."""
        spare = line_encoder.CACHE_BYTES - self.encoder.cached_bytes
        if self.sampler:
            spare += subword_regularization.CACHE_BYTES - self.sampler.cached_bytes - self.sampler.lattices.size
        return max(0, spare)


@lru_cache(maxsize=1)
def worker_of(encoding: Encoding) -> Worker:
    """The worker of this process, loaded once; what it has learnt of one part helps with the next."""
    return Worker(encoding)


class EncoderPool:
    """`workers` processes that encode; a single one works in this process."""

    def __init__(self, encoding: Encoding, workers: int):
        self.encoding = encoding
        self.executor = None
        self.waiting = BLOCKS_PER_WORKER * workers
        if workers > 1:
            # Started afresh, not forked: the tokenizer's and the progress bar's threads do not survive a fork.
            self.executor = ProcessPoolExecutor(workers, get_context("spawn"), begin_worker)

    def __enter__(self) -> "EncoderPool":
        return self

    def __exit__(self, *_) -> None:
        if self.executor:
            self.executor.shutdown(cancel_futures=True)

    def encode(self, blocks: Iterable[Block], drawn: bool = False, part: int = 0) -> Iterator[list[EncodedBlock]]:
        """What `Worker.work` gives for each block, in their order."""
        if not self.executor:
            worker = worker_of(self.encoding)
            yield from (worker.work(block, drawn, part, number) for number, block in enumerate(blocks))
            return
        futures: deque = deque()
        try:
            for number, block in enumerate(blocks):
                futures.append(self.executor.submit(_work, self.encoding, block, drawn, part, number))
                if len(futures) >= self.waiting:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        except BrokenProcessPool:
            # As later Pythons do; else the pool waits for ever for a process that takes the blocks on their way.
            if sys.version_info < (3, 11, 5):
                self.executor._call_queue._reader.close()  # type: ignore[attr-defined]
            raise InputError("a worker was killed, mostly for lack of memory; give fewer --workers.") from None


def _work(encoding: Encoding, block: Block, drawn: bool, part: int, number: int) -> list[EncodedBlock]:
    return worker_of(encoding).work(block, drawn, part, number)
