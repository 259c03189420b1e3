"""The one table between our parameter names and Hugging Face's, read in both directions.

Every parameter of both sides must be named here: a key that no row consumes stops the conversion.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

# The endings of our names of what has a row a word: the tables, which are one, and the output's bias.
WORD_TABLES = ("embed_tokens.weight", "lm_head.weight")
WORDS = (*WORD_TABLES, "lm_head.bias")


class NamesError(ValueError):
    """A parameter has no counterpart, or its shape differs."""


@dataclass(frozen=True)
class Row:
    """One pair of names. `ours` is None where Hugging Face has a parameter this model does not: there it is zero.

    skipped: rows at the top of our table that theirs lacks, and that no token reads: fairseq counts positions from
    padding_id + 1, as RobertaForMaskedLM does; the others count from 0. Coming from theirs they are zero.
    """

    ours: str | None
    theirs: str
    skipped: int = 0


@dataclass(frozen=True)
class Parameters:
    """What of an encoder decides which parameters it has."""

    layers: int  # with weights of their own
    projected: bool  # embeddings narrower than the layers
    segments: bool
    padding_id: int
    sentence_head: bool = False


_LAYER = (
    ("self_attn.q_proj", "attention.self.query"),
    ("self_attn.k_proj", "attention.self.key"),
    ("self_attn.v_proj", "attention.self.value"),
    ("self_attn.out_proj", "attention.output.dense"),
    ("self_attn_layer_norm", "attention.output.LayerNorm"),
    ("fc1", "intermediate.dense"),
    ("fc2", "output.dense"),
    ("final_layer_norm", "output.LayerNorm"),
)
_ALBERT_LAYER = (
    ("self_attn.q_proj", "attention.query"),
    ("self_attn.k_proj", "attention.key"),
    ("self_attn.v_proj", "attention.value"),
    ("self_attn.out_proj", "attention.dense"),
    ("self_attn_layer_norm", "attention.LayerNorm"),
    ("fc1", "ffn"),
    ("fc2", "ffn_output"),
    ("final_layer_norm", "full_layer_layer_norm"),
)


def _both(ours: str, theirs: str) -> list[Row]:
    return [Row(f"{ours}.{part}", f"{theirs}.{part}") for part in ("weight", "bias")]


def _embeddings(ours: str, theirs: str, has: Parameters, project: str, skips: bool) -> list[Row]:
    segments = f"{ours}.embed_segments.weight" if has.segments else None
    rows = [
        Row(f"{ours}.embed_tokens.weight", f"{theirs}.embeddings.word_embeddings.weight"),
        Row(
            f"{ours}.embed_positions.weight", f"{theirs}.embeddings.position_embeddings.weight",
            skipped=has.padding_id + 1 if skips else 0,
        ),
        Row(segments, f"{theirs}.embeddings.token_type_embeddings.weight"),
        *_both(f"{ours}.layernorm_embedding", f"{theirs}.embeddings.LayerNorm"),
    ]  # fmt: skip
    return rows + (_both(f"{ours}.embed_project", f"{theirs}.{project}") if has.projected else [])


def _encoder(ours: str, theirs: str, has: Parameters, skips: bool = True) -> list[Row]:
    ours = f"{ours}.sentence_encoder"
    rows = _embeddings(ours, theirs, has, "embeddings_project", skips)
    for n in range(has.layers):
        for mine, other in _LAYER:
            rows += _both(f"{ours}.layers.{n}.{mine}", f"{theirs}.encoder.layer.{n}.{other}")
    return rows


def _albert_encoder(has: Parameters) -> list[Row]:
    ours = "encoder.sentence_encoder"
    rows = _embeddings(ours, "albert", has, "encoder.embedding_hidden_mapping_in", skips=True)
    for n in range(has.layers):
        group = f"albert.encoder.albert_layer_groups.{n}.albert_layers.0"
        for mine, other in _ALBERT_LAYER:
            rows += _both(f"{ours}.layers.{n}.{mine}", f"{group}.{other}")
    return rows


def _head(ours: str, dense: str, norm: str, table: str, *biases: str) -> list[Row]:
    """A masked language model's head. Hugging Face lists its bias under two names where `biases` has two."""
    return [
        *_both(f"{ours}.dense", dense),
        *_both(f"{ours}.layer_norm", norm),
        Row(f"{ours}.weight", table),
        *(Row(f"{ours}.bias", bias) for bias in biases),
    ]


def _sentence_head(has: Parameters, pooler: str, classifier: str) -> list[Row]:
    ours = "encoder.sentence_head"
    return [*_both(f"{ours}.pooler", pooler), *_both(f"{ours}.out_proj", classifier)] if has.sentence_head else []


