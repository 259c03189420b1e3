"""One small training loop for the pieces of any task, and the outputs for pieces by the same batches."""

import itertools
import math
import random
import re
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from alibert_common.errors import InputError
from downstream.tasks.base import Piece
from downstream.training.epochs import Epoch, Watch
from downstream.training.heads import Head
from downstream.training.models import is_encoders
from downstream.training.protocol import Protocol

POOL = 8  # batches sorted by length together: next to no padding, and still another mixture every epoch
PREDICTION_TOKENS = 2048  # a prediction batch, padding included: larger ones leave the cache and were slower on CPUs
# The number of a layer in the names of weights: of BERT, RoBERTa, ELECTRA, DistilBERT; of ModernBERT; of ALBERT.
LAYER = re.compile(r"\.(?:layer|layers|albert_layer_groups)\.(\d+)\.")


class Diverged(InputError):
    """The model computes with what is no number any more: another rate is needed."""


class Machine(NamedTuple):
    """The device and the precision in which a model runs."""

    device: torch.device
    bf16: bool

    @property
    def precision(self) -> str:
        """Name of the precision in metrics.json."""
        return "bf16 autocast" if self.bf16 else "fp32"

    def autocast(self):
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16)


class Learned(NamedTuple):
    """A model in training: what it is, what stands on it, with which id its sequences are padded, where it runs."""

    model: torch.nn.Module
    head: Head
    padding: int
    machine: Machine


def collate(pieces: list[Piece], padding: int, device: torch.device) -> dict[str, Any]:
    """Pad to the longest: input_ids, attention_mask, and token_type_ids where a piece has some; (pieces, tokens).

    And `beside`, where pieces have it.
    """
    width = max(len(piece.ids) for piece in pieces)

    def padded(rows: list[list[int]], filler: int) -> torch.Tensor:
        return torch.tensor([row + [filler] * (width - len(row)) for row in rows]).to(device)

    batch = {"input_ids": padded([piece.ids for piece in pieces], padding)}
    batch["attention_mask"] = padded([[1] * len(piece.ids) for piece in pieces], 0)
    if any(piece.types for piece in pieces):
        batch["token_type_ids"] = padded([piece.types or [0] * len(piece.ids) for piece in pieces], 0)
    if pieces[0].beside is not None:
        batch["beside"] = pieces[0].beside.together([piece.beside for piece in pieces], width, device)
    return batch


def batches(pieces: list[Piece], size: int, draw: random.Random) -> list[list[Piece]]:
    """All pieces once, in random batches of like lengths."""
    order = list(pieces)
    draw.shuffle(order)
    found = []
    for start in range(0, len(order), size * POOL):
        pool = sorted(order[start : start + size * POOL], key=lambda piece: len(piece.ids))
        found += [pool[first : first + size] for first in range(0, len(pool), size)]
    draw.shuffle(found)
    return found


def optimizer_of(model, protocol: Protocol, num_updates: int):
    """AdamW (torch's betas and epsilon, which are BERT's up to 0.01 of epsilon) and its schedule.

    With layer_decay d, the head learns with the full rate. Layer l of n (from 0) learns with rate x d^(n - l), the
    embeddings with rate x d^(n + 1). ELECTRA's fine-tuning intends this; its code has one power more. Layers that share
    their weights, as in ALBERT, count as one. Raises InputError for an encoder whose layers cannot be told by the names
    of its weights.
    """
    head_rate = protocol.learning_rate if protocol.head_learning_rate is None else protocol.head_learning_rate
    shares = _shares(model, protocol.layer_decay)
    groups: dict[tuple[float, float], dict] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        rate = protocol.learning_rate * shares[name] if name in shares else head_rate
        decay = protocol.weight_decay if parameter.ndim >= 2 else 0.0  # not on biases and LayerNorm
        group = groups.setdefault((rate, decay), {"params": [], "lr": rate, "weight_decay": decay})
        group["params"].append(parameter)
    optimizer = torch.optim.AdamW(list(groups.values()), fused=True)
    warmup = protocol.warmup_updates or max(1, round(protocol.warmup * num_updates))

    def share(update: int) -> float:
        return min((update + 1) / warmup, (num_updates - update) / max(1, num_updates - warmup))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, share)


def _shares(model, decay: float) -> dict[str, float]:
    """The share of the learning rate of each parameter of the encoder. A last LayerNorm has that of the last layer."""
    own = [name for name, _ in model.named_parameters() if is_encoders(name, model)]
    layers = {name: int(found[1]) for name in own if (found := LAYER.search(name))}
    if decay < 1 and not layers:
        raise InputError(f"layer_decay is {decay}: no layers are known of {model.config.model_type}; leave it out.")
    depth = max(layers.values(), default=-1) + 1
    powers = {name: depth + 1 if "embed" in name else 1 for name in own}  # embeddings, and what projects them
    return {name: decay ** (depth - layers[name] if name in layers else powers[name]) for name in own}


