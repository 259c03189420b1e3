"""One small training loop for sequences of labelled tokens, and prediction with the same batches."""

import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from tqdm import tqdm

from downstream.models import Frame
from downstream.recipe import Protocol
from downstream.tasks.ner import IGNORED, Sequence

POOL = 8  # batches sorted by length together: next to no padding, and still another mixture every epoch
PREDICTION_TOKENS = 2048  # a prediction batch, padding included: larger ones leave the cache and were slower on CPUs


class Machine(NamedTuple):
    """Where and in which precision a model runs."""

    device: torch.device
    bf16: bool

    def autocast(self):
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16)


class Epoch(NamedTuple):
    """One line of the learning curve; loss is the mean of the epoch's updates, in nats a token."""

    epoch: int
    loss: float
    dev_f1: float
    seconds: float


def collate(sequences: list[Sequence], frame: Frame, device: torch.device) -> dict[str, torch.Tensor]:
    """Pad to the longest: input_ids, attention_mask, labels, each (sequences, tokens); specials are not scored."""
    left, right = len(frame.prefix), len(frame.suffix)
    width = max(len(one.ids) for one in sequences) + left + right
    ids = torch.full((len(sequences), width), frame.padding)
    labels = torch.full_like(ids, IGNORED)
    mask = torch.zeros_like(ids)
    for row, one in enumerate(sequences):
        framed = frame.prefix + one.ids + frame.suffix
        ids[row, : len(framed)] = torch.tensor(framed)
        labels[row, left : left + len(one.labels)] = torch.tensor(one.labels)
        mask[row, : len(framed)] = 1
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device), "labels": labels.to(device)}


def batches(sequences: list[Sequence], size: int, draw: random.Random) -> Iterator[list[Sequence]]:
    """All sequences once, in random batches of like lengths."""
    order = list(sequences)
    draw.shuffle(order)
    found = []
    for start in range(0, len(order), size * POOL):
        pool = sorted(order[start : start + size * POOL], key=lambda one: len(one.ids))
        found += [pool[first : first + size] for first in range(0, len(pool), size)]
    draw.shuffle(found)
    yield from found


def optimizer_of(model, protocol: Protocol, num_updates: int):
    """AdamW (torch's betas and epsilon, which are BERT's up to 0.01 of epsilon) and its schedule."""
    head_rate = protocol.learning_rate if protocol.head_learning_rate is None else protocol.head_learning_rate
    groups: dict[tuple[float, float], dict] = {}
    for name, parameter in model.named_parameters():
        rate = head_rate if name.startswith("classifier.") else protocol.learning_rate
        decay = protocol.weight_decay if parameter.ndim >= 2 else 0.0  # not on biases and LayerNorm
        group = groups.setdefault((rate, decay), {"params": [], "lr": rate, "weight_decay": decay})
        group["params"].append(parameter)
    optimizer = torch.optim.AdamW(list(groups.values()), fused=True)
    warmup = max(1, round(protocol.warmup * num_updates))

    def share(update: int) -> float:
        return min((update + 1) / warmup, (num_updates - update) / max(1, num_updates - warmup))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, share)


def fit(
    model,
    sequences: list[Sequence],
    frame: Frame,
    protocol: Protocol,
    seed: int,
    machine: Machine,
    dev_f1: Callable[[], float],
) -> list[Epoch]:
    """Train in place and leave the model at its best epoch on dev (the last of equals). Returns the learning curve.

    Batches are drawn from `seed`; dropout comes from torch's global generator.
    """
    draw = random.Random(seed)
    per_epoch = -(-len(sequences) // protocol.batch)
    optimizer, schedule = optimizer_of(model, protocol, per_epoch * protocol.epochs)
    curve: list[Epoch] = []
    best: dict[str, torch.Tensor] = {}
    every = 0.5 if sys.stderr.isatty() else 60  # seconds; a log file gets a line a minute
    bar = tqdm(total=per_epoch * protocol.epochs, desc=f"seed {seed}", unit="update", leave=False, mininterval=every)
    for epoch in range(1, protocol.epochs + 1):
        started = time.perf_counter()
        losses = [
            _update(model, collate(batch, frame, machine.device), optimizer, schedule, protocol.clip, machine, bar)
            for batch in batches(sequences, protocol.batch, draw)
        ]
        score = dev_f1()
        if all(score >= one.dev_f1 for one in curve):
            best = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        curve.append(Epoch(epoch, torch.stack(losses).mean().item(), score, time.perf_counter() - started))
        bar.set_postfix(epoch=epoch, loss=f"{curve[-1].loss:.3f}", dev_f1=f"{score:.3f}", refresh=False)
        if protocol.patience and idle_epochs(curve) >= protocol.patience:
            break
    bar.close()
    model.load_state_dict(best)
    return curve


def best_epoch(curve: list[Epoch]) -> Epoch:
    """The epoch with the best micro F1 on dev; of equals the last, which has learned more than dev can tell."""
    return max(curve, key=lambda one: (one.dev_f1, one.epoch))


def idle_epochs(curve: list[Epoch]) -> int:
    """Epochs since dev's micro F1 last got better."""
    return len(curve) - max(curve, key=lambda one: one.dev_f1).epoch


def _update(model, batch, optimizer, schedule, clip: float, machine: Machine, bar: tqdm) -> torch.Tensor:
    model.train()
    with machine.autocast():
        loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
    schedule.step()
    bar.update()
    return loss.detach()


@torch.no_grad()
def predict(model, sequences: list[Sequence], frame: Frame, machine: Machine) -> list[list[int]]:
    """The most likely label id of every token of every sequence, specials left out, in the order given."""
    model.eval()
    order = sorted(range(len(sequences)), key=lambda number: len(sequences[number].ids))
    predicted: list[list[int]] = [[] for _ in sequences]
    while order:
        width = len(sequences[order[-1]].ids) + len(frame.prefix) + len(frame.suffix)
        size = max(1, PREDICTION_TOKENS // width)
        order, chosen = order[:-size], order[-size:]
        batch = collate([sequences[number] for number in chosen], frame, machine.device)
        del batch["labels"]
        with machine.autocast():
            best = model(**batch).logits.argmax(-1).tolist()
        for number, row in zip(chosen, best, strict=True):
            predicted[number] = row[len(frame.prefix) : len(frame.prefix) + len(sequences[number].ids)]
    return predicted
