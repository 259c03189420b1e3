"""Several processes: the GPU of each, `--ddp-backend pytorch_ddp` on the CPU, and the last update of an epoch."""

import functools
from contextlib import contextmanager

from fairseq_compat.refusal import Refusal


@contextmanager
def gpus_that_are_seen(module):
    """After `fairseq.distributed.utils` ran: a process that sees one GPU, its own, takes it; one that sees others, but
    none with its number, is refused."""
    yield
    original = module.distributed_main

    @functools.wraps(original)
    def distributed_main(i, main, cfg, kwargs):
        if not cfg.common.cpu and cfg.distributed_training.distributed_no_spawn:
            i = gpu_of(i, module.torch.cuda.device_count())
        return original(i, main, cfg, kwargs)

    module.distributed_main = distributed_main


def gpu_of(number: int, seen: int) -> int:
    """The GPU of a process by its number on the node. Slurm shows each its own alone with --gpus-per-task or
    --gpu-bind; without a GPU fairseq trains on the CPU, whatever the number."""
    if seen > 1 and number >= seen:
        raise Refusal(
            f"process {number} of this node (LOCAL_RANK, counted from 0) sees {seen} GPUs; start as many processes on "
            "a node as it has GPUs."
        )
    return 0 if seen == 1 else number


@contextmanager
def device_ids_only_on_gpu(module):
    """After the module ran: drop the device ids when the wrapped model is not on a GPU."""
    yield
    original = module.DistributedDataParallel

    def distributed_data_parallel(module, device_ids, output_device, **options):
        if not next(module.parameters()).is_cuda:
            device_ids = output_device = None
        return original(module=module, device_ids=device_ids, output_device=output_device, **options)

    module.DistributedDataParallel = distributed_data_parallel


@contextmanager
def batches_count_beside_an_empty_one(module):
    """After `fairseq.trainer` ran: a process that has fewer batches than --update-freq for an update uses those alone.

    An epoch's batches rarely divide evenly, so some processes get an empty one at its end. Stock fairseq fills it with
    another batch's zeroed gradient, and then counts none of the samples that this process had in the update, while
    their gradients stay. Fully sharded training exchanges in every backward pass and keeps the empty batch.
    """
    yield
    original = module.Trainer.train_step

    @functools.wraps(original)
    def train_step(self, samples, *args, **options):
        if not self.is_fsdp:
            samples = [sample for sample in samples if sample] or samples[:1]
        return original(self, samples, *args, **options)

    module.Trainer.train_step = train_step
