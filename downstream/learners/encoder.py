"""A Hugging Face encoder with the head of a task, fine-tuned as a protocol says."""

import dataclasses
import random
from pathlib import Path
from typing import NamedTuple

import torch

from downstream import models
from downstream.learners.base import Epoch, Learner, Watch, unwatched
from downstream.recipe import Protocol
from downstream.tasks.base import Encoded, Task
from downstream.training import Learned, Machine, fit, kept_epoch, predict

DEV_SEED = 1  # of a protocol's dev_items: the same for all trainings, or their epochs would be chosen on unlike items


class Start(NamedTuple):
    """What of a pretrained folder is taken: `random` keeps the architecture and the tokenizer and draws the weights
    anew; `frozen` trains nothing but the head (a linear probe)."""

    folder: Path
    random: bool = False
    frozen: bool = False

    @property
    def name(self) -> str:
        """Of the folder, as outputs and tables have it."""
        return self.folder.resolve().name


class Encoder(Learner):
    """Raises InputError, when it is made, for a folder that cannot be used."""

    saves = True

    def __init__(self, task: Task, start: Start, protocol: Protocol, machine: Machine):
        self.task, self.start, self.protocol, self.machine = task, start, protocol, machine
        config, self.tokenizer = models.load_config(start.folder), models.load_tokenizer(start.folder)
        self.frame = models.frame_of(self.tokenizer, config)
        self.conditions = {
            "model": {
                "folder": start.name,
                "architecture": config.model_type,
                "random_init": start.random,
                "frozen": start.frozen,
                "sha256": models.fingerprint(start.folder),
            },
            "protocol": dataclasses.asdict(protocol),
            "max_tokens": min(task.recipe.max_tokens, self.frame.longest),
            "precision": "bf16 autocast" if machine.bf16 else "fp32",
            "device": machine.device.type,
        }

    def encode(self, items: list, training: bool) -> Encoded:
        """Tokens and pieces of the items."""
        return self.task.encode(items, self.tokenizer, self.frame, training)

    def fit(self, train: Encoded, dev: Encoded, seed: int, watch: Watch = unwatched) -> list[Epoch]:
        """Weights of the head, and batches, are drawn from the seed."""
        torch.manual_seed(seed)
        head, (folder, anew, frozen) = self.task.head(), self.start
        self.model = models.load_model(folder, head, anew, self.protocol.dropout).to(self.machine.device)
        for name, weight in self.model.named_parameters():
            if frozen and models.is_encoders(name, self.model):
                weight.requires_grad_(False)
        self.learned = Learned(self.model, head, self.frame.padding, self.machine)

        drawn = self._drawn(dev)

        def on_dev() -> float:
            return self.task.chosen(self.task.score(drawn.items, self.answer(drawn)))

        return fit(self.learned, train.pieces, self.protocol, seed, on_dev, watch, train.epoch)

    def _drawn(self, dev: Encoded) -> Encoded:
        """What the epoch is chosen on: all, or the protocol's dev_items of them, in their order."""
        size = self.protocol.dev_items
        if size is None or size >= len(dev.items):
            return dev
        numbers = sorted(random.Random(DEV_SEED).sample(range(len(dev.items)), size))
        return self.encode([dev.items[number] for number in numbers], training=False)

    def kept(self, curve: list[Epoch]) -> Epoch | None:
        """The epoch whose weights the model has."""
        return kept_epoch(curve, self.protocol.keep)

    def answer(self, encoded: Encoded) -> list:
        """By the model as it is now."""
        return self.task.decode(encoded, predict(self.learned, encoded.pieces))

    @property
    def num_parameters(self) -> int:
        return self.model.num_parameters()

    def save(self, target: Path, notes: dict) -> None:
        """A folder that transformers loads, tokenizer included."""
        models.save_model(self.model, self.start.folder, target, notes)
