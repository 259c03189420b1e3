"""Small tasks for tests of the downstream side, made without a file."""

from collections import Counter

import numpy as np

from downstream.data.annotated_text import AnnotatedText
from downstream.tasks.base import Encoded
from downstream.tasks.ner import NamedEntities
from downstream.tasks.ner_recipe import NerRecipe
from downstream.training.tokenizer import Frame

OFFICIAL = {"train": "train", "dev": "dev", "test": "test"}
FRAME = Frame([0], [2], 1, 32, ([0], [2], [2]), False)  # of tiny_models' tokenizer


def ner_task(*types: str, **keys) -> NamedEntities:
    """A task with these entity types, and the recipe's other keys."""
    return NamedEntities(NerRecipe(**{"task": "tiny", "format": "brat", "splits": OFFICIAL, "types": [*types], **keys}))


def encoded_by(task: NamedEntities, tokenizer, *documents: AnnotatedText, frame=FRAME, training=False) -> Encoded:
    """The documents as a model reads them; what reading dropped is counted too."""
    read: Counter = Counter()
    items = [task.example(document, read) for document in documents]
    encoded = task.encode(items, tokenizer, frame, training)
    encoded.counts.update(read)
    return encoded


def perfect(task: NamedEntities, encoded: Encoded) -> list:
    """The answers of a model whose outputs are the targets."""
    return task.decode(encoded, [np.maximum(piece.target, 0) for piece in encoded.pieces])
