"""The checkpoint of a training that has not begun: a published model's options, and its weights under our names.

fairseq-train starts from it with --finetune-from-model; hf.export and the hub interface read it like any other.
"""

from pathlib import Path

import torch
from fairseq import options as fairseq_options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import DictConfig, OmegaConf

from alibert_common.errors import InputError, reason
from alibert_fairseq.hf.checkpoint import build_model
from alibert_fairseq.hf.families.rows import from_hugging_face
from alibert_fairseq.hf.families.table import ALBERT, BERT
from alibert_fairseq.hf.published.model import Published
from alibert_fairseq.layers.rotary import LEAST
from alibert_fairseq.tasks.tokenizer_identity import digests

OBJECTIVES = {BERT: "nsp", ALBERT: "sop"}  # of what has a sentence head
OPTIONS = {  # of a model, by the fields of its size
    "layers": "--encoder-layers", "width": "--encoder-embed-dim", "ffn_width": "--encoder-ffn-embed-dim",
    "heads": "--encoder-attention-heads", "embedding_dim": "--embedding-dim", "max_positions": "--max-positions",
    "segments": "--segments", "layer_groups": "--layer-groups", "activation": "--activation-fn",
    "layer_norm_eps": "--layer-norm-eps", "dropout": "--dropout", "attention_dropout": "--attention-dropout",
}  # fmt: skip
OF_RELATIVE = {
    "buckets": "--position-buckets", "longest": "--max-relative-positions", "convolution": "--convolution-width",
    "convolution_groups": "--convolution-groups", "convolution_activation": "--convolution-activation",
}  # fmt: skip
FLAGS = {  # which are given where a field has this value
    "shared": ("--own-position-projections", False), "normalised": ("--plain-relative-embeddings", False),
    "absolute": ("--absolute-positions", True),
}  # fmt: skip
GENERATOR_FIELDS = ("layers", "width", "ffn_width", "heads")


def model_options(published: Published) -> list[str]:
    """--arch and every number of the model, so that the arch itself decides nothing but the kind."""
    first, *generators = published.parts
    size = first.size()
    options = ["--arch", f"{published.model_name}_base"]
    flags = [] if all(part.size()["tied"] for part in published.parts) else ["--untied-output-words"]
    values = {name: size[field] for field, name in OPTIONS.items() if field in size}
    if rotary := size["rotary"]:
        values |= {f"--{option}": getattr(rotary, field) for field, _, option in LEAST}
        values |= {"--activation-dropout": size["activation_dropout"], "--classifier-pooling": size["pooling"]}
        del values["--segments"]
    if relative := size["relative"]:
        values |= {name: getattr(relative, field) for field, name in OF_RELATIVE.items()}
        values["--position-attention"] = "|".join(relative.kinds)
        flags += [name for field, (name, value) in FLAGS.items() if getattr(relative, field) is value]
    options += [word for name, value in values.items() if value is not None for word in (name, str(value))]
    options += flags
    for generator in generators:
        size, theirs, ours = generator.size(), generator.embeddings(), first.embeddings()
        for field in GENERATOR_FIELDS:
            options += [OPTIONS[field].replace("--encoder", "--generator"), str(size[field])]
        if theirs.keys() == ours.keys() and all(torch.equal(theirs[name], ours[name]) for name in ours):
            options += ["--embedding-sharing", "all"]
        else:
            options += ["--embedding-sharing", "none", "--generator-embedding-dim", str(size["embedding_dim"])]
    return options


def training_configuration(published: Published, options: list[str], data: Path, tokens_per_sample: int) -> DictConfig:
    """What fairseq-train makes of the options of a training that has every head; data: where the tokenizer will lie."""
    objective = OBJECTIVES.get(published.parts[0].part)
    pairs = ["--sentence-objective", objective] if objective else []
    task = "electra" if len(published.parts) > 1 else "segment_pairs" if objective else "alibert_mlm"
    line = [str(data), "--task", task, *pairs, "--criterion", task, "--tokens-per-sample", str(tokens_per_sample)]
    line += [*options, "--tokenizer", "alibert_normalizer", "--bpe", "alibert_subwords"]
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
        for part, _, theirs, *_ in published.parts:
            ours = {name: value for name, value in fresh.items() if name.startswith(f"{part.name}.")}
            converted |= from_hugging_face(part.rows(part.parameters(model)), theirs.state_dict(), ours)
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
        why = f"checkpoint.pt: not written ({reason(error)})"
        raise InputError(f"{why}; free some space and run the command again.") from None
