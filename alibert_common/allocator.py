"""Memory that a process has freed stays with it, so that a training on a CPU does not ask for it again in each update.

glibc gives large blocks back to the system when they are freed, and the system clears each page that it gives out. A
training frees and takes the same blocks in every update. docs/results/training_step.md has what this saves.
"""

import ctypes

# glibc's malloc.h: parameters of mallopt
TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4
LARGEST = 2**31 - 1
STEP = 2**28  # bytes by which the heap grows


def can_keep_freed_memory() -> bool:
    """Whether the C library is glibc."""
    return hasattr(ctypes.CDLL(None), "mallopt")


def keep_freed_memory() -> None:
    """Have this process keep what it frees, where the C library is glibc."""
    if can_keep_freed_memory():
        for name, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, LARGEST), (TOP_PAD, STEP)):
            ctypes.CDLL(None).mallopt(name, value)
