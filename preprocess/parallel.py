"""Blocks of lines encoded on several cores, in order, with a bounded number of blocks on their way."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from preprocess.blocks import Block, EncodedBlock, encode_block
from preprocess.files import InputError
from preprocess.layout import read_layout
from preprocess.line_encoder import LineEncoder
from preprocess.tokenizer import load_tokenizer

BLOCKS_PER_WORKER = 3  # one in work, one waiting, one on its way back: no worker idles, memory stays bounded

_encoder: LineEncoder  # of this worker process


class EncoderPool:
    """`workers` processes that encode with the tokenizer of a directory; a single one works in this process."""

    def __init__(self, tokenizer: Path, workers: int):
        self.encoder = LineEncoder(load_tokenizer(tokenizer), read_layout(tokenizer))
        self.executor = None
        self.waiting = BLOCKS_PER_WORKER * workers
        if workers > 1:
            # Started afresh, not forked: the tokenizer's and the progress bar's threads do not survive a fork.
            self.executor = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (tokenizer,))

    def __enter__(self) -> "EncoderPool":
        return self

    def __exit__(self, *_) -> None:
        if self.executor:
            self.executor.shutdown(cancel_futures=True)

    def encode(self, blocks: Iterable[Block]) -> Iterator[EncodedBlock]:
        """What `encode_block` gives for each block, in their order."""
        if not self.executor:
            yield from (encode_block(self.encoder, block) for block in blocks)
            return
        futures: deque = deque()
        try:
            for block in blocks:
                futures.append(self.executor.submit(_encode, block))
                if len(futures) >= self.waiting:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        except BrokenProcessPool:
            raise InputError("a worker was killed, mostly for lack of memory; give fewer --workers.") from None


def _start_worker(tokenizer: Path) -> None:
    global _encoder
    _encoder = LineEncoder(load_tokenizer(tokenizer), read_layout(tokenizer))


def _encode(block: Block) -> EncodedBlock:
    return encode_block(_encoder, block)
