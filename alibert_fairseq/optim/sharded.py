"""`--shard-optimizer-state`: each process keeps the moments of its share of the tensors, by torch's ZeRO (stage 1).

Tensors are shared out whole, so each has its own trust ratio and the update is bit for bit that of the unsharded
optimizer; afterwards every process sends the others the tensors it has updated. A checkpoint holds the whole state, in
the form of the unsharded one: a run resumes from it with or without sharding, on any number of processes.
docs/objectives/optimizers.md says what it saves and costs.
"""

import logging

import torch

from alibert_fairseq.optim.adam_lamb_step import AdamLamb

logger = logging.getLogger(__name__)


def sharded(kind: type[AdamLamb], groups: list[dict], shard: bool, **settings) -> torch.optim.Optimizer:
    """The optimizer; with `shard`, its state divided among the processes of torch.distributed. A single one keeps all.

    LAMB's own clipping takes the gradients of all tensors, of which each process has the sum after the exchange.
    """
    if not shard:
        return kind(groups, **settings)
    if not torch.distributed.is_initialized() or torch.distributed.get_world_size() == 1:
        logger.info("one process keeps the moments of all parameters")
        return kind(groups, **settings)
    from torch.distributed.optim import ZeroRedundancyOptimizer  # here: it takes a second to import

    every = [p for group in groups for p in group["params"]]
    optimizer = ZeroRedundancyOptimizer(groups, optimizer_class=kind, **settings)
    optimizer.optim.clipped_over = every
    own = sum(p.numel() for group in optimizer.optim.param_groups for p in group["params"])
    logger.info("this process keeps the moments of %d of %d parameters", own, sum(p.numel() for p in every))
    return optimizer
