"""`--ddp-backend pytorch_ddp` on the CPU, where DistributedDataParallel takes no device ids."""

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
