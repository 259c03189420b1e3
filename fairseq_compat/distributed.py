"""Several processes: `--ddp-backend pytorch_ddp` on the CPU, the last update of an epoch, and the port they meet on."""

import functools
import os
import socket
import threading
from contextlib import contextmanager
from datetime import timedelta

from fairseq_compat.refusal import Refusal

ANSWER = 30  # seconds that rank 0, once it listens, has for its first answer: it gives it from a thread of its own


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


@contextmanager
def the_port_is_of_this_training(module):
    """After `fairseq.distributed.utils` ran: a process asks who listens where the processes meet before it joins.

    When somebody else does, rank 0 cannot listen there and says so, but torch would have the others wait for an answer
    from whoever it is, without an end.
    """
    yield
    original = module.distributed_init

    @functools.wraps(original)
    def distributed_init(cfg):
        options = getattr(cfg, "distributed_training", None)
        if options and str(options.distributed_init_method).startswith("env://") and options.distributed_rank:
            refuse_who_does_not_answer(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        return original(cfg)

    module.distributed_init = distributed_init


def refuse_who_does_not_answer(host: str, port: int, patience: float = ANSWER) -> None:
    """Raise Refusal where a listener at the port is not torch's; nobody is fine, for rank 0 may come later."""
    from torch.distributed import TCPStore

    try:
        socket.create_connection((host, port), timeout=patience).close()
    except OSError:
        return
    answered = []

    def ask():
        try:
            limit = timedelta(seconds=patience)
            TCPStore(host, port, is_master=False, wait_for_workers=False, timeout=limit)
            answered.append(True)
        except RuntimeError:
            pass

    asking = threading.Thread(target=ask, daemon=True)  # its connection has no time limit of its own
    asking.start()
    asking.join(patience)
    if not answered:
        raise Refusal(
            f"who listens at {host}:{port}, where the processes of this training meet, does not answer as torch does; "
            "give another MASTER_PORT."
        )