def roberta(has: Parameters) -> list[Row]:
    """AliBERT and `RobertaForMaskedLM`, CamemBERT's too."""
    head = ("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder.weight", "lm_head.bias", "lm_head.decoder.bias")
    return [*_encoder("encoder", "roberta", has, skips=False), *_head("encoder.lm_head", *head)]


def bert(has: Parameters) -> list[Row]:
    """BERT with segments and `BertForPreTraining`, or `BertForMaskedLM` without a sentence head."""
    theirs = "cls.predictions"
    head = (f"{theirs}.transform.dense", f"{theirs}.transform.LayerNorm", f"{theirs}.decoder.weight")
    return [
        *_encoder("encoder", "bert", has),
        *_head("encoder.lm_head", *head, f"{theirs}.bias", f"{theirs}.decoder.bias"),
        *_sentence_head(has, "bert.pooler.dense", "cls.seq_relationship"),
    ]


def albert(has: Parameters) -> list[Row]:
    """ALBERT and `AlbertForPreTraining`, or `AlbertForMaskedLM` without a sentence head."""
    head = ("dense", "LayerNorm", "decoder.weight", "bias", "decoder.bias")
    return [
        *_albert_encoder(has),
        *_head("encoder.lm_head", *(f"predictions.{part}" for part in head)),
        *_sentence_head(has, "albert.pooler", "sop_classifier.classifier"),
    ]


def discriminator(has: Parameters) -> list[Row]:
    """The discriminator and `ElectraForPreTraining`."""
    return [
        *_encoder("discriminator", "electra", has),
        *_both("discriminator.head.dense", "discriminator_predictions.dense"),
        *_both("discriminator.head.out_proj", "discriminator_predictions.dense_prediction"),
    ]


def generator(has: Parameters) -> list[Row]:
    """The generator and `ElectraForMaskedLM`."""
    head = ("generator_predictions.dense", "generator_predictions.LayerNorm")
    return [
        *_encoder("generator", "electra", has),
        *_head("generator.lm_head", *head, "generator_lm_head.weight", "generator_lm_head.bias"),
    ]


def to_hugging_face(rows: list[Row], ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Values for every key of `theirs` (a fresh model's state dict, for its shapes) out of `ours`.

    Raises NamesError when a key of either side has no row, or a shape differs.
    """
    _every_key_has_a_row("ours", set(ours), {row.ours for row in rows if row.ours})
    _every_key_has_a_row("Hugging Face's", set(theirs), {row.theirs for row in rows})
    converted = {}
    for row in rows:
        value = torch.zeros_like(theirs[row.theirs]) if row.ours is None else ours[row.ours][row.skipped :]
        _same_shape(row, value, theirs[row.theirs])
        converted[row.theirs] = value.contiguous()
    return converted


def from_hugging_face(rows: list[Row], theirs: dict[str, Tensor], ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Values for every key of `ours` (a fresh model's state dict, for its shapes) out of `theirs`.

    Raises NamesError when a key of either side has no row, a shape differs, two names of one parameter of ours
    have different values, or one that we have not is not zero.
    """
    _every_key_has_a_row("ours", set(ours), {row.ours for row in rows if row.ours})
    _every_key_has_a_row("Hugging Face's", set(theirs), {row.theirs for row in rows})
    converted: dict[str, Tensor] = {}
    for row in rows:
        value = theirs[row.theirs]
        if row.ours is None:
            if value.any():
                raise NamesError(f"{row.theirs} is not zero, and this model has no parameter for it")
            continue
        value = torch.cat([value.new_zeros(row.skipped, *value.shape[1:]), value]) if row.skipped else value
        _same_shape(row, ours[row.ours], value)
        if not torch.equal(converted.setdefault(row.ours, value), value):
            raise NamesError(f"{row.theirs} differs from what it is tied to in this model, {row.ours}")
    return converted


def _same_shape(row: Row, ours: Tensor, theirs: Tensor) -> None:
    if ours.shape != theirs.shape:
        raise NamesError(f"{row.ours} has shape {tuple(ours.shape)}, {row.theirs} {tuple(theirs.shape)}")


def _every_key_has_a_row(side: str, keys: set[str], named: set[str]) -> None:
    for what, left in (("no row for", keys - named), ("a row for the missing", named - keys)):
        if left:
            shown = ", ".join(sorted(left)[:3])
            raise NamesError(f"{side} names: {what} {shown}{' and more' if len(left) > 3 else ''} ({len(left)} keys)")
