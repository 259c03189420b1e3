"""Blocks of lines encoded on several cores, in order, with a bounded number of blocks on their way."""

import os
import sys
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.executors.local import begin_worker
from preprocess.databin.batches import Block, EncodedBlock, encode_block
from preprocess.databin.line_encoder import LineEncoder
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import read_layout

BLOCKS_PER_WORKER = 3  # one in work, one waiting, one on its way back: no worker idles, memory stays bounded


@dataclass(frozen=True)
class Encoding:
    """What to encode with: the tokenizer of a directory, whose files have this digest. A copy of it is the same."""

    tokenizer: Path = field(compare=False)
    digest: str


@lru_cache(maxsize=1)
def encoder_of(encoding: Encoding) -> LineEncoder:
    """The encoder of this process, loaded once; what it has learnt of one file helps with the next.

    Raises InputError for a tokenizer that cannot be read.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the cores are shared out by --workers
    return LineEncoder(load_tokenizer(encoding.tokenizer), read_layout(encoding.tokenizer))


def encode_blocks(blocks: Iterable[Block], encoding: Encoding, workers: int) -> Generator[EncodedBlock, None, None]:
    """Each block encoded, in their order, by `workers` processes; a single one is this process.

    Close it after an error, which ends the processes. Raises InputError when one of them was killed.
    """
    if workers == 1:
        yield from (_work(encoding, block) for block in blocks)
        return
    # Started afresh, not forked: the tokenizer's and the progress bar's threads do not survive a fork.
    executor = ProcessPoolExecutor(workers, get_context("spawn"), begin_worker)
    futures: deque[Future[EncodedBlock]] = deque()
    try:
        for block in blocks:
            futures.append(executor.submit(_work, encoding, block))
            if len(futures) >= BLOCKS_PER_WORKER * workers:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()
    except BrokenProcessPool:
        # As later Pythons do; else the pool waits for ever for a process that takes the blocks on their way.
        if sys.version_info < (3, 11, 5):
            executor._call_queue._reader.close()  # type: ignore[attr-defined]
        raise InputError("a worker was killed, mostly for lack of memory; give fewer --workers.") from None
    finally:
        executor.shutdown(cancel_futures=True)


def _work(encoding: Encoding, block: Block) -> EncodedBlock:
    return encode_block(encoder_of(encoding), block)