def num_updates(pieces: list[Piece], protocol: Protocol, epoch: int | None = None) -> int:
    """Updates of a whole training: as many as the protocol says, or its training_tokens allow, at least one.

    epoch: how many pieces make one; None: each piece once.
    """
    planned = protocol.updates or (protocol.epochs or 0) * _batches_of(epoch or len(pieces), protocol)
    if protocol.training_tokens is None:
        return planned
    tokens_an_update = sum(piece.num_tokens for piece in pieces) / _batches_of(len(pieces), protocol)
    return max(1, min(planned, int(protocol.training_tokens / tokens_an_update)))


def num_epochs(pieces: list[Piece], protocol: Protocol) -> int:
    """Epochs of a whole training; the last one may be cut short."""
    total = num_updates(pieces, protocol)
    return -(-total // _updates_an_epoch(len(pieces), protocol, total))


def _updates_an_epoch(num_pieces: int, protocol: Protocol, total: int) -> int:
    """One pass; of more than a hundred passes the hundredth part, or dev would be scored longer than is trained."""
    return max(_batches_of(num_pieces, protocol), total // 100)


def _batches_of(num_pieces: int, protocol: Protocol) -> int:
    return -(-num_pieces // protocol.batch)


def fit(
    learned: Learned, pieces: list[Piece], protocol: Protocol, seed: int, dev: Callable[[], float],
    watch: Watch | None = None, epoch: int | None = None,
) -> list[Epoch]:  # fmt: skip
    """Train in place and leave the model at its best epoch on dev (the last of equals), or at the last one where the
    protocol keeps that. Returns the learning curve.

    Batches are drawn from `seed`; dropout comes from torch's global generator. `watch` is called after each epoch,
    which is one pass over the pieces, or as many updates as one over `epoch` pieces, but a hundredth at least of all.
    Raises Diverged where the loss is no number any more.
    """
    torch.set_flush_denormal(True)  # a CPU is slow with numbers below 1e-38; it stays on
    model, total = learned.model, num_updates(pieces, protocol, epoch)
    draw = random.Random(seed)
    drawn = itertools.chain.from_iterable(batches(pieces, protocol.batch, draw) for _ in itertools.count())
    optimizer, schedule = optimizer_of(model, protocol, total)
    curve: list[Epoch] = []
    best: dict[str, torch.Tensor] = {}
    updates_an_epoch = _updates_an_epoch(epoch or len(pieces), protocol, total)
    every = 0.5 if sys.stderr.isatty() else 60  # seconds; a log file gets a line a minute
    patience = protocol.patience_updates or (protocol.patience or 0) * updates_an_epoch
    done = 0
    with tqdm(total=total, desc=f"seed {seed}", unit="update", leave=False, mininterval=every) as bar:
        while done < total:
            started, losses = time.perf_counter(), []
            for batch in itertools.islice(drawn, min(updates_an_epoch, total - done)):
                losses.append(_update(learned, batch, optimizer, schedule, protocol.clip))
                bar.update()
            done += len(losses)
            loss = torch.stack(losses).mean().item()
            if not math.isfinite(loss):
                raise Diverged(
                    f"the model has diverged (its loss is {loss} after {done} updates); lower the protocol's "
                    f"learning_rate of {protocol.learning_rate:g}, or its head_learning_rate."
                )
            score = dev()
            if protocol.keep == "best" and all(score >= earlier.dev for earlier in curve):
                best = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
            curve.append(Epoch(len(curve) + 1, loss, score, time.perf_counter() - started))
            if watch:
                watch(curve[-1])
            bar.set_postfix(epoch=len(curve), loss=f"{curve[-1].loss:.3f}", dev=f"{score:.3f}", refresh=False)
            best_epoch = max(curve, key=lambda epoch: epoch.dev).epoch
            if patience and done - best_epoch * updates_an_epoch >= patience:
                break
    if best:
        model.load_state_dict(best)
    return curve


def _update(learned: Learned, pieces: list[Piece], optimizer, schedule, clip: float) -> torch.Tensor:
    model, head, padding, machine = learned
    model.train()
    batch = collate(pieces, padding, machine.device)
    targets = head.targets([piece.target for piece in pieces], batch["input_ids"].shape[1]).to(machine.device)
    with machine.autocast():
        loss = head.loss(model(**batch), targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
    schedule.step()
    return loss.detach()


@torch.no_grad()
def predict(learned: Learned, pieces: list[Piece]) -> list[np.ndarray]:
    """The answers of the head for each piece, in order: a row a token, special tokens included, or one row.

    Raises Diverged where that is of no finite numbers: an update may leave such weights, and no loss after it may tell.
    """
    model, head, padding, machine = learned
    model.eval()
    order = sorted(range(len(pieces)), key=lambda number: len(pieces[number].ids))
    found: list = [None] * len(pieces)
    while order:
        size = max(1, PREDICTION_TOKENS // len(pieces[order[-1]].ids))
        order, chosen = order[:-size], order[-size:]
        batch = collate([pieces[number] for number in chosen], padding, machine.device)
        with machine.autocast():
            output = model(**batch)
        logits = output[0][batch["attention_mask"].bool()] if head.per_token else output[0]
        if not logits.isfinite().all():
            raise Diverged("the model has diverged (its outputs are no finite numbers); train it with a lower rate.")
        for number, row in zip(chosen, head.read(output).cpu().numpy(), strict=True):
            found[number] = row[: len(pieces[number].ids)] if head.per_token else row
    return found
