"""The checkpoint of a training that has not begun: a published model's weights under our names.

fairseq-train starts from it with --finetune-from-model; hf.export and the hub interface read it like any other.
"""

from pathlib import Path

import torch
from fairseq import options as fairseq_options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import DictConfig, OmegaConf

import alibert_fairseq  # noqa: F401  registers the tasks and models that the options name
from alibert_common.errors import InputError
from alibert_fairseq.hf import names
from alibert_fairseq.hf.checkpoint import build_model
from alibert_fairseq.hf.families import ALBERT, BERT
from alibert_fairseq.hf.read_hf import Published
from alibert_fairseq.tasks.pretraining import digests

OBJECTIVES = {BERT: "nsp", ALBERT: "sop"}  # of what has a sentence head


def training_configuration(published: Published, options: list[str], data: Path, tokens_per_sample: int) -> DictConfig:
    """What fairseq-train makes of the options of a training that has every head; data: where the tokenizer will lie."""
    objective = OBJECTIVES.get(published.parts[0].part)
    pairs = ["--sentence-objective", objective] if objective else []
    task = "electra" if published.model_name == "electra" else "segment_pairs" if objective else "alibert_mlm"
    line = [str(data), "--task", task, *pairs, "--criterion", task, "--tokens-per-sample", str(tokens_per_sample)]
    line += options
    line += ["--tokenizer", "alibert_normalizer", "--bpe", "alibert_subwords"]
    parser = fairseq_options.get_training_parser()
    return convert_namespace_to_omegaconf(fairseq_options.parse_args_and_arch(parser, line))


def build(published: Published, cfg: DictConfig, dictionary) -> torch.nn.Module:
    """Our model with the published weights, in eval mode.

    Raises InputError for a size that cannot be, and for a weight without a counterpart on the other side.
    """
    try:
        with_head = published.parts[0].part in OBJECTIVES
        model = build_model(published.model_name, cfg.model, dictionary, with_head)
        fresh, converted = model.state_dict(), dict[str, torch.Tensor]()
        for one in published.parts:
            rows = one.part.rows(one.part.parameters(model))
            ours = {name: value for name, value in fresh.items() if name.startswith(f"{one.part.name}.")}
            converted |= names.from_hugging_face(rows, one.model.state_dict(), ours)
    except ValueError as error:  # NamesError is one
        raise InputError(f"{published.parts[0].folder}: cannot be continued: {error}.") from None
    model.load_state_dict(converted)
    return model.eval()


def write_checkpoint(model: torch.nn.Module, cfg: DictConfig, directory: Path, origin: str) -> None:
    """Write checkpoint.pt beside the tokenizer of `directory`, with the keys that fairseq asks of one.

    origin: the name of the published folder, for the model card.
    """
    history = {"criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}, "num_updates": 0}
    state = {
        "args": None,
        "cfg": OmegaConf.to_container(cfg, resolve=True, enum_to_str=True),
        "model": model.state_dict(),
        "criterion": None,
        "optimizer_history": [history],
        "task_state": {"tokenizer": digests(str(directory))},
        "extra_state": {
            "train_iterator": {"version": 2, "epoch": 1, "iterations_in_epoch": 0},
            "converted_from": origin,
        },
        "last_optimizer_state": None,
    }
    try:
        torch.save(state, directory / "checkpoint.pt")
    except RuntimeError as error:  # torch's writer names no system error, a full disk's neither
        reason = str(error).splitlines()[0]
        raise InputError(f"checkpoint.pt: not written ({reason}); free some space and run the command again.") from None
