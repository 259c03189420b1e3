"""Reading a published Hugging Face folder: which of our models it is, its weights, and what is left out of them."""

import re
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from alibert_common.errors import InputError, reason
from alibert_fairseq.hf.families import names
from alibert_fairseq.hf.families.part import Part
from alibert_fairseq.hf.families.table import CLASSES, DETECTORS, GENERATORS
from alibert_fairseq.hf.options import SUPPORTED
from alibert_fairseq.hf.published.configuration import read_configuration
from alibert_fairseq.hf.published.weights import check_files, stored_names, stored_rows, stored_tensors
from alibert_fairseq.models.size import EncoderSize

FAMILIES = {  # Hugging Face's type -> our model
    "roberta": "alibert", "camembert": "alibert", "xlm-roberta": "alibert", "bert": "segment_bert",
    "albert": "albert", "electra": "electra", "modernbert": "alibert_modern", "deberta-v2": "alibert_deberta",
}  # fmt: skip
WITH_GENERATOR = {"alibert_deberta": "electra_deberta"}  # what else a folder becomes if there is a generator
GENERATOR = "generator"  # the folder of one, in its discriminator's
SEED = 1  # of a new head's weights
OF_FINE_TUNING = (
    "classifier_dropout",
    "classifier_dropout_prob",
    "cls_dropout",
    "pooler_dropout",
    "pooler_hidden_act",
    "summary_type",
    "summary_last_dropout",
)  # ours have defaults


class PublishedPart(NamedTuple):
    """One folder's model, in eval mode and float32."""

    part: Part
    folder: Path
    model: PreTrainedModel
    left_out: list[str]  # weights that neither the class nor our model has, settings that ours do not keep
    new: list[str]  # names of the head's weights that the folder lacks, and that are random

    def size(self) -> dict:
        """The fields of EncoderSize. One row of token types, all zero, is none (RoBERTa's)."""
        weights = self.model.state_dict()
        tables = [weights[name] for name in self.part.names_of(names.WORD_TABLES)]
        fields = self.part.size(self.model.config)
        fields["tied"] = all(torch.equal(table, tables[0]) for table in tables)
        types = self.embeddings().get("token_type_embeddings.weight")
        if types is None:
            return fields
        return fields | {"segments": 0} if len(types) == 1 and not types.any() else fields

    def embeddings(self) -> dict[str, Tensor]:
        """The embedding layer: words, positions, token types, LayerNorm."""
        return self.model.base_model.embeddings.state_dict()


class Published(NamedTuple):
    """What a folder becomes: one part, or a discriminator (ELECTRA's, DeBERTa's) and its generator."""

    model_name: str  # of ours
    parts: list[PublishedPart]


def read_published(folder: Path, generator: Path | None = None, new_head: bool = False) -> Published:
    """Read a folder, and of a discriminator its generator's: `generator`, or the folder of that name inside.

    new_head: where a folder lacks the head of its pretraining, as camembertav2-base, take one with random weights.
    Raises InputError for what cannot be continued: another architecture, a missing head, other shapes, ...
    """
    kind = _kind(folder)
    if kind not in FAMILIES:
        raise InputError(f"{folder}: a model of the type {kind!r}; only {SUPPORTED} can be continued.")
    model_name = FAMILIES[kind]
    if generator or (folder / GENERATOR / "config.json").is_file():
        model_name = WITH_GENERATOR.get(model_name, model_name)
    if model_name in DETECTORS:
        place = _generator_folder(folder, generator, kind)
        first = _read_part(folder, DETECTORS[model_name][:1], new_head)
        return Published(model_name, [first, _read_generator(place, first, GENERATORS[model_name])])
    if generator:
        raise InputError(
            f"--generator {generator}: only ELECTRA and DeBERTa have a generator, and {folder} is {kind}; leave it out."
        )
    return Published(model_name, [_read_part(folder, CLASSES[model_name], new_head)])


def _kind(folder: Path) -> str:
    file = folder / "config.json"
    if not file.is_file():
        raise InputError(f"{file}: no such file; give the folder of a Hugging Face model.")
    config = read_configuration(file, "model")
    if other_file := config.get("transformers_weights"):
        raise InputError(
            f"{file}: its weights are in {other_file} (transformers_weights); remove that line from a copy, and name "
            "the file model.safetensors there."
        )
    return str(config.get("model_type", "unknown"))


def _generator_folder(folder: Path, given: Path | None, kind: str) -> Path:
    place = given or folder / GENERATOR
    if not (place / "config.json").is_file():
        raise InputError(
            f"{place}: no config.json there, and replaced token detection needs a generator that fits its "
            "discriminator (a new one would replace words by noise); give the published one with --generator."
        )
    if (other := _kind(place)) != kind:
        raise InputError(f"{place}: a model of the type {other!r}, no generator for {kind}; give the published one.")
    return place


def _read_generator(place: Path, discriminator: PublishedPart, candidates: tuple[Part, ...]) -> PublishedPart:
    generator = _read_part(place, candidates)
    own = ("layers", "width", "ffn_width", "heads", "embedding_dim", "tied")  # what a generator may have otherwise
    sizes = [{k: v for k, v in one.size().items() if k not in own} for one in (discriminator, generator)]
    if different := [name for name in sizes[0] if sizes[0][name] != sizes[1][name]]:
        values = " and ".join(str(size[different[0]]) for size in sizes)
        raise InputError(
            f"{place}: its {different[0]} differs from the discriminator's ({values}); give its generator."
        )
    return generator


