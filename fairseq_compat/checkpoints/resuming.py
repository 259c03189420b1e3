"""Resuming: what a checkpoint that does not fit the run says, and that a finished run is not trained further."""

import logging
from contextlib import contextmanager

from fairseq_compat.checkpoints.position import refuse_another_effective_batch
from fairseq_compat.errors import Refusal
from fairseq_compat.module_proxy import StandIn, in_place_in

logger = logging.getLogger(__name__)

NO_FIT = "Cannot load model parameters from checkpoint"  # how fairseq's own message begins
ANOTHER = " does not match; please reset the optimizer (--reset-optimizer). "  # in the middle of another one


@contextmanager
def restore_the_task_first(module):
    """After `fairseq.trainer` ran: the task gets its saved state back before the model does, and may raise ValueError.

    The moments of another optimizer are refused, and --store-ema finds an average. Only the rank that reads the file
    looks; the others have the same task and options. The scheduler gets the loss of an epoch that just ended.
    """
    yield
    utils, waiting = module.checkpoint_utils, []

    def load_checkpoint_to_cpu(*args, **options):
        state = utils.load_checkpoint_to_cpu(*args, **options)
        trainer, reset_optimizer = waiting[-1] if waiting else (None, True)
        if trainer and state.get("task_state"):
            trainer.task.load_state_dict(state["task_state"])
        if not reset_optimizer and "last_optimizer_state" in state:
            refuse_another_optimizer(state.get("cfg"), trainer.cfg)
            refuse_another_effective_batch(state, trainer.cfg)
        if trainer and trainer.cfg.ema.store_ema:
            begin_average(state, anew=reset_optimizer)
        return state

    @in_place_in(module.Trainer)
    def load_checkpoint(original, self, filename, reset_optimizer=False, reset_lr_scheduler=False, *args, **options):
        waiting.append((self, reset_optimizer))
        try:
            extra_state = original(self, filename, reset_optimizer, reset_lr_scheduler, *args, **options)
            if extra_state and not reset_optimizer and not reset_lr_scheduler:
                end_epoch_of(extra_state, self)
            return extra_state
        except Refusal:
            raise
        except ValueError as error:
            raise Refusal(f"{filename}: {error}") from None
        except Exception as error:
            complaint = complaint_of(error)
            if complaint is None:
                raise
            raise Refusal(f"{filename}: {complaint}") from None
        finally:
            waiting.pop()

    module.checkpoint_utils = StandIn(utils, load_checkpoint_to_cpu=load_checkpoint_to_cpu)


def end_epoch_of(extra_state: dict, trainer) -> None:
    """Tell the scheduler the loss of an epoch that a checkpoint ends: fairseq does this after it has saved."""
    place, loss = extra_state["train_iterator"], extra_state.get("val_loss")
    ends = place.get("version", 1) >= 2 and place.get("iterations_in_epoch") == 0  # an older one may have no place
    if ends and loss is not None:
        trainer.lr_step(place["epoch"] - 1, loss)


def complaint_of(error: Exception) -> str | None:
    """In one sentence what fairseq finds in a checkpoint that does not fit; None for any other error."""
    if ANOTHER in str(error):
        part, _, classes = str(error).partition(ANOTHER)
        return (
            f"its {part.lower()} was another ({classes}); give the --criterion, the --optimizer and the precision "
            "(--bf16, --fp16) it was trained with, or another --save-dir."
        )
    if not str(error).startswith(NO_FIT):
        return None
    return (
        "its parameters are not those of this model; give the task, the arch and the sizes it was trained with, or "
        "another --save-dir."
    )


def refuse_another_optimizer(then, now) -> None:
    """Raise ValueError where two configurations have different optimizers.

    fairseq compares the classes, and under --bf16 and --fp16 that is FP16Optimizer, whatever it wraps.
    """
    then, now = (getattr(getattr(cfg, "optimizer", None), "_name", None) for cfg in (then, now))
    if then and then != now:
        raise ValueError(
            f"it was trained with --optimizer {then}, whose moments {now} cannot use; give that one, or start "
            "in another --save-dir with --finetune-from-model and this checkpoint."
        )


def begin_average(state: dict, anew: bool) -> None:
    """Let the average of --store-ema begin with the weights, `anew` or where a checkpoint holds no average.

    Stock fairseq looks for these weights after it has deleted them, and continues the average of another run.
    """
    extra = state["extra_state"]
    if anew or "ema" not in extra:
        logger.info("the average of --store-ema begins with the weights of the checkpoint")
        extra["ema"] = state["model"]
        extra.pop("ema_fp32_params", None)


@contextmanager
def stop_at_the_end(module):
    """After `fairseq_cli.train` ran: a run that has reached its end does nothing more when it is started again.

    Stock fairseq looks after an update only, so that every such start would add one to the checkpoint.
    """
    yield

    @in_place_in(module)
    def train(original, cfg, trainer, task, epoch_itr):
        if ended := end_of(trainer, cfg.optimization):
            logger.info(f"nothing left to train: {ended}")
            return [None], True
        return original(cfg, trainer, task, epoch_itr)


def end_of(trainer, optimization) -> str | None:
    """The end that a run has reached, --max-update or --stop-time-hours; None if there is more to train."""
    updates, most, hours = trainer.get_num_updates(), optimization.max_update, optimization.stop_time_hours
    spent = trainer._previous_training_time / 3600  # the checkpoint's, the same on all processes
    if most and updates >= most:
        return f"{updates} updates were done, --max-update is {most}"
    if updates and hours and spent >= hours:
        return f"{updates} updates were done in {spent:.4g} hours, and the run had {hours:.4g}"
    return None
