"""The one table between our parameter names and Hugging Face's, read in both directions.

Every parameter of both sides must be named here: a key that no row consumes stops the conversion.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from alibert_fairseq.layers.relative import Relative

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
    joined: (n, of) where their table is `of` of ours, one below the other, and this is the n-th.
    """

    ours: str | None
    theirs: str
    skipped: int = 0
    joined: tuple[int, int] = (0, 1)

    def share(self, theirs: Tensor) -> Tensor:
        """Their table, or what of it is ours."""
        number, of = self.joined
        return theirs if of == 1 else theirs.chunk(of)[number]


@dataclass(frozen=True)
class Parameters:
    """What of an encoder decides which parameters it has."""

    layers: int  # with weights of their own
    projected: bool  # embeddings narrower than the layers
    segments: bool
    padding_id: int
    sentence_head: bool = False
    relative: Relative | None = None  # of a DeBERTa body


# The parts of a layer: ours, those of BERT and its kin, ALBERT's.
_LAYER = (
    ("self_attn.q_proj", "attention.self.query", "attention.query"),
    ("self_attn.k_proj", "attention.self.key", "attention.key"),
    ("self_attn.v_proj", "attention.self.value", "attention.value"),
    ("self_attn.out_proj", "attention.output.dense", "attention.dense"),
    ("self_attn_layer_norm", "attention.output.LayerNorm", "attention.LayerNorm"),
    ("fc1", "intermediate.dense", "ffn"),
    ("fc2", "output.dense", "ffn_output"),
    ("final_layer_norm", "output.LayerNorm", "full_layer_layer_norm"),
)


_MODERN_LAYER = (
    ("self_attn.out_proj", "attn.Wo"),
    ("self_attn_layer_norm", "attn_norm"),  # not in the first layer
    ("fc1", "mlp.Wi"),
    ("fc2", "mlp.Wo"),
    ("final_layer_norm", "mlp_norm"),
)


# What differs from BERT's in DeBERTa's layers.
_DEBERTAS = {"query": "query_proj", "key": "key_proj", "value": "value_proj"}
_OWN = {"c2p": ("k", "key"), "p2c": ("q", "query")}
_HEAD = "cls.predictions"
BERTS_HEAD = (
    f"{_HEAD}.transform.dense", f"{_HEAD}.transform.LayerNorm", f"{_HEAD}.decoder.weight", f"{_HEAD}.bias",
    f"{_HEAD}.decoder.bias",
)  # fmt: skip
# Its table is the input's.
MICROSOFTS_HEAD = (
    "lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm", "deberta.embeddings.word_embeddings.weight",
    "lm_predictions.lm_head.bias",
)  # fmt: skip


def _both(ours: str, theirs: str) -> list[Row]:
    return [Row(f"{ours}.{part}", f"{theirs}.{part}") for part in ("weight", "bias")]


def _encoder(ours: str, theirs: str, has: Parameters, skips: bool = True) -> list[Row]:
    ours, albert = f"{ours}.sentence_encoder", theirs == "albert"
    segments = f"{ours}.embed_segments.weight" if has.segments else None
    skipped = has.padding_id + 1 if skips else 0
    rows = [
        Row(f"{ours}.embed_tokens.weight", f"{theirs}.embeddings.word_embeddings.weight"),
        Row(f"{ours}.embed_positions.weight", f"{theirs}.embeddings.position_embeddings.weight", skipped),
        Row(segments, f"{theirs}.embeddings.token_type_embeddings.weight"),
        *_both(f"{ours}.layernorm_embedding", f"{theirs}.embeddings.LayerNorm"),
    ]
    if has.projected:
        project = "encoder.embedding_hidden_mapping_in" if albert else "embeddings_project"
        rows += _both(f"{ours}.embed_project", f"{theirs}.{project}")
    for n in range(has.layers):
        layer = f"{theirs}.encoder." + (f"albert_layer_groups.{n}.albert_layers.0" if albert else f"layer.{n}")
        for part, of_bert, of_albert in _LAYER:
            rows += _both(f"{ours}.layers.{n}.{part}", f"{layer}.{of_albert if albert else of_bert}")
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
    return [
        *_encoder("encoder", "bert", has),
        *_head("encoder.lm_head", *BERTS_HEAD),
        *_sentence_head(has, "bert.pooler.dense", "cls.seq_relationship"),
    ]


