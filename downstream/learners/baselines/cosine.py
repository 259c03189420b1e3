"""The cosine of two texts' vectors, without training on the task's answers (004, Table 5)."""

from pathlib import Path
from typing import ClassVar

import numpy as np

from downstream.learners.baselines.base import TextBaseline
from downstream.learners.baselines.tfidf import SETTINGS, Tfidf, cosines
from downstream.learners.encoder import Start, conditions_of
from downstream.learners.text_vectors import HIDDEN, cosines_of
from downstream.tasks.base import Encoded, Task
from downstream.tasks.texts import Pair
from downstream.training import models
from downstream.training.heads import a_number
from downstream.training.loop import Learned, Machine
from downstream.training.tokenizer import frame_of, load_tokenizer


class TfidfCosine(TextBaseline):
    """Of TF-IDF vectors, the mean of words' and letters'. Document frequencies are those of the training texts."""

    name = "tfidf_cosine"
    settings: ClassVar = SETTINGS

    def learn(self, train: Encoded, dev: Encoded) -> None:
        """Raises InputError for texts without a word."""
        self.tfidf = Tfidf().fit(self.task.all_pairs(train))
        self.num_parameters = sum(len(view.idf) for view in self.tfidf.views)  # document frequencies

    def outputs(self, pairs: list[Pair]) -> np.ndarray:
        """A cosine a pair."""
        return cosines(*self.tfidf.sides(pairs)).mean(axis=1, keepdims=True)


class EncoderCosine(TextBaseline):
    """Of the means of an encoder's last hidden states, over all windows of a text, special tokens included.

    Raises InputError, when it is made, for a folder that cannot be used.
    """

    name = "cosine"

    def __init__(self, task: Task, folder: Path, machine: Machine):
        super().__init__(task)
        config, self.tokenizer = models.load_config(folder), load_tokenizer(folder)
        self.frame = frame_of(self.tokenizer, config)
        self.conditions |= {
            **conditions_of(task, Start(folder), config, self.frame, machine),
            "protocol": {"name": "cosine", "changed": [], "pooling": "mean of the last hidden states"},
        }
        self.model = models.load_model(folder, a_number(), random_init=False).base_model.to(machine.device)
        self.num_parameters = self.model.num_parameters()
        self.learned = Learned(self.model, HIDDEN, self.frame.padding, machine)

    def learn(self, train: Encoded, dev: Encoded) -> None:
        """Nothing."""

    def outputs(self, pairs: list[Pair]) -> np.ndarray:
        """A cosine a pair."""
        return cosines_of(pairs, self.tokenizer, self.frame, self.conditions["max_tokens"], self.learned)
