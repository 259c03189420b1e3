"""Pretraining of French biomedical encoders, from raw text to a scored Hugging Face model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import fairseq_compat
from alibert_common import __version__ as __version__

if TYPE_CHECKING:
    from alibert.api import *  # noqa: F403
    from downstream.label import Labeler as Labeler
    from downstream.tag import Tagger as Tagger

EXPORTED = [
    "RECIPES", "Cleaning", "Deduplication", "Guess", "InputError", "Labeler", "MixWeights", "Pseudonymisation",
    "ReadOptions", "Tagger", "TextOptions", "Word", "audit", "binarize", "clean", "deduplicate", "export", "fill_mask",
    "finetune", "ingest", "load", "mix", "normalize", "pretrain", "pseudonymise", "tag", "train_tokenizer",
]  # fmt: skip
CLASSES = {"Labeler": "downstream.label", "Tagger": "downstream.tag"}  # fine-tuned models to use

fairseq_compat.activate()  # where no .pth file has


def __getattr__(name: str) -> Any:
    """A name of `alibert.api`, or one of CLASSES, imported at its first use."""
    if name not in EXPORTED:
        raise AttributeError(f"module 'alibert' has no attribute {name!r}")
    return getattr(import_module(CLASSES.get(name, "alibert.api")), name)
