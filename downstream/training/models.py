"""Local Hugging Face folders: tokenizer, encoder with the head of a task, fingerprint. Never the network."""

import hashlib
import shutil
from pathlib import Path
from typing import NamedTuple

import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel, AutoTokenizer

from alibert_common.directories import directory_written_whole
from alibert_common.errors import InputError
from alibert_common.files import read_json, write_json
from downstream.training.heads import Head
from downstream.training.model_folder import refuse_no_model

transformers.logging.set_verbosity_error()  # it warns of the new head, which is meant; load_model checks the rest
transformers.utils.logging.disable_progress_bar()

SIZES = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size")
# What the configurations of BERT's, RoBERTa's, ELECTRA's, DistilBERT's and ModernBERT's families call their dropouts.
DROPOUTS = """
hidden_dropout_prob attention_probs_dropout_prob classifier_dropout dropout attention_dropout seq_classif_dropout
embedding_dropout mlp_dropout
""".split()
OLDER_NAMES = ("global_rope_theta", "local_rope_theta", "global_attn_every_n_layers")  # of a ModernBERT
# Copied as they are: what transformers 5 would write names a tokenizer class that 4.57 does not know.
TOKENIZER_FILES = """
tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json
vocab.txt vocab.json merges.txt sentencepiece.bpe.model sentencepiece.model spiece.model spm.model
""".split()
ADD_TOKENIZER = "add the tokenizer.json that belongs to the model"
WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")  # not training_args.bin, nor an adapter's
# Beside the encoder's, by the form (learners/registry.py).
FORM_WEIGHTS = {"tagger": "tagger.safetensors", "label-attention": "label_attention.safetensors"}
FINE_TUNED = ("ForTokenClassification", "ForSequenceClassification", "ForQuestionAnswering", "ForMultipleChoice")


class Frame(NamedTuple):
    """What the tokenizer puts around a sequence: ids before and after it; the padding id; the most tokens in all.

    Of a pair: ids before, between and after the two, and whether the second has a token type of its own.
    """

    prefix: list[int]
    suffix: list[int]
    padding: int
    longest: int
    pair: tuple[list[int], list[int], list[int]]
    types: bool

    def around(self, first: list[int], second: list[int] | None = None) -> tuple[list[int], list[int] | None]:
        """(ids, token types or None) of a sequence, or of a pair."""
        if second is None:
            return [*self.prefix, *first, *self.suffix], None
        before, between, after = self.pair
        begin, rest = [*before, *first, *between], [*second, *after]
        return begin + rest, [0] * len(begin) + [1] * len(rest) if self.types else None

    def room(self, longest: int, pair: bool = False) -> int:
        """Tokens of text in a sequence of at most so many in all."""
        specials = sum(map(len, self.pair)) if pair else len(self.prefix) + len(self.suffix)
        return min(longest, self.longest) - specials


def read_config(folder: Path, **changes):
    """The model's configuration. Raises InputError if the folder is not a Hugging Face model, or if the model's
    positions have no number, as XLNet's and T5's: texts are cut into windows that fit."""
    refuse_no_model(folder)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, **changes)
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}/config.json: {first_line(error)}; export the folder again.") from None
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


def load_tokenizer(folder: Path):
    """The folder's fast tokenizer; only those have offsets into the raw text. Raises InputError for another, for one
    that cannot be loaded or knows no pieces of text, and for one without a padding token."""
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise InputError(f"{folder}: no tokenizer in it (tokenizer.json); {ADD_TOKENIZER}.")
    try:
        if (folder / "tokenizer.json").is_file():
            Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # it is all that tokenizers raises for a damaged file
        raise InputError(f"{folder}/tokenizer.json: not usable ({first_line(error)}); {ADD_TOKENIZER}.") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # ValueError, TypeError, OSError, ImportError: each class of transformers has its own
        raise InputError(f"{folder}: its tokenizer cannot be loaded ({first_line(error)}); {ADD_TOKENIZER}.") from None
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):  # what transformers makes of files that it does not find
        raise InputError(f"{folder}: its tokenizer knows no pieces of text; {ADD_TOKENIZER}.")
    if not tokenizer.is_fast:
        raise InputError(f"{folder}: its tokenizer is not a fast one, so it has no offsets; add a tokenizer.json.")
    if tokenizer.pad_token_id is None:
        raise InputError(f"{folder}: its tokenizer has no padding token; name its pad_token in tokenizer_config.json.")
    return tokenizer


