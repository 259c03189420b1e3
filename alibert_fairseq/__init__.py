"""What `--user-dir alibert_fairseq` loads: every task, model, criterion, optimizer and schedule, by name.

fairseq itself imports only the `tasks` and `models` of a plugin, so each registered module is named here. Its training
learns to write metrics.jsonl, to save a checkpoint when it is asked to stop, to guard itself, and to tell the launcher.
"""

from fairseq.trainer import Trainer

from alibert_fairseq.callbacks import guarding
from alibert_fairseq.callbacks.metrics_log import logging_metrics
from alibert_fairseq.callbacks.save_dir_owner import owning_the_save_dir
from alibert_fairseq.callbacks.stop_signal import stopping_when_asked
from alibert_fairseq.criterions import electra as electra_criterion  # noqa: F401
from alibert_fairseq.criterions import masked_lm as masked_lm_criterion  # noqa: F401
from alibert_fairseq.criterions import segment_pairs as segment_pairs_criterion  # noqa: F401
from alibert_fairseq.data import text_encoders  # noqa: F401  --tokenizer, --bpe
from alibert_fairseq.launch.calibration import calibrating_when_asked
from alibert_fairseq.launch.run_info import telling_the_launcher
from alibert_fairseq.models import albert as albert_model  # noqa: F401
from alibert_fairseq.models import bert as bert_model  # noqa: F401
from alibert_fairseq.models import electra as electra_model  # noqa: F401
from alibert_fairseq.optim import adam, lamb, schedules  # noqa: F401
from alibert_fairseq.tasks import electra as electra_task  # noqa: F401
from alibert_fairseq.tasks import masked_lm as masked_lm_task  # noqa: F401
from alibert_fairseq.tasks import segment_pairs as segment_pairs_task  # noqa: F401

owning_the_save_dir(Trainer)
logging_metrics(Trainer)
stopping_when_asked(Trainer)
guarding(Trainer)
telling_the_launcher(Trainer)
calibrating_when_asked(Trainer)