def albert(has: Parameters) -> list[Row]:
    """ALBERT and `AlbertForPreTraining`, or `AlbertForMaskedLM` without a sentence head."""
    head = ("dense", "LayerNorm", "decoder.weight", "bias", "decoder.bias")
    return [
        *_encoder("encoder", "albert", has),
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


def _debertas_encoder(part: str, has: Parameters) -> list[Row]:
    ours, theirs, relative = f"{part}.sentence_encoder", "deberta.embeddings", has.relative or Relative()
    rows = [
        Row(f"{ours}.embed_tokens.weight", f"{theirs}.word_embeddings.weight"),
        *_both(f"{ours}.layernorm_embedding", f"{theirs}.LayerNorm"),
        Row(f"{ours}.embed_relative.weight", "deberta.encoder.rel_embeddings.weight"),
    ]
    if relative.absolute:
        rows.append(Row(f"{ours}.embed_positions.weight", f"{theirs}.position_embeddings.weight", has.padding_id + 1))
    if has.segments:
        rows.append(Row(f"{ours}.embed_segments.weight", f"{theirs}.token_type_embeddings.weight"))
    if has.projected:
        rows.append(Row(f"{ours}.embed_project.weight", f"{theirs}.embed_proj.weight"))
    if relative.normalised:
        rows += _both(f"{ours}.relative_layer_norm", "deberta.encoder.LayerNorm")
    if relative.convolution:
        rows += _both(f"{ours}.convolution.conv", "deberta.encoder.conv.conv")
        rows += _both(f"{ours}.convolution.layer_norm", "deberta.encoder.conv.LayerNorm")
    own = [] if relative.shared else [_OWN[kind] for kind in relative.kinds]
    for n in range(has.layers):
        layer = f"deberta.encoder.layer.{n}"
        for mine, of_bert, _ in _LAYER:
            path, _, last = of_bert.rpartition(".")
            name = f"{path}.{_DEBERTAS.get(last, last)}"
            rows += _both(f"{ours}.layers.{n}.{mine}", f"{layer}.{name}")
        for mine, name in own:
            rows += _both(f"{ours}.layers.{n}.self_attn.pos_{mine}_proj", f"{layer}.attention.self.pos_{name}_proj")
    return rows


def deberta(has: Parameters, part: str = "encoder", head: tuple[str, ...] = BERTS_HEAD) -> list[Row]:
    """A DeBERTa body and `DebertaV2ForMaskedLM`, whose head has one of two sets of names."""
    return [*_debertas_encoder(part, has), *_head(f"{part}.lm_head", *head)]


def deberta_discriminator(has: Parameters) -> list[Row]:
    """The discriminator of a DeBERTa body, under Microsoft's names."""
    theirs = "mask_predictions"
    return [
        *_debertas_encoder("discriminator", has),
        *_both("discriminator.head.layer_norm", f"{theirs}.LayerNorm"),
        *_both("discriminator.head.dense", f"{theirs}.dense"),
        *_both("discriminator.head.out_proj", f"{theirs}.classifier"),
    ]


def modern(has: Parameters, part: str = "encoder") -> list[Row]:
    """AliBERT with a modern body and `ModernBertForMaskedLM`, which joins queries, keys and values."""
    ours = f"{part}.sentence_encoder"
    rows = [
        Row(f"{ours}.embed_tokens.weight", "model.embeddings.tok_embeddings.weight"),
        Row(f"{ours}.layernorm_embedding.weight", "model.embeddings.norm.weight"),
        Row(f"{ours}.layer_norm.weight", "model.final_norm.weight"),
        Row(f"{part}.lm_head.dense.weight", "head.dense.weight"),
        Row(f"{part}.lm_head.layer_norm.weight", "head.norm.weight"),
        Row(f"{part}.lm_head.weight", "decoder.weight"),
        Row(f"{part}.lm_head.bias", "decoder.bias"),
    ]
    for n in range(has.layers):
        pairs = [(ours_, theirs) for ours_, theirs in _MODERN_LAYER if n or theirs != "attn_norm"]
        rows += [Row(f"{ours}.layers.{n}.{mine}.weight", f"model.layers.{n}.{theirs}.weight") for mine, theirs in pairs]
        rows += [
            Row(f"{ours}.layers.{n}.self_attn.{one}_proj.weight", f"model.layers.{n}.attn.Wqkv.weight", joined=(i, 3))
            for i, one in enumerate("qkv")
        ]
    return rows


def to_hugging_face(rows: list[Row], ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Values for every key of `theirs` (a fresh model's state dict, for its shapes) out of `ours`.

    Raises NamesError when a key of either side has no row, or a shape differs.
    """
    _check_keys(rows, ours, theirs)
    converted: dict[str, Tensor] = {}
    for row in rows:
        place = row.share(theirs[row.theirs])
        value = torch.zeros_like(place) if row.ours is None else ours[row.ours][row.skipped :]
        _same_shape(row, value, place)
        if place.shape == theirs[row.theirs].shape:
            converted[row.theirs] = value.contiguous()
        else:
            whole = converted.setdefault(row.theirs, torch.empty_like(theirs[row.theirs], dtype=value.dtype))
            row.share(whole).copy_(value)
    return converted


def from_hugging_face(rows: list[Row], theirs: dict[str, Tensor], ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Values for every key of `ours` (a fresh model's state dict, for its shapes) out of `theirs`.

    Raises NamesError when a key of either side has no row, a shape differs, two names of one parameter of ours
    have different values, or one that we have not is not zero.
    """
    _check_keys(rows, ours, theirs)
    converted: dict[str, Tensor] = {}
    for row in rows:
        value = row.share(theirs[row.theirs])
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


def _check_keys(rows: list[Row], ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    """Raise NamesError where a key of either side has no row, or a row no key."""
    for side, keys, named in (
        ("ours", set(ours), {row.ours for row in rows if row.ours}),
        ("Hugging Face's", set(theirs), {row.theirs for row in rows}),
    ):
        for complaint, left in (("no row for", keys - named), ("a row for the missing", named - keys)):
            if left:
                shown = f"{', '.join(sorted(left)[:3])}{' and more' if len(left) > 3 else ''} ({len(left)} keys)"
                raise NamesError(f"{side} names: {complaint} {shown}")
