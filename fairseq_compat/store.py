"""The store of torch.distributed, which all processes of a training can read and write beside their exchanges."""

import os


def store_of_processes():
    """What the processes of torch.distributed share, None where there is one process."""
    from torch import distributed

    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() == 1:
        return None
    return distributed.distributed_c10d._get_default_store()


def own_connection(store):
    """One that no other thread waits on; to a store that has none (a file), the same."""
    if hasattr(store, "clone"):
        return store.clone()
    host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")  # torch before 2.8
    if not host or not port:
        return store
    from torch.distributed import TCPStore

    return TCPStore(host, int(port), is_master=False, wait_for_workers=False)
