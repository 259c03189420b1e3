"""Blocks of lines encoded on several cores, in order, with a bounded number of blocks on their way."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from preprocess.blocks import Block, EncodedBlock, encode_block, sample_block
from preprocess.files import InputError
from preprocess.layout import read_layout
from preprocess.line_encoder import LineEncoder
from preprocess.subword_sampling import Sampling, SubwordSampler
from preprocess.tokenizer import load_tokenizer

BLOCKS_PER_WORKER = 3  # one in work, one waiting, one on its way back: no worker idles, memory stays bounded


class Worker:
    """What a process encodes with: the best segmentation, or with `sampling` drawn ones."""

    def __init__(self, tokenizer: Path, sampling: Sampling | None):
        self.encoder = LineEncoder(load_tokenizer(tokenizer), read_layout(tokenizer))
        self.sampler = SubwordSampler(self.encoder, sampling) if sampling else None

    def work(self, number: int, block: Block, sampled: bool) -> list[EncodedBlock]:
        """The block in its best segmentation, or in each of the samples."""
        return sample_block(self.sampler, block, number) if sampled else [encode_block(self.encoder, block)]


_worker: Worker  # of this process


class EncoderPool:
    """`workers` processes that encode with the tokenizer of a directory; a single one works in this process."""

    def __init__(self, tokenizer: Path, workers: int, sampling: Sampling | None = None):
        """Raises InputError for a tokenizer that cannot be read or, with `sampling`, not be sampled."""
        self.worker = Worker(tokenizer, sampling)
        self.executor = None
        self.waiting = BLOCKS_PER_WORKER * workers
        if workers > 1:
            # Started afresh, not forked: the tokenizer's and the progress bar's threads do not survive a fork.
            self.executor = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (tokenizer, sampling))

    def __enter__(self) -> "EncoderPool":
        return self

    def __exit__(self, *_) -> None:
        if self.executor:
            self.executor.shutdown(cancel_futures=True)

    def encode(self, blocks: Iterable[Block], sampled: bool = False) -> Iterator[list[EncodedBlock]]:
        """What `Worker.work` gives for each block, in their order."""
        if not self.executor:
            yield from (self.worker.work(number, block, sampled) for number, block in enumerate(blocks))
            return
        futures: deque = deque()
        try:
            for number, block in enumerate(blocks):
                futures.append(self.executor.submit(_work, number, block, sampled))
                if len(futures) >= self.waiting:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        except BrokenProcessPool:
            raise InputError("a worker was killed, mostly for lack of memory; give fewer --workers.") from None


def _start_worker(tokenizer: Path, sampling: Sampling | None) -> None:
    global _worker
    _worker = Worker(tokenizer, sampling)


def _work(number: int, block: Block, sampled: bool) -> list[EncodedBlock]:
    return _worker.work(number, block, sampled)
