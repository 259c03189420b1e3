"""From a RunConfig to an Experiment: task, data and learner, all read and checked before the first update."""

from pathlib import Path

from downstream.data.splits import Splits, read_folds, with_fewer
from downstream.experiment.results import versions
from downstream.experiment.run import Experiment
from downstream.learners.base import Learner
from downstream.learners.encoder import Start
from downstream.learners.registry import COSINE, ENCODER, FORMS
from downstream.run_config import RunConfig
from downstream.tasks import task_from
from downstream.tasks.base import Task
from downstream.training.loop import Machine
from downstream.training.models import device_of
from downstream.training.protocol import Protocol
from downstream.training.selection import refuse_other


def fine_tune(config: RunConfig) -> str:
    """Train and score what is not finished. Returns the table of results."""
    experiment = experiment_of(config)
    if config.overwrite:
        experiment.clear()
    num_seeds = config.seeds or experiment.conditions["protocol"].get("seeds", Protocol.seeds)
    something_is_drawn = experiment.learner.draws or config.train_documents
    return experiment.run(num_seeds if something_is_drawn else 1)


def experiment_of(config: RunConfig) -> Experiment:
    """All that the run needs. Raises InputError for bad input, before anything is trained or removed."""
    task, choice = task_from(config.recipe), config.choice
    learner = learner_of(config, task)
    folds = read_folds(task, config.data, config.dev_only)
    for splits in folds:
        task.begin(splits["train"].items)
        if config.train_documents is not None:
            with_fewer(task, splits["train"], config.train_documents, seed=1)
    conditions = conditions_of(task, learner, folds) | (choice.conditions() if choice else {})
    if choice and choice.record and config.selection:
        refuse_other(choice.record, conditions, config.selection)
    selection = choice.told() if choice else {"by": f"{conditions['protocol']['name']}, as it stands"}
    conditions |= {"selection": selection, "dev_only": config.dev_only, "train_documents": config.train_documents}
    return Experiment(task, learner, folds, config.output, conditions, config.train_documents)


def learner_of(config: RunConfig, task: Task) -> Learner:
    """The learner that the options name."""
    kind, protocol = config.kind, config.choice.protocol if config.choice else None
    made, machine = kind.load(), Machine(device_of(config.device), config.bf16)
    if kind == COSINE:
        return made(task, config.model, machine)
    if kind in (ENCODER, *FORMS.values()):
        start = Start(config.model or Path(), config.random_init, config.frozen)
        return made(task, start, protocol, machine)
    machinery = (protocol, machine) if kind.has_protocol else ()
    vectors = [(config.vectors_text, "--vectors-text"), (config.vectors_model, "--vectors-model")]
    return made(task, *machinery, *(place for place, option in vectors if option in kind.options))


def conditions_of(task: Task, learner: Learner, folds: list[Splits]) -> dict:
    """The conditions of scores, except the seed, in plain values."""
    return {
        "task": task.recipe.task,
        "kind": task.recipe.kind,
        "recipe": task.recipe.as_dict(),
        **learner.conditions,
        "data_sha256": [{name: part.sha256 for name, part in splits.items()} for splits in folds],
        "versions": versions(),
    }
