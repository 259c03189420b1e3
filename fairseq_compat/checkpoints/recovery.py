"""A run whose last checkpoint was damaged on the disk goes on from the one before it."""

import functools
import logging
from contextlib import contextmanager
from pathlib import Path

from fairseq_compat.checkpoints.digest import damage
from fairseq_compat.checkpoints.saving import in_one_sentence, put_under_name
from fairseq_compat.refusal import Refusal

logger = logging.getLogger(__name__)

LAST = "checkpoint_last.pt"  # what a run goes on from, unless --restore-file says otherwise
DAMAGED = "checkpoint_last.damaged.pt"


@contextmanager
def gone_on_with_the_one_before(module):
    """After `fairseq.checkpoint_utils` ran: a damaged checkpoint_last.pt is set aside for the newest whole one.

    Stock fairseq knows no other, and blames the architecture of the model. The first rank looks, for all.
    """
    yield
    original = module.load_checkpoint

    @functools.wraps(original)
    def load_checkpoint(cfg, trainer, **passthrough_args):
        if cfg.restore_file == LAST and not trainer.checkpoint_suffix:
            _for_all(trainer, lambda: mend(Path(cfg.save_dir)))
        return original(cfg, trainer, **passthrough_args)

    module.load_checkpoint = load_checkpoint


def mend(folder: Path) -> None:
    """Give the newest whole checkpoint of the folder the name checkpoint_last.pt if that one is damaged.

    Raises Refusal when no other is whole. The damaged one stays, as checkpoint_last.damaged.pt.
    """
    last = folder / LAST
    why = _damage(last) if last.exists() else None
    if why is None:
        return
    others = [path for path in folder.glob("checkpoint*.pt") if path.name not in (LAST, DAMAGED)]
    others.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    whole = next((path for path in others if _damage(path) is None), None)
    if whole is None:
        raise Refusal(f"{last}: {why}, and no other checkpoint of this run is whole; move it away to start anew.")
    with in_one_sentence(str(last)):
        put_under_name(last, folder / DAMAGED)
        put_under_name(whole, last)
    logger.warning(f"{last}: damaged ({why}), and kept as {DAMAGED}; the run goes on from {whole.name}")


def _damage(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            return damage(file)
    except OSError as error:  # a disk that does not read
        return error.strerror or str(error)


def _for_all(trainer, work) -> None:
    """Do it on the first rank; the others wait, and end when it is refused, which the first one says."""
    from fairseq.distributed import utils

    refusal = None
    if trainer.data_parallel_rank == 0:
        try:
            work()
        except Refusal as error:
            refusal = error
    if trainer.data_parallel_world_size > 1:
        group, device = trainer.data_parallel_process_group, trainer.device
        refused = utils.broadcast_object(refusal is not None, src_rank=0, group=group, dist_device=device)
        if refused and trainer.data_parallel_rank:
            raise SystemExit(2)
    if refusal:
        raise refusal
