"""Pretraining of French biomedical encoders, from raw text to a scored Hugging Face model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import fairseq_compat
from alibert_common import __version__ as __version__

if TYPE_CHECKING:
    from alibert.api import (
        Guess,
        Word,
        binarize,
        clean,
        deduplicate,
        export,
        fill_mask,
        finetune,
        ingest,
        load,
        mix,
        normalize,
        pretrain,
        tag,
        train_tokenizer,
    )
    from alibert_common.errors import InputError
    from alibert_common.shipped import RECIPES
    from downstream.tag import Tagger
    from preprocess.clean import Cleaning
    from preprocess.mixing.weights import MixWeights
    from preprocess.readers import ReadOptions
    from preprocess.tokenizer.normalizer import TextOptions

__all__ = [
    "RECIPES", "Cleaning", "Guess", "InputError", "MixWeights", "ReadOptions", "Tagger", "TextOptions", "Word",
    "binarize", "clean", "deduplicate", "export", "fill_mask", "finetune", "ingest", "load", "mix", "normalize",
    "pretrain", "tag", "train_tokenizer",
]  # fmt: skip
# What is not a function of alibert.api; everything is imported at its first use.
_ELSEWHERE = {
    "RECIPES": "alibert_common.shipped",
    "Cleaning": "preprocess.clean",
    "ReadOptions": "preprocess.readers",
    "InputError": "alibert_common.errors",
    "Tagger": "downstream.tag",
    "TextOptions": "preprocess.tokenizer.normalizer",
    "MixWeights": "preprocess.mixing.weights",
}

fairseq_compat.activate()  # where no .pth file has


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'alibert' has no attribute {name!r}")
    return getattr(import_module(_ELSEWHERE.get(name, "alibert.api")), name)
