"""Local Hugging Face folders: tokenizer, encoder with a token-classification head, fingerprint. Never the network."""

import hashlib
import shutil
from pathlib import Path
from typing import NamedTuple

import torch
import transformers
from safetensors import SafetensorError
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer

from downstream.files import InputError, directory_written_whole, write_json

transformers.logging.set_verbosity_error()  # it warns of the new head, which is meant; load_model checks the rest
transformers.utils.logging.disable_progress_bar()

# Models of RoBERTa's family number positions from the padding id + 1, so that many rows fewer can be used.
ROBERTA_FAMILY = ("roberta", "camembert", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "xmod")
# What the configurations of BERT's, RoBERTa's, ELECTRA's and DistilBERT's families call their dropouts.
DROPOUTS = """
hidden_dropout_prob attention_probs_dropout_prob classifier_dropout dropout attention_dropout seq_classif_dropout
""".split()
# Copied as they are: what transformers 5 would write names a tokenizer class that 4.57 does not know.
TOKENIZER_FILES = """
tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json
vocab.txt vocab.json merges.txt sentencepiece.bpe.model spiece.model
""".split()
WEIGHTS = ("*.safetensors", "*.bin")


class Frame(NamedTuple):
    """What goes around a sequence, and how long it may be: ids before and after it, the padding id, tokens in all."""

    prefix: list[int]
    suffix: list[int]
    padding: int
    longest: int


def read_config(folder: Path, **changes):
    """The model's configuration. Raises InputError if the folder is not a Hugging Face model."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no config.json in it; give the folder of an exported Hugging Face model.")
    try:
        return AutoConfig.from_pretrained(folder, **changes)
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}/config.json: {first_line(error)}; export the folder again.") from None


def load_config(folder: Path, **changes):
    """The same of a pretrained model. Raises InputError for one that was fine-tuned already, too."""
    config = read_config(folder, **changes)
    if any(name.endswith("ForTokenClassification") for name in config.architectures or ()):
        raise InputError(f"{folder}: this model was fine-tuned already; give the folder of the pretrained encoder.")
    return config


def load_tokenizer(folder: Path):
    """The folder's fast tokenizer; only those have offsets into the raw text."""
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise InputError(f"{folder}: no tokenizer in it (tokenizer.json); export the folder again.")
    try:
        if (folder / "tokenizer.json").is_file():
            Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # it is all that tokenizers raises for a damaged file
        raise InputError(f"{folder}/tokenizer.json: not usable ({first_line(error)}); export it again.") from None
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if not tokenizer.is_fast:
        raise InputError(f"{folder}: its tokenizer is not a fast one, so it has no offsets; add a tokenizer.json.")
    return tokenizer


def frame_of(tokenizer, config) -> Frame:
    """The frame of single sequences; the limit is the lower one of the tokenizer's and the model's."""
    bare, framed = (tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
    before = next(start for start in range(len(framed)) if framed[start : start + len(bare)] == bare)
    positions = config.max_position_embeddings
    if config.model_type in ROBERTA_FAMILY:
        positions -= config.pad_token_id + 1
    longest = min(tokenizer.model_max_length, positions)
    return Frame(framed[:before], framed[before + len(bare) :], tokenizer.pad_token_id, longest)


def load_model(folder: Path, names: list[str], random_init: bool, dropout: float | None = None):
    """The encoder with a fresh token-classification head for the labels `names`, in the order of their ids.

    random_init keeps the architecture and draws every weight anew. Random draws come from torch's global generator.
    dropout: in place of the configuration's, which is 0 for an encoder that was pretrained without dropout.
    Raises InputError if a weight of the encoder is missing from the folder: it would be random without a word.
    """
    labels = {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}
    config = load_config(folder, **labels)
    for name in DROPOUTS if dropout is not None else ():
        if hasattr(config, name):
            setattr(config, name, dropout)
    if random_init:
        return AutoModelForTokenClassification.from_config(config).float()
    model, missing = load_weights(AutoModelForTokenClassification, folder, config=config)
    missing = [name for name in missing if not name.startswith("classifier.")]
    if missing:
        raise InputError(
            f"{folder}: it lacks {len(missing)} weights of the encoder (first: {missing[0]}), which would be random; "
            "export it again, or say --random-init."
        )
    return model


def load_weights(kind, folder: Path, **options) -> tuple:
    """The model of an auto class, and the sorted names of its weights that the folder lacks (drawn at random)."""
    if not any(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        raise InputError(f"{folder}: no weights in it (model.safetensors); export the folder again.")
    try:
        model, report = kind.from_pretrained(folder, output_loading_info=True, **options)
    except (RuntimeError, SafetensorError) as error:
        raise InputError(f"{folder}: no usable weights ({first_line(error)}); export the folder again.") from None
    # Version 5 keeps the precision a folder was saved in, 4 does not; a half-precision AdamW would lose small updates.
    return model.float(), sorted(report["missing_keys"])


def save_model(model, source: Path, target: Path, notes: dict) -> None:
    """Write model, the tokenizer files of `source` and notes (finetuning.json) to `target`, whole or not at all."""
    with directory_written_whole(target) as folder:
        try:
            model.save_pretrained(folder)
        except SafetensorError as error:
            raise InputError(f"{target}: {first_line(error)}; free some space and run the command again.") from None
        for name in TOKENIZER_FILES:
            if (source / name).is_file():
                shutil.copyfile(source / name, folder / name)
        write_json(folder / "finetuning.json", notes)


def fingerprint(folder: Path) -> str:
    """SHA-256 over the configuration, the tokenizer and the weights of a model folder."""
    digest = hashlib.sha256()
    patterns = ("config.json", "tokenizer.json", "tokenizer_config.json", *WEIGHTS)
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


def first_line(error: Exception) -> str:
    """The first line of an error's message, to quote inside one sentence."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
