"""A Hugging Face encoder with the head of a task, fine-tuned as a protocol says."""

from pathlib import Path
from typing import NamedTuple

import torch

from alibert_common.errors import InputError
from downstream.learners.networks import LinearProbe
from downstream.learners.trained import Trained
from downstream.tasks.base import Encoded, Task
from downstream.training import models
from downstream.training.heads import Head
from downstream.training.loop import Machine
from downstream.training.protocol import Protocol
from downstream.training.tokenizer import Frame, frame_of, load_tokenizer


class Start(NamedTuple):
    """What of a pretrained folder is taken: `random` keeps the architecture and the tokenizer and draws the weights
    anew; `frozen` trains a linear probe and nothing else."""

    folder: Path
    random: bool = False
    frozen: bool = False


def conditions_of(task: Task, start: Start, config, frame: Frame, machine: Machine) -> dict:
    """What an encoder's answers depend on, training apart."""
    return {
        "model": {
            "folder": start.folder.resolve().name,
            "architecture": config.model_type,
            "random_init": start.random,
            "frozen": start.frozen,
            "sha256": models.fingerprint(start.folder),
        },
        "max_tokens": min(task.recipe.max_tokens, frame.longest),
        "precision": machine.precision,
        "device": machine.device.type,
    }


class Encoder(Trained):
    """Raises InputError, when it is made, for a folder that cannot be used."""

    form: str | None = None  # its name in registry.FORMS

    def __init__(self, task: Task, start: Start, protocol: Protocol, machine: Machine):
        if protocol.replaced_words and self.form != "tagger":
            raise InputError("replaced_words is for --form tagger; give that form, or leave the key out.")
        self.task, self.start, self.protocol, self.machine = task, start, protocol, machine
        config, self.tokenizer = models.load_config(start.folder), load_tokenizer(start.folder)
        self.frame = frame_of(self.tokenizer, config)
        self.conditions = conditions_of(task, start, config, self.frame, machine)
        self.conditions["protocol"] = protocol.recorded()
        if self.form:
            self.conditions["model"]["form"] = self.form
        self.saves = not start.frozen  # a probe measures an encoder; whoever wants to use a model trains all of it

    def built(self, head: Head, train: Encoded) -> torch.nn.Module:
        """Weights of the head, or all, are drawn."""
        folder, anew, frozen = self.start
        model = models.load_model(folder, head, anew, self.protocol.dropout)
        if frozen and not head.per_token:  # the heads on tokens are one linear map already
            model = LinearProbe(model, len(head.names))
        for name, weight in model.named_parameters():
            if frozen and models.is_encoders(name, model):
                weight.requires_grad_(False)
        return model

    def save(self, target: Path, notes: dict) -> None:
        """A folder that transformers loads, tokenizer included."""
        models.save_model(self.model, self.start.folder, target, notes)
