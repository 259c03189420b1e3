"""Too little memory ends the run in one sentence, on the process that has too little.

Stock fairseq leaves out the batch of a process that ran out of memory, while the other processes wait for it or sum
something else. In a validation it tries the batch once more without the gradients.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import torch

TOO_LITTLE = "not enough memory"


def is_memory(error: BaseException) -> bool:
    """Whether torch, on a GPU or a CPU, or Python got no memory."""
    known = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(s in str(error) for s in known))


class MemoryCheck:
    """The callback: the run ends instead of leaving out the batch."""

    def __init__(self, trainer):
        self.trainer = trainer
        self.training: list | None = None  # the batches of the update that is at work

    @contextmanager
    def checked(self, samples: list, training: bool = True) -> Iterator[None]:
        """Around an update, or a batch of a validation."""
        self.training = samples if training else None
        try:
            yield
        except Exception as error:
            if is_memory(error):
                self._end(samples, error)
            raise

    def end_training_step(self, error: BaseException) -> None:
        """Before fairseq leaves out the batch of an update; it tries that of a validation once more."""
        if self.training is not None:
            self._end(self.training, error)

    def _end(self, samples: list, error: BaseException) -> NoReturn:
        with suppress(RuntimeError, MemoryError):  # of a device that answers no more
            self.trainer.log_pending()
        shapes = [sample["net_input"]["src_tokens"].shape for sample in samples if sample and "net_input" in sample]
        batch = f"a batch of {shapes[0][0]} x {shapes[0][1]} tokens" if shapes else "a batch"
        raise SystemExit(
            f"error: update {self.trainer.get_num_updates() + 1}: {TOO_LITTLE} for {batch}{_in_use()} "
            f"({str(error).strip().partition(chr(10))[0][:200]}); give a smaller --batch-size and as much larger an "
            "--update-freq, which keeps the effective batch."
        ) from None


def _in_use() -> str:
    """The memory that tensors have on this process's GPU, and had at most."""
    if not torch.cuda.is_available():
        return ""
    now, most = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
    return f" with {now / 2**30:.1f} GiB in use on the GPU, {most / 2**30:.1f} at most"
