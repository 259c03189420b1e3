"""Resuming: what a checkpoint that does not fit the run says, and that a finished run is not trained further."""

import functools
import logging
from contextlib import contextmanager

from fairseq_compat.refusal import Refusal
from fairseq_compat.stand_in import StandIn

logger = logging.getLogger(__name__)

NO_FIT = "Cannot load model parameters from checkpoint"  # how fairseq's own message begins


@contextmanager
def the_task_has_its_say(module):
    """After `fairseq.trainer` ran: the task gets its saved state back before the model does, and may raise ValueError.

    Only the rank that reads the file asks its task; the others have the same one.
    """
    yield
    utils, original, tasks = module.checkpoint_utils, module.Trainer.load_checkpoint, []

    def load_checkpoint_to_cpu(*args, **options):
        state = utils.load_checkpoint_to_cpu(*args, **options)
        if tasks and state.get("task_state"):
            tasks[-1].load_state_dict(state["task_state"])
        return state

    @functools.wraps(original)
    def load_checkpoint(self, filename, *args, **options):
        tasks.append(self.task)
        try:
            return original(self, filename, *args, **options)
        except Refusal:
            raise
        except ValueError as error:
            raise Refusal(f"{filename}: {error}") from None
        except Exception as error:
            if not str(error).startswith(NO_FIT):
                raise
            raise Refusal(
                f"{filename}: its parameters are not those of this model; give the task, the arch and the sizes it was "
                "trained with, or another --save-dir."
            ) from None
        finally:
            tasks.pop()

    module.checkpoint_utils = StandIn(utils, load_checkpoint_to_cpu=load_checkpoint_to_cpu)
    module.Trainer.load_checkpoint = load_checkpoint


@contextmanager
def finished_is_finished(module):
    """After `fairseq_cli.train` ran: a run that has reached --max-update does nothing more when it is started again.

    Stock fairseq compares after an update only, so that every such start would add one to the checkpoint.
    """
    yield
    original = module.train

    @functools.wraps(original)
    def train(cfg, trainer, task, epoch_itr):
        updates, most = trainer.get_num_updates(), cfg.optimization.max_update
        if most and updates >= most:
            logger.info(f"nothing left to train: {updates} updates were done, --max-update is {most}")
            return [None], True
        return original(cfg, trainer, task, epoch_itr)

    module.train = train