def pieces_by_place(tokenizer) -> tuple[dict[str, int], dict[str, int]]:
    """The vocabulary without special tokens: pieces that begin a word, and those that continue one."""
    vocabulary = tokenizer.get_vocab()
    # SentencePiece marks the beginning of a word, byte-level BPE its space; WordPiece marks what continues one.
    marks = [mark for mark in ("▁", "Ġ") if sum(piece.startswith(mark) for piece in vocabulary) > 1]
    specials = set(tokenizer.all_special_ids)
    first: dict[str, int] = {}
    later: dict[str, int] = {}
    for piece, number in vocabulary.items():
        if number not in specials:
            begins = piece.startswith(marks[0]) if marks else not piece.startswith("##")
            (first if begins else later)[piece] = number
    return first, later


def frame_of(tokenizer, config) -> Frame:
    """The frame of sequences and pairs; the limit is the lower one of the tokenizer's and the model's.

    A tokenizer that has special tokens for a sequence and none for a pair gets `<s> A </s> B </s>`, as BERT's.
    """
    bare, framed = (tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
    before, after = _around(bare, framed)
    pair = tokenizer("a", "a", return_token_type_ids=True)  # whether they are given unasked depends on the version
    first, rest = _around(bare, pair["input_ids"])
    between, last = _around(bare, rest)
    types = 1 in pair["token_type_ids"] and _knows_types(config)
    if not first + between + last:
        first, between, last = before, after, after
    longest = min(tokenizer.model_max_length, _positions(config))
    return Frame(before, after, tokenizer.pad_token_id, longest, (first, between, last), types)


def _positions(config) -> int:
    """How many tokens the model can number. RoBERTa and what was made after it number them from the padding id + 1,
    which is where their embeddings of positions know that id."""
    with torch.device("meta"):  # the layers without their weights
        layers = AutoModel.from_config(config, trust_remote_code=False).named_modules()
    padding = next((layer.padding_idx for name, layer in layers if name.endswith("position_embeddings")), None)
    return config.max_position_embeddings - (0 if padding is None else padding + 1)


def _around(part: list[int], whole: list[int]) -> tuple[list[int], list[int]]:
    """The ids before and after the first `part` in `whole`."""
    place = next(start for start in range(len(whole)) if whole[start : start + len(part)] == part)
    return whole[:place], whole[place + len(part) :]


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
        raise InputError(f"{folder}: no usable weights ({first_line(error)}); export the folder again.") from None
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
            raise InputError(f"{target}: {first_line(error)}; free some space and run the command again.") from None
        for name in TOKENIZER_FILES:
            if (source / name).is_file():
                shutil.copyfile(source / name, folder / name)
        _keep_older_names(source / "config.json", folder / "config.json")
        _form_pairs(folder / "tokenizer.json", model.config)
        write_json(folder / "finetuning.json", notes)


def _keep_older_names(source: Path, target: Path) -> None:
    """The settings of ModernBERT that transformers 5 writes under new names only: version 4 would take its defaults."""
    before, after = (read_json(file) if file.is_file() else {} for file in (source, target))
    if lost := {name: before[name] for name in OLDER_NAMES if name in before and name not in after}:
        write_json(target, after | lost)


def _form_pairs(file: Path, config) -> None:
    """The form of frame_of in place of two bare sequences; other forms stay."""
    content = read_json(file) if file.is_file() else {}
    processor = content.get("post_processor") or {}
    for step in processor.get("processors", [processor]):
        if step.get("type") != "TemplateProcessing" or any("SpecialToken" in part for part in step["pair"]):
            continue
        kind = step["pair"][-1]["Sequence"]["type_id"] if _knows_types(config) else 0
        place = next(place for place, part in enumerate(step["single"]) if "Sequence" in part)
        after = [{"SpecialToken": part["SpecialToken"] | {"type_id": kind}} for part in step["single"][place + 1 :]]
        step["pair"] = [*step["single"], {"Sequence": {"id": "B", "type_id": kind}}, *after]
        write_json(file, content)


def _knows_types(config) -> bool:
    """Whether the model tells the second of a pair by a token type."""
    return getattr(config, "type_vocab_size", 1) > 1


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


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its first sentence, to quote inside one sentence."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].split(". ")[0].rstrip(".")
