"""Several processes: `--ddp-backend pytorch_ddp` on the CPU, and the last update of an epoch."""

import functools
from contextlib import contextmanager


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
