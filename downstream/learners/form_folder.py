"""The folder of a fine-tuned model. A stronger form has its encoder as transformers saves it, and a file of its own."""

from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from alibert_common.errors import InputError, first_sentence
from downstream.training import models
from downstream.training.heads import Head


def save_form(
    network: nn.Module, source: Path, target: Path, notes: dict, weights: str, more: dict[str, Tensor] | None = None
) -> None:
    """Write the network, whose `encoder` has weights of transformers, whole or not at all. weights: name of the file of
    the others, and of `more`. source: the folder whose tokenizer is copied."""
    own = {name: weight for name, weight in network.state_dict().items() if not name.startswith("encoder.")}
    models.save_model(network.encoder, source, target, notes, {weights: own | (more or {})})


def load_form(folder: Path, weights: str, config, build: Callable[[nn.Module, dict[str, Tensor]], nn.Module]):
    """The network that `build` makes of the encoder and of the other weights, which it gets afterwards. Raises
    InputError for a damaged folder."""
    encoder, missing = models.load_weights(models.AutoModel, folder, config=config)
    file = folder / weights
    try:
        own = load_file(file)
        network = build(encoder, own)
        lacking = network.load_state_dict(own, strict=False).missing_keys
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise InputError(f"{file}: not usable ({first_sentence(error)}); copy the folder again.") from None
    models.refuse_no_numbers(own, file, "copy the folder again")
    _refuse_missing(folder, missing + [name for name in lacking if not name.startswith("encoder.")])
    return network


def load_plain(folder: Path, head: Head, config):
    """An encoder with a plain head that was trained. Raises InputError for a damaged folder."""
    model, missing = models.load_weights(head.auto, folder, config=config)
    _refuse_missing(folder, missing)
    return model


def _refuse_missing(folder: Path, missing: list[str]) -> None:
    if missing:
        raise InputError(f"{folder}: it lacks {len(missing)} weights (first: {missing[0]}); copy the folder again.")
