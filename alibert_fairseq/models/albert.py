"""ALBERT: BERT with narrow embeddings and one layer's weights used by all."""

from functools import partial

from fairseq.models import register_model, register_model_architecture

from alibert_fairseq.models.bert import MaskedLMModel
from alibert_fairseq.models.config import SIZES, EncoderConfig, fill_size

EMBEDDING_DIM = 128  # of every size (Lan et al. 2020, Table 1; BioALBERT Table 3)


@register_model("albert", dataclass=EncoderConfig)
class AlbertModel(MaskedLMModel):
    """Factorised embeddings, shared layers, tanh GELU (Lan et al. 2020 section 3.1; BioALBERT Table 3)."""

    shares_layers = True

    def __init__(self, cfg: EncoderConfig, dictionary, sentence_head: bool = False):
        if cfg.embedding_dim in (None, cfg.encoder_embed_dim):
            raise ValueError(
                f"--embedding-dim and --encoder-embed-dim are both {cfg.encoder_embed_dim}, but ALBERT's embeddings "
                "are narrower than its layers; give a smaller --embedding-dim (ALBERT: 128)."
            )
        super().__init__(cfg, dictionary, sentence_head)


for _size in ("tiny", "base", "large", "xlarge", "xxlarge"):
    register_model_architecture("albert", f"albert_{_size}")(
        partial(
            fill_size, size=_size, embedding_dim=min(EMBEDDING_DIM, SIZES[_size][1] // 2), segments=2, layer_groups=1,
            activation_fn="gelu_tanh", dropout=0.0, attention_dropout=0.0,  # google-research/albert `modeling.py`
        )
    )  # fmt: skip
