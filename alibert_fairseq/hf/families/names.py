"""The one table between our parameter names and Hugging Face's, a function a family."""

from alibert_fairseq.hf.families.rows import Parameters, Row
from alibert_fairseq.layers.relative import Relative

# The endings of our names of what has a row a word: the tables, which may be one, and the output's bias.
WORD_TABLES = ("embed_tokens.weight", "lm_head.weight")
WORD_BIAS = ("lm_head.bias",)
WORDS = WORD_TABLES + WORD_BIAS

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
        rows += [
            Row(f"{ours}.layers.{n}.{mine}.weight", f"model.layers.{n}.{theirs}.weight")
            for mine, theirs in _MODERN_LAYER
            if n or theirs != "attn_norm"
        ]
        rows += [
            Row(f"{ours}.layers.{n}.self_attn.{one}_proj.weight", f"model.layers.{n}.attn.Wqkv.weight", joined=(i, 3))
            for i, one in enumerate("qkv")
        ]
    return rows
