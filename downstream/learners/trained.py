"""A network with the head of a task, trained by training/loop.py."""

import random
from abc import abstractmethod
from typing import Any

import torch

from downstream.learners.base import Learner
from downstream.tasks.base import Encoded
from downstream.training.epochs import Epoch, Watch, kept_epoch
from downstream.training.heads import Head, head_of
from downstream.training.loop import Learned, Machine, fit, predict
from downstream.training.protocol import Protocol
from downstream.training.tokenizer import Frame

DEV_SEED = 1  # of a protocol's dev_items: the same for all trainings, or their epochs would be chosen on unlike items


class Trained(Learner):
    """Reads items as tokenizer and frame say, and learns as the protocol says."""

    tokenizer: Any  # called as those of transformers
    frame: Frame
    model: Any  # a network
    protocol: Protocol
    machine: Machine

    @abstractmethod
    def built(self, head: Head, train: Encoded) -> torch.nn.Module:
        """The network before training; what it draws comes from torch's global generator."""

    def head(self) -> Head:
        """How the network answers and what it loses; the one of the task."""
        return head_of(self.task.head())

    def encode(self, items: list, training: bool) -> Encoded:
        """Tokens and pieces of the items."""
        return self.task.encode(items, self.tokenizer, self.frame, training)

    def fit(self, train: Encoded, dev: Encoded, seed: int, watch: Watch | None = None) -> list[Epoch]:
        """Weights and batches are drawn from the seed."""
        torch.manual_seed(seed)
        head = self.head()
        self.model = self.built(head, train).to(self.machine.device)
        self.num_parameters = sum(weight.numel() for weight in self.model.parameters())  # frozen ones included
        self.learned = Learned(self.model, head, self.frame.padding, self.machine)
        drawn, size = dev, self.protocol.dev_items  # what the epoch is chosen on: all, or some, in their order
        if size is not None and size < len(dev.items):
            numbers = sorted(random.Random(DEV_SEED).sample(range(len(dev.items)), size))
            drawn = self.encode([dev.items[number] for number in numbers], training=False)

        return fit(self.learned, train.pieces, self.protocol, seed, lambda: self.on_dev(drawn), watch, train.epoch)

    def on_dev(self, dev: Encoded) -> float:
        """The figure that chooses the epoch."""
        return self.task.chosen(self.task.score(dev.items, self.answer(dev)))

    def kept(self, curve: list[Epoch]) -> Epoch | None:
        """The epoch whose weights the model has."""
        return kept_epoch(curve, self.protocol.keep)

    def answer(self, encoded: Encoded) -> list:
        """By the model as it is now."""
        return self.task.decode(encoded, predict(self.learned, encoded.pieces))
