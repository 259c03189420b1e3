"""AliBERT: one encoder and a masked-language-model head."""

from dataclasses import dataclass

import torch.nn as nn
from fairseq.models import register_model, register_model_architecture
from torch import Tensor

from alibert_fairseq.hub import AliBertHubInterface
from alibert_fairseq.models.config import EncoderConfig, encoder_size, fill_size, precision
from alibert_fairseq.models.encoder import MaskedLMHead, SentenceEncoder, initialise, start_from_sinusoids
from alibert_fairseq.models.pretraining import PretrainingModel


@dataclass
class AliBertConfig(EncoderConfig):
    """AliBERT's own options: none beyond the encoder's."""


class _Encoder(nn.Module):
    """Encoder and head, under the names of fairseq's RoBERTa."""

    def __init__(self, size):
        super().__init__()
        self.sentence_encoder = SentenceEncoder(size)
        self.lm_head = MaskedLMHead(size, self.sentence_encoder.embed_tokens.weight)


@register_model("alibert", dataclass=AliBertConfig)
class AliBertModel(PretrainingModel):
    """BERT trained by masked language modelling (AliBERT section 3.3.1, Figure 2)."""

    def __init__(self, cfg: AliBertConfig, dictionary):
        super().__init__()
        if cfg.embedding_dim not in (None, cfg.encoder_embed_dim):
            raise ValueError(
                f"--embedding-dim {cfg.embedding_dim} differs from --encoder-embed-dim {cfg.encoder_embed_dim}, "
                f"which no RobertaForMaskedLM can hold; leave --embedding-dim out."
            )
        self.cfg = cfg
        self.encoder = _Encoder(encoder_size(cfg, dictionary))
        self.apply(initialise)
        if cfg.position_init == "sinusoidal":
            start_from_sinusoids(self.encoder.sentence_encoder.embed_positions)

    def forward(
        self,
        src_tokens: Tensor,
        has_padding: bool | None = None,
        masked: Tensor | None = None,
    ) -> Tensor:
        """Scores over the vocabulary: (M, V) for the positions where `masked` (B, T) is True, or (B, T, V) for all."""
        with precision(self.cfg, src_tokens.device):
            features = self.encoder.sentence_encoder(src_tokens, has_padding)
            return self.encoder.lm_head(features if masked is None else features[masked])

    @classmethod
    def from_pretrained(cls, model_name_or_path, checkpoint_file="checkpoint_best.pt", data_name_or_path=".", **kwargs):
        """A hub interface (`encode`, `decode`, `fill_mask`, `extract_features`) over a checkpoint of this plugin."""
        return AliBertHubInterface.load(model_name_or_path, checkpoint_file, data_name_or_path, **kwargs)


@register_model_architecture("alibert", "alibert_tiny")
def alibert_tiny(args):
    fill_size(args, "tiny")


@register_model_architecture("alibert", "alibert_small")
def alibert_small(args):
    fill_size(args, "small")


@register_model_architecture("alibert", "alibert_base")
def alibert_base(args):
    fill_size(args, "base")
