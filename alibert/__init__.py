"""Pretraining of French biomedical encoders, from raw text to a scored Hugging Face model."""

import fairseq_compat
from alibert_common import __version__ as __version__

fairseq_compat.activate()
