"""Too little memory ends the run in a sentence, on the process that has too little.

Stock fairseq leaves out the batch of a process that ran out of memory and goes on, while the others wait for it or sum
something else. In validation it tries the batch once more without the gradients, and may go on.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import torch

TOO_LITTLE = "not enough memory"


def is_memory(error: BaseException) -> bool:
    """Whether torch, on a GPU or a CPU, or Python got no memory."""
    known = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(s in str(error) for s in known))


def refusing_too_little_memory(trainer_class: type) -> None:
    """Have fairseq's Trainer end the run instead of leaving out the batch."""
    step, valid, log = trainer_class.train_step, trainer_class.valid_step, trainer_class._log_oom

    @functools.wraps(step)
    def train_step(self, samples, *args, **options):
        self.batches_in_step = samples
        with _in_one_sentence(self, samples):
            return step(self, samples, *args, **options)

    @functools.wraps(valid)
    def valid_step(self, sample, *args, **options):
        self.batches_in_step = None
        with _in_one_sentence(self, [sample]):
            return valid(self, sample, *args, **options)

    @functools.wraps(log)
    def _log_oom(self, error):  # the first that stock fairseq does about it
        if self.batches_in_step is not None:
            _end(self, self.batches_in_step, error)
        return log(self, error)

    for method in (train_step, valid_step, _log_oom):
        setattr(trainer_class, method.__name__, method)


@contextmanager
def _in_one_sentence(trainer, samples: list) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if is_memory(error):
            _end(trainer, samples, error)
        raise


def _end(trainer, samples: list, error: BaseException) -> None:
    raise SystemExit(
        f"error: update {trainer.get_num_updates() + 1}: {TOO_LITTLE} for {_shape_of(samples)}{_in_use()} "
        f"({str(error).strip().partition(chr(10))[0][:200]}); give a smaller --batch-size and as much larger an "
        "--update-freq, which keeps the effective batch."
    ) from None


def _shape_of(samples: list) -> str:
    shapes = [tuple(sample["net_input"]["src_tokens"].shape) for sample in samples if sample and "net_input" in sample]
    if not shapes:
        return "a batch"
    return " and ".join(f"a batch of {rows} x {columns} tokens" for rows, columns in shapes[:1])


def _in_use() -> str:
    """Of this process's GPU, the memory that tensors have and had at most."""
    if not torch.cuda.is_available():
        return ""
    now, most = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
    return f" with {now / 2**30:.1f} GiB in use on the GPU, {most / 2**30:.1f} at most"
