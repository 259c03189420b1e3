"""Checkpoints that were damaged, that hold what is not theirs, or that a disk would not take."""

import errno
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path

import torch
from fairseq import checkpoint_utils

from fairseq_compat.checkpoints import digest


class Stranger:
    """A pickle that leaves a file behind when it is opened carelessly."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def one_byte_flipped(content: bytes, draw: random.Random, _: Path) -> bytes:
    """One bit of any byte is another."""
    place = draw.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]


def end_cut_off(content: bytes, draw: random.Random, _: Path) -> bytes:
    """Anywhere; one time in ten just the digest, after which the archive is whole."""
    return content[: -digest.LENGTH if draw.random() < 0.1 else draw.randrange(len(content))]


def foreign_pickle(content: bytes, draw: random.Random, trace: Path) -> bytes:
    """In any dictionary of the checkpoint, with a right digest; or in place of the checkpoint, in any protocol."""
    if draw.random() < 0.2:
        return pickle.dumps({"model": Stranger(trace)}, protocol=draw.randrange(pickle.HIGHEST_PROTOCOL + 1))
    made = trace.with_name("made.pt")
    made.write_bytes(content)
    state = torch.load(made, weights_only=True, map_location="cpu")
    draw.choice(list(dictionaries(state)))["stranger"] = Stranger(trace)
    checkpoint_utils.torch_persistent_save(state, str(made))
    return made.read_bytes()


def lost_in_a_crash(content: bytes, draw: random.Random, _: Path) -> bytes:
    """What a crash of the machine leaves: nothing, a byte, zeros, or a zeroed head and a cut end."""
    kind, head, end = draw.randrange(4), draw.randrange(2, len(content)), draw.randrange(1, len(content))
    if kind < 2:
        return content[:kind]
    return bytes(len(content)) if kind == 2 else (bytes(head) + content[head:])[:-end]


DAMAGES = (one_byte_flipped, end_cut_off, foreign_pickle, lost_in_a_crash)


def dictionaries(content: object):
    """Those of a checkpoint, at any depth."""
    if isinstance(content, dict):
        yield content
    for part in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from dictionaries(part)


# What writes a checkpoint.
CALLS = ((digest.SealingFile, "write"), (os, "fsync"), (os, "replace"), (os, "link"))
ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.ESTALE, errno.ETIMEDOUT, errno.EINTR)


class Failing:
    """Fails from the call `first` on (from 0) of all the functions that it stands for, `times` times."""

    def __init__(self, first: int, times: int, number: int):
        self.first, self.times, self.number, self.calls = first, times, number, 0

    def around(self, function: Callable) -> Callable:
        """The function with this fault."""

        def call(*arguments, **options):
            self.calls += 1
            if self.first < self.calls <= self.first + self.times:
                raise OSError(self.number, os.strerror(self.number))
            return function(*arguments, **options)

        return call