def _read_part(folder: Path, candidates: tuple[Part, ...], new_head: bool | None = None) -> PublishedPart:
    """new_head: whether a missing head is taken with random weights; None: that is not offered either."""
    check_files(folder)
    for part in candidates:
        _check_size(folder, part)
        model, left_out, missing = _read_model(folder, part)
        _refuse_untied(folder, part, model)
        missing, unused = _choose_bias(folder, part, model, missing)
        left_out = sorted([*left_out, *unused])
        if not missing:
            return PublishedPart(part, folder, model, left_out, [])
    body = any(name.startswith(f"{model.base_model_prefix}.") for name in missing)
    if new_head and not body:
        return PublishedPart(part, folder, model, left_out, missing)
    remedy = "give a model published with the head of its pretraining"
    if body:
        remedy = "copy config.json and the weights again from one published folder, or give another model"
    elif new_head is not None:
        remedy += ", or --new-head, whose head begins with random weights"
    names = f"{', '.join(missing[:2])}{' and more' if missing[2:] else ''}"
    raise InputError(f"{folder}: no whole {part.cls}: {names} missing; {remedy}.")


def _check_size(folder: Path, part: Part) -> None:
    try:
        config_class = part.hugging_face_class.config_class
        config = config_class.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        EncoderSize(**part.size(config))
        words = part.names_of(names.WORDS)
        for name, rows in stored_rows(folder, words).items():
            if rows != config.vocab_size:
                raise ValueError(
                    f"{name} has {rows} rows and config.json {config.vocab_size} words; give the config.json that was "
                    "published with the weights"
                )
    except ValueError as error:  # ours, and what the library refuses
        raise InputError(f"{folder}: cannot be continued: {' '.join(str(error).split())}.") from None
    except Exception as error:  # a value of another type, or 0
        raise InputError(
            f"{folder / 'config.json'}: a value cannot be read ({reason(error)}); copy the published file again."
        ) from None


def _read_model(folder: Path, part: Part) -> tuple[PreTrainedModel, list[str], list[str]]:
    """The model, the names of what it does not use of the file, and of what the file does not have."""
    cls = part.hugging_face_class
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            model, loaded = cls.from_pretrained(
                folder, output_loading_info=True, dtype=torch.float32, local_files_only=True, trust_remote_code=False,
                ignore_mismatched_sizes=True, attn_implementation="sdpa" if cls._supports_sdpa else "eager",
                chunk_size_feed_forward=0, output_attentions=False, **part.settings,
            )  # fmt: skip
    except Exception as error:  # many kinds: no file, a damaged one, one that would run code, other sizes
        raise InputError(
            f"{folder}: its weights cannot be read as a {part.cls} ({reason(error)}); copy the published files again."
        ) from None
    held, patterns = model.state_dict(), model._keys_to_ignore_on_load_unexpected or []
    # transformers 4 gives names, 5 names with shapes
    if mismatched := sorted(key if isinstance(key, str) else key[0] for key in loaded["mismatched_keys"]):
        raise InputError(
            f"{folder}: {mismatched[0]} has not the shape {tuple(held[mismatched[0]].shape)} of config.json; give the "
            "config.json that was published with the weights."
        )
    if bad := sorted(name for name, value in held.items() if not value.isfinite().all()):
        raise InputError(f"{folder}: {bad[0]} holds NaN or infinity; copy the published weights again.")
    silent = [name for name in stored_names(folder) if any(re.search(pattern, name) for pattern in patterns)]
    left_out = {*loaded["unexpected_keys"], *(name for name in silent if name not in held)}
    default = type(model.config)()
    for name in OF_FINE_TUNING:
        if (value := getattr(model.config, name, None)) != getattr(default, name, None):
            left_out.add(f"{name} {value} of config.json")
    return model.eval(), sorted(left_out), sorted(loaded["missing_keys"])


def _refuse_untied(folder: Path, part: Part, model: PreTrainedModel) -> None:
    """Refuse two tables where the configuration says one. The files decide: transformers 4 has tied the model's."""
    if not model.config.tie_word_embeddings:
        return
    table = model.get_input_embeddings().weight
    for stored in stored_tensors(folder, part.names_of(names.WORD_TABLES)).values():
        if not torch.equal(stored.float(), table):
            raise InputError(
                f"{folder}: its tables of input and output words differ, and its config.json says they are one; if "
                'they are two, write "tie_word_embeddings": false into a copy of config.json.'
            )


def _choose_bias(folder: Path, part: Part, model: PreTrainedModel, missing: list[str]) -> tuple[list[str], list[str]]:
    """Give the model the one bias of its output words, where a file may have two names for it.

    What is missing then, and which name is unused. With tied tables both names are one tensor. With two tables,
    transformers 5 computes with `decoder.bias` alone. A bias of zeros beside another one was never trained.
    """
    both = part.names_of(names.WORD_BIAS)
    stored = {name: value.float() for name, value in stored_tensors(folder, both).items()}
    if len(both) < 2 or not stored:
        return missing, []
    trained = [name for name in both if name in stored and stored[name].any()] or [*stored]
    name = trained[-1]  # decoder.bias, if it is there
    unused = [one for one in stored if not torch.equal(stored[one], stored[name])]
    if len(trained) == 2 and unused and model.config.tie_word_embeddings:
        raise InputError(
            f"{folder}: {unused[0]} and {name} differ, and its config.json says they are one; write the right one "
            "under both names in a copy of the weights."
        )
    model.load_state_dict({one: stored[name] for one in both if one in model.state_dict()}, strict=False)
    return [one for one in missing if one not in both], unused
