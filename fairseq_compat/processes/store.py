"""The store of torch.distributed, which all processes of a training can read and write beside their exchanges."""

import contextlib
import os
import resource
import socket
import sys
import threading

FAILED = "fairseq_compat/failed"  # in the store: the name of the first process that failed
PATIENCE = 2  # seconds


def store_of_processes():
    """What the processes of torch.distributed share, None where there is one process."""
    from torch import distributed

    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() == 1:
        return None
    return distributed.distributed_c10d._get_default_store()


_second: list = []  # a store, and the connection to it


def own_connection(store):
    """This process's second one, for all that watches: no exchange of the training waits on it. To a store that has
    none (a file), the same."""
    from torch.distributed import TCPStore

    if not _second or _second[0] is not store:
        host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
        if hasattr(store, "clone"):
            _second[:] = store, store.clone()
        elif host and port:  # torch before 2.8
            _second[:] = store, TCPStore(host, int(port), is_master=False, wait_for_workers=False)
        else:
            _second[:] = store, store
    return _second[1]


def allow_many_files() -> None:
    """Raise the limit of open files as far as this user may: the first process holds two connections of each other."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def report_failure(name: str) -> None:
    """Write to the store that this process has failed, unless another one has before it."""

    def tell() -> None:
        with contextlib.suppress(RuntimeError):
            store = store_of_processes()
            if store is not None:
                own_connection(store).compare_set(FAILED, "", name)

    telling = threading.Thread(target=tell, daemon=True)  # the store may be in a process that is stopped
    telling.start()
    telling.join(PATIENCE)


def place() -> str:
    """`rank 3 (host)` where there are several processes, else nothing."""
    torch = sys.modules.get("torch")
    if torch and torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
    else:
        rank, processes = os.environ.get("RANK", "0"), int(os.environ.get("WORLD_SIZE") or 1)
    return f"rank {rank} ({socket.gethostname()})" if processes > 1 else ""
