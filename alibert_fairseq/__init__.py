"""What `--user-dir alibert_fairseq` loads: every task, model, criterion, optimizer and schedule, and the trainer.

fairseq itself imports only the `tasks` and `models` of a plugin, so each registered module is named here.
"""

try:
    from alibert_fairseq.command_help import end_if_help_was_asked

    end_if_help_was_asked()
    import fairseq  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "fairseq":
        raise
    raise ImportError(
        "alibert_fairseq needs fairseq 0.12.2; install it with the extra `fairseq`, as in "
        "`uv pip install 'alibert-fairseq[fairseq]'`."
    ) from None

from alibert_common import __version__ as __version__
from alibert_fairseq.criterions import electra as electra_criterion  # noqa: F401
from alibert_fairseq.criterions import masked_lm as masked_lm_criterion  # noqa: F401
from alibert_fairseq.criterions import segment_pairs as segment_pairs_criterion  # noqa: F401
from alibert_fairseq.data import text_encoders  # noqa: F401  --tokenizer, --bpe
from alibert_fairseq.models import albert as albert_model  # noqa: F401
from alibert_fairseq.models import bert as bert_model  # noqa: F401
from alibert_fairseq.models import deberta as deberta_model  # noqa: F401
from alibert_fairseq.models import electra as electra_model  # noqa: F401
from alibert_fairseq.models import electra_modern as electra_modern_model  # noqa: F401
from alibert_fairseq.models import modern as modern_model  # noqa: F401
from alibert_fairseq.optim import adam, lamb, muon, schedules  # noqa: F401
from alibert_fairseq.tasks import electra as electra_task  # noqa: F401
from alibert_fairseq.tasks import masked_lm as masked_lm_task  # noqa: F401
from alibert_fairseq.tasks import segment_pairs as segment_pairs_task  # noqa: F401
from alibert_fairseq.trainer import install

install()
