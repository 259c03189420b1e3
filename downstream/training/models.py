"""Local Hugging Face folders: configuration, encoder with the head of a task, fingerprint. Never the network."""

import hashlib
import shutil
from pathlib import Path

import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModel

from alibert_common.directories import directory_written_whole
from alibert_common.errors import InputError, first_sentence
from alibert_common.files import read_json, write_json
from downstream.training.heads import Head
from downstream.training.model_folder import refuse_no_model
from downstream.training.tokenizer import TOKENIZER_FILES, form_pairs

transformers.logging.set_verbosity_error()  # it warns of the new head, which is meant; load_model checks the rest
transformers.utils.logging.disable_progress_bar()

SIZES = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size")
# What the configurations of BERT's, RoBERTa's, ELECTRA's, DistilBERT's and ModernBERT's families call their dropouts.
DROPOUTS = """
hidden_dropout_prob attention_probs_dropout_prob classifier_dropout dropout attention_dropout seq_classif_dropout
embedding_dropout mlp_dropout
""".split()
OLDER_NAMES = ("global_rope_theta", "local_rope_theta", "global_attn_every_n_layers")  # of a ModernBERT
WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")  # not training_args.bin, nor an adapter's
# Beside the encoder's, by the form (learners/registry.py).
FORM_WEIGHTS = {"tagger": "tagger.safetensors", "label-attention": "label_attention.safetensors"}
FINE_TUNED = ("ForTokenClassification", "ForSequenceClassification", "ForQuestionAnswering", "ForMultipleChoice")


def read_config(folder: Path, **changes):
    """The model's configuration. Raises InputError if the folder is not a Hugging Face model, or if the model's
    positions have no number, as XLNet's and T5's: texts are cut into windows that fit."""
    refuse_no_model(folder)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, **changes)
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}/config.json: {first_sentence(error)}; export the folder again.") from None
    for name in SIZES:
        size = getattr(config, name, 1)
        if isinstance(size, int) and size < 1:
            raise InputError(f"{folder}/config.json: {name} is {size}, it starts at 1; export the folder again.")
    if (getattr(config, "max_position_embeddings", None) or 0) < 1:
        raise InputError(
            f"{folder}/config.json: {config.model_type} has no largest number of positions (max_position_embeddings); "
            "give an encoder that has one, as BERT's and RoBERTa's families."
        )
    return config


def load_config(folder: Path, **changes):
    """The same of a pretrained model. Raises InputError for one that was fine-tuned already, too."""
    config = read_config(folder, **changes)
    formed = any((folder / name).is_file() for name in FORM_WEIGHTS.values())
    if formed or any(name.endswith(FINE_TUNED) for name in config.architectures or ()):
        raise InputError(f"{folder}: this model was fine-tuned already; give the folder of the pretrained encoder.")
    return config


def load_model(folder: Path, head: Head, random_init: bool, dropout: float | None = None):
    """The encoder with a fresh head.

    random_init keeps the architecture and draws every weight anew. Random draws come from torch's global generator.
    dropout: in place of the configuration's, which is 0 for an encoder that was pretrained without dropout.
    Raises InputError if a weight of the encoder is missing from the folder: it would be random without a word.
    """
    return _loaded(head.auto, folder, load_config(folder, **_labels(head)), random_init, dropout)


def load_encoder(folder: Path, random_init: bool, dropout: float | None = None):
    """The same of the encoder alone."""
    return _loaded(AutoModel, folder, load_config(folder), random_init, dropout)


def _loaded(kind, folder: Path, config, random_init: bool, dropout: float | None):
    for name in DROPOUTS if dropout is not None else ():
        if hasattr(config, name):
            setattr(config, name, dropout)
    if random_init:
        return kind.from_config(config, trust_remote_code=False).float()
    model, missing = load_weights(kind, folder, config=config)
    missing = [name for name in missing if kind is AutoModel or is_encoders(name, model)]
    missing = [name for name in missing if not name.startswith("pooler.")]
    if missing:
        raise InputError(
            f"{folder}: it lacks {len(missing)} weights of the encoder (first: {missing[0]}), which would be random; "
            "export it again, or say --random-init."
        )
    return model


