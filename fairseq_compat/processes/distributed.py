"""Several processes: their start and end, their GPUs, pytorch_ddp on the CPU, and the last update of an epoch."""

import os
from contextlib import contextmanager

from fairseq_compat.errors import Refusal
from fairseq_compat.module_proxy import in_place_in
from fairseq_compat.processes.ending import ending_in_one_sentence, signals_passed_on
from fairseq_compat.processes.peer_failure import Lookout, refuse_foreign_listener
from fairseq_compat.processes.store import allow_many_files, own_connection, store_of_processes


@contextmanager
def processes_start_and_end(module):
    """After `fairseq.distributed.utils` ran: how the processes of a training start, meet and end.

    The process that starts others passes signals on to them. Each process takes a GPU that it sees, asks who listens
    where the processes meet, and looks from then on for one that failed. One that fairseq started ends in one sentence.
    """
    yield

    @in_place_in(module)
    def call_main(original, cfg, main, **options):
        distributed = cfg.distributed_training
        if distributed.distributed_init_method is None:
            module.infer_init_method(distributed)
        if distributed.distributed_init_method is None or distributed.distributed_no_spawn:
            return original(cfg, main, **options)
        with signals_passed_on():
            return original(cfg, main, **options)

    @in_place_in(module)
    def distributed_init(original, cfg):
        options = getattr(cfg, "distributed_training", None)
        if options and str(options.distributed_init_method).startswith("env://") and options.distributed_rank:
            refuse_foreign_listener(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        allow_many_files()
        rank = original(cfg)
        store = store_of_processes()
        if store is not None:
            Lookout(own_connection(store)).start()
        return rank

    @in_place_in(module)
    def distributed_main(original, i, main, cfg, kwargs):
        spawned = not cfg.distributed_training.distributed_no_spawn
        if not cfg.common.cpu and not spawned:
            i = gpu_of(i, module.torch.cuda.device_count())
        result = (ending_in_one_sentence(original) if spawned else original)(i, main, cfg, kwargs)
        Lookout.stop_all()
        return result


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
def drop_empty_batches(module):
    """After `fairseq.trainer` ran: a process that has fewer batches than --update-freq for an update uses those alone.

    An epoch's batches rarely divide evenly, so some processes get an empty one at its end. Stock fairseq fills it with
    another batch's zeroed gradient, and then counts none of the samples that this process had in the update, while
    their gradients stay. Fully sharded training exchanges in every backward pass and keeps the empty batch.
    """
    yield

    @in_place_in(module.Trainer)
    def train_step(original, self, samples, *args, **options):
        if not self.is_fsdp:
            samples = [sample for sample in samples if sample] or samples[:1]
        return original(self, samples, *args, **options)
