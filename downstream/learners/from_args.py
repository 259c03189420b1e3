"""Which learner a command line asks for, and whether it asks for anything that this learner would pass over."""

import argparse

from alibert_common.errors import InputError
from downstream.learners.base import Learner
from downstream.learners.baselines.cosine import EncoderCosine
from downstream.learners.baselines.neural import OverWords
from downstream.learners.baselines.registry import BASELINES
from downstream.learners.encoder import Encoder, Start
from downstream.tasks.base import Task
from downstream.training import models
from downstream.training.loop import Machine
from downstream.training.protocol import Protocol

ON_A_MACHINE = {"--bf16", "--device cuda"}


def asked_for(args: argparse.Namespace, task: Task) -> type[Learner]:
    """Raises InputError for a learner that does not serve the task's family, and for options that it has no use for."""
    kind, words = Encoder, "--model"
    if args.baseline:
        kind, words = BASELINES[args.baseline], f"--baseline {args.baseline}"
    elif args.cosine:
        kind, words = EncoderCosine, "--cosine"
    idle = [name for name, there in _given(args).items() if there and name not in _used(kind)]
    if idle:
        raise InputError(f"{words}: {', '.join(idle)} would change nothing; leave it out.")
    family = task.recipe.kind
    if kind is not Encoder and family not in kind.families:
        others = ", ".join(name for name, one in BASELINES.items() if family in one.families)
        raise InputError(
            f"{words}: does not serve {family}, only {', '.join(kind.families)}; "
            f"baselines that serve {family}: {others}."
        )
    return kind


def _given(args: argparse.Namespace) -> dict[str, bool]:
    return {
        "--protocol": args.protocol is not None,
        "--set": bool(args.set),
        "--selection": args.selection is not None,
        "--random-init": args.random_init,
        "--frozen": args.frozen,
        "--cosine": args.cosine,
        "--vectors-text": args.vectors_text is not None,
        "--bf16": args.bf16,
        "--device cuda": args.device == "cuda",
    }


def _used(kind: type[Learner]) -> set[str]:
    if kind is Encoder:
        return ON_A_MACHINE | {"--protocol", "--set", "--selection", "--random-init", "--frozen"}
    if kind is EncoderCosine:
        return ON_A_MACHINE | {"--cosine"}
    return ON_A_MACHINE | {"--protocol", "--set", "--vectors-text"} if issubclass(kind, OverWords) else set()


def learner_of(args: argparse.Namespace, task: Task, kind: type[Learner], protocol: Protocol | None) -> Learner:
    """protocol: of what is trained; None for a baseline that has none."""
    machine = Machine(models.device_of(args.device), args.bf16)
    if kind is Encoder:
        return Encoder(task, Start(args.model, args.random_init, args.frozen), protocol, machine)
    if kind is EncoderCosine:
        return EncoderCosine(task, args.model, machine)
    if issubclass(kind, OverWords):
        return kind(task, protocol, machine, args.vectors_text)
    return kind(task)
