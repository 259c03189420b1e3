"""What a training watches over while nobody does: hooks on fairseq's Trainer, each in a file of its own.

A batch whose loss or gradient is not finite is skipped; a loss that jumps is told; too little memory ends the run in a
sentence, and so do a process that stops answering and a --save-dir that another run has taken over (ownership.py, which
comes before metrics.jsonl is touched). Where fairseq's own commands end, fairseq_compat says why.
"""

from alibert_fairseq.callbacks.loss_spikes import telling_of_spikes
from alibert_fairseq.callbacks.memory import refusing_too_little_memory
from alibert_fairseq.callbacks.skip_nonfinite import skipping_what_is_not_finite
from alibert_fairseq.callbacks.watchdog import watching_for_silence


def guarding(trainer_class: type) -> None:
    """Have every training with fairseq's Trainer guarded."""
    skipping_what_is_not_finite(trainer_class)
    telling_of_spikes(trainer_class)
    refusing_too_little_memory(trainer_class)
    watching_for_silence(trainer_class)
