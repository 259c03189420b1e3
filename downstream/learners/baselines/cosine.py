"""The cosine of two texts' vectors, without training on the task's answers (004, Table 5)."""

from pathlib import Path
from typing import ClassVar

import numpy as np

from downstream.learners.baselines.base import TextBaseline
from downstream.learners.baselines.tfidf import SETTINGS, Tfidf, cosines
from downstream.learners.encoder import Start, conditions_of
from downstream.tasks.base import Encoded, Piece, Task
from downstream.tasks.texts import Pair, windows_of
from downstream.training import models
from downstream.training.heads import a_number
from downstream.training.loop import Learned, Machine, predict

HIDDEN = a_number()._replace(read=lambda output: output.last_hidden_state.float(), per_token=True)  # (tokens, width)


class TfidfCosine(TextBaseline):
    """Of TF-IDF vectors, the mean of words' and letters'. Document frequencies are those of the training texts."""

    name = "tfidf_cosine"
    settings: ClassVar = SETTINGS

    def learn(self, train: Encoded, dev: Encoded) -> None:
        """Raises InputError for texts without a word."""
        self.tfidf = Tfidf().fit(self.pairs(train))
        self.num_parameters = sum(len(view.vocabulary_) for view in self.tfidf.views)  # document frequencies

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
        config, self.tokenizer = models.load_config(folder), models.load_tokenizer(folder)
        self.frame = models.frame_of(self.tokenizer, config)
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
        texts, pieces = sorted({text or "" for pair in pairs for text in pair}), []
        for number, text in enumerate(texts):
            ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            windows = windows_of(ids, None, self.frame, self.conditions["max_tokens"])
            pieces += [Piece(read, None, number, types=types) for read, types in windows]
        states: list[list[np.ndarray]] = [[] for _ in texts]
        for piece, rows in zip(pieces, predict(self.learned, pieces), strict=True):
            states[piece.item].append(rows)
        means = [np.concatenate(rows).mean(axis=0) for rows in states]
        vectors = {text: mean / np.linalg.norm(mean) for text, mean in zip(texts, means, strict=True)}
        return np.array([[float(vectors[first] @ vectors[second or ""])] for first, second in pairs])
