"""Fine-tuning and scoring of any Hugging Face encoder. Imports neither fairseq nor the pretraining side."""

import os

from alibert_common import __version__ as __version__

# Read when transformers is imported: a model is a local folder, and its path must never be looked up as a hub name.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
