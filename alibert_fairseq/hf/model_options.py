"""The options of fairseq-train that build the model of a published folder."""

import torch

from alibert_fairseq.hf.read_hf import Published

OPTIONS = (
    ("layers", "--encoder-layers"),
    ("width", "--encoder-embed-dim"),
    ("ffn_width", "--encoder-ffn-embed-dim"),
    ("heads", "--encoder-attention-heads"),
    ("embedding_dim", "--embedding-dim"),
    ("max_positions", "--max-positions"),
    ("segments", "--segments"),
    ("layer_groups", "--layer-groups"),
    ("activation", "--activation-fn"),
    ("layer_norm_eps", "--layer-norm-eps"),
    ("dropout", "--dropout"),
    ("attention_dropout", "--attention-dropout"),
)
GENERATOR_OPTIONS = (
    ("layers", "--generator-layers"),
    ("width", "--generator-embed-dim"),
    ("ffn_width", "--generator-ffn-embed-dim"),
    ("heads", "--generator-attention-heads"),
)


def model_options(published: Published) -> list[str]:
    """--arch and every number of the model, so that the arch itself decides nothing but the kind."""
    first, *generator = published.parts
    options = ["--arch", f"{published.model_name}_base", *_given(OPTIONS, first.size())]
    for part in generator:
        options += _given(GENERATOR_OPTIONS, part.size())
        if _same(first.embeddings(), part.embeddings()):
            options += ["--embedding-sharing", "all"]
        else:
            options += ["--embedding-sharing", "none", "--generator-embedding-dim", str(part.size()["embedding_dim"])]
    return options


def _given(options, size: dict) -> list[str]:
    return [word for field, name in options if size[field] is not None for word in (name, str(size[field]))]


def _same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
