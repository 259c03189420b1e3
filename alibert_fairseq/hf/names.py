"""The one table between our parameter names and Hugging Face's, read in both directions.

Every parameter of both sides must be named here: a key that no row consumes stops the conversion.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

FIRST_POSITION = 2  # fairseq counts positions from padding_id + 1; RobertaForMaskedLM too, Electra from 0


class NamesError(ValueError):
    """A parameter has no counterpart, or its shape differs."""


@dataclass(frozen=True)
class Row:
    """One pair of names. `ours` is None where Hugging Face has a parameter this plugin does not (filled with zeros).

    positions: Electra's table lacks the rows below the first position.
    """

    ours: str | None
    theirs: str
    positions: bool = False


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


def _both(ours: str, theirs: str) -> list[Row]:
    return [Row(f"{ours}.{part}", f"{theirs}.{part}") for part in ("weight", "bias")]


def _encoder(ours: str, theirs: str, layers: int, projected: bool, electra: bool) -> list[Row]:
    ours = f"{ours}.sentence_encoder"
    rows = [
        Row(f"{ours}.embed_tokens.weight", f"{theirs}.embeddings.word_embeddings.weight"),
        Row(f"{ours}.embed_positions.weight", f"{theirs}.embeddings.position_embeddings.weight", positions=electra),
        Row(None, f"{theirs}.embeddings.token_type_embeddings.weight"),  # one type, all zeros: we have no segments
        *_both(f"{ours}.layernorm_embedding", f"{theirs}.embeddings.LayerNorm"),
    ]
    if projected:
        rows += _both(f"{ours}.embed_project", f"{theirs}.embeddings_project")
    for n in range(layers):
        for mine, other in _LAYER:
            rows += _both(f"{ours}.layers.{n}.{mine}", f"{theirs}.encoder.layer.{n}.{other}")
    return rows


def roberta_rows(layers: int) -> list[Row]:
    """AliBERT and `RobertaForMaskedLM`."""
    return [
        *_encoder("encoder", "roberta", layers, projected=False, electra=False),
        *_both("encoder.lm_head.dense", "lm_head.dense"),
        *_both("encoder.lm_head.layer_norm", "lm_head.layer_norm"),
        Row("encoder.lm_head.weight", "lm_head.decoder.weight"),
        Row("encoder.lm_head.bias", "lm_head.bias"),
        Row("encoder.lm_head.bias", "lm_head.decoder.bias"),
    ]


def discriminator_rows(layers: int, projected: bool) -> list[Row]:
    """The discriminator and `ElectraForPreTraining`."""
    return [
        *_encoder("discriminator", "electra", layers, projected, electra=True),
        *_both("discriminator.head.dense", "discriminator_predictions.dense"),
        *_both("discriminator.head.out_proj", "discriminator_predictions.dense_prediction"),
    ]


def generator_rows(layers: int, projected: bool) -> list[Row]:
    """The generator and `ElectraForMaskedLM`."""
    return [
        *_encoder("generator", "electra", layers, projected, electra=True),
        *_both("generator.lm_head.dense", "generator_predictions.dense"),
        *_both("generator.lm_head.layer_norm", "generator_predictions.LayerNorm"),
        Row("generator.lm_head.weight", "generator_lm_head.weight"),
        Row("generator.lm_head.bias", "generator_lm_head.bias"),
    ]


def to_hugging_face(rows: list[Row], ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Values for every key of `theirs` (a fresh model's state dict, for its shapes) out of `ours`.

    Raises NamesError when a key of either side has no row, or a shape differs.
    """
    _every_key_has_a_row("ours", set(ours), {row.ours for row in rows if row.ours})
    _every_key_has_a_row("Hugging Face's", set(theirs), {row.theirs for row in rows})
    converted = {}
    for row in rows:
        if row.ours is None:
            value = torch.zeros_like(theirs[row.theirs], dtype=torch.float32)
        else:
            value = ours[row.ours].float()
            value = value[FIRST_POSITION:] if row.positions else value
        if value.shape != theirs[row.theirs].shape:
            raise NamesError(
                f"{row.ours} has shape {tuple(value.shape)}, {row.theirs} {tuple(theirs[row.theirs].shape)}"
            )
        converted[row.theirs] = value.contiguous()
    return converted


def _every_key_has_a_row(side: str, keys: set[str], named: set[str]) -> None:
    for what, left in (("no row for", keys - named), ("a row for the missing", named - keys)):
        if left:
            shown = ", ".join(sorted(left)[:3])
            raise NamesError(f"{side} names: {what} {shown}{' and more' if len(left) > 3 else ''} ({len(left)} keys)")