def is_encoders(name: str, model) -> bool:
    """Whether this weight of a model with a head is the encoder's. A pooler is not: it is the first layer of a head,
    and the folders of models that were pretrained without one lack it."""
    return name.startswith(f"{model.base_model_prefix}.") and ".pooler." not in name


def _labels(head: Head) -> dict:
    """The keys of a configuration that are of the head."""
    numbers = {name: number for number, name in enumerate(head.names)}
    found = {"id2label": dict(enumerate(head.names)), "label2id": numbers, "problem_type": head.problem}
    return {key: value for key, value in found.items() if value}


def load_weights(kind, folder: Path, **options) -> tuple:
    """The model of an auto class, and the sorted names of its weights that the folder lacks (drawn at random).

    Of a pytorch_model.bin transformers unpickles tensors alone, and refuses whatever else is in it.
    """
    if not any(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        raise InputError(f"{folder}: no weights in it (model.safetensors); export the folder again.")
    try:
        model, report = kind.from_pretrained(folder, output_loading_info=True, trust_remote_code=False, **options)
    except Exception as error:  # there is no end to what a damaged .bin raises
        raise InputError(f"{folder}: no usable weights ({first_sentence(error)}); export the folder again.") from None
    refuse_no_numbers(model.state_dict(), folder, "export another checkpoint")
    # Version 5 keeps the precision a folder was saved in, 4 does not; a half-precision AdamW would lose small updates.
    return model.float(), sorted(report["missing_keys"])


def refuse_no_numbers(weights: dict[str, torch.Tensor], place: Path, remedy: str) -> None:
    """Raise InputError for weights that are no finite numbers."""
    broken = next((name for name, weight in weights.items() if not weight.isfinite().all()), None)
    if broken:
        raise InputError(f"{place}: its weights are no finite numbers (first: {broken}); {remedy}.")


def save_model(model, source: Path, target: Path, notes: dict, others: dict | None = None) -> None:
    """Write model, the tokenizer files of `source` and notes (finetuning.json) to `target`, whole or not at all.

    others: the weights that are not of a model of transformers, by file.

    A tokenizer without a form for pairs gets the one of `frame_of`, or pipelines would show the model other pairs.
    """
    with directory_written_whole(target, shared=True) as folder:
        try:
            model.save_pretrained(folder)
            for name, weights in (others or {}).items():
                save_file(weights, folder / name)
        except SafetensorError as error:
            raise InputError(f"{target}: {first_sentence(error)}; free some space and run the command again.") from None
        for name in TOKENIZER_FILES:
            if (source / name).is_file():
                shutil.copyfile(source / name, folder / name)
        _keep_older_names(source / "config.json", folder / "config.json")
        form_pairs(folder / "tokenizer.json", model.config)
        write_json(folder / "finetuning.json", notes)


def _keep_older_names(source: Path, target: Path) -> None:
    """The settings of ModernBERT that transformers 5 writes under new names only: version 4 would take its defaults."""
    before, after = (read_json(file) if file.is_file() else {} for file in (source, target))
    if lost := {name: before[name] for name in OLDER_NAMES if name in before and name not in after}:
        write_json(target, after | lost)


def fingerprint(folder: Path) -> str:
    """SHA-256 over the configuration, the tokenizer and the weights of a model folder."""
    digest = hashlib.sha256()
    patterns = ("config.json", *TOKENIZER_FILES, *WEIGHTS)
    for file in sorted({file for pattern in patterns for file in folder.glob(pattern)}):
        digest.update(file.name.encode())
        with open(file, "rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def device_of(name: str) -> torch.device:
    """`auto` is the GPU if there is one. Raises InputError for a GPU that is not there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch sees no GPU on this machine; use --device cpu.")
    return torch.device(name)
