"""What a checkpoint that does not fit the run says when training resumes."""

import functools
from contextlib import contextmanager

from fairseq_compat.refusal import Refusal
from fairseq_compat.stand_in import StandIn

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
