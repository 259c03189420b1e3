"""Masked language models: AliBERT, and BERT with segments and a sentence head."""

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch.nn as nn
from fairseq.models import register_model, register_model_architecture
from torch import Tensor

from alibert_fairseq.hub import AliBertHubInterface
from alibert_fairseq.models.config import EncoderConfig, encoder_size, fill_size, precision
from alibert_fairseq.models.encoder import EncoderSize, SentenceEncoder
from alibert_fairseq.models.heads import MaskedLMHead, SentenceHead
from alibert_fairseq.models.initialisation import initialise, start_from_sinusoids
from alibert_fairseq.models.pretraining import PretrainingModel


class MaskedLMOutput(NamedTuple):
    """What one pass gives."""

    token_scores: Tensor  # (M, V), or (B, T, V) where no positions were given
    sentence_scores: Tensor | None  # (B, 2) of a model with a sentence head


class _Encoder(nn.Module):
    """Encoder and heads, under the names of fairseq's RoBERTa."""

    def __init__(self, size: EncoderSize, with_sentence_head: bool):
        super().__init__()
        self.sentence_encoder = SentenceEncoder(size)
        self.lm_head = MaskedLMHead(size, self.sentence_encoder.embed_tokens.weight)
        if with_sentence_head:
            self.sentence_head = SentenceHead(size)


class MaskedLMModel(PretrainingModel):
    """An encoder trained by masked language modelling, and by a sentence objective where it has the head for it."""

    def __init__(self, cfg: EncoderConfig, dictionary):
        super().__init__()
        self.cfg = cfg
        self.encoder = _Encoder(encoder_size(cfg, dictionary), getattr(cfg, "sentence_head", False))
        self.apply(initialise)
        if cfg.position_init == "sinusoidal":
            start_from_sinusoids(self.encoder.sentence_encoder.embed_positions)

    def fit(self, task) -> None:
        """A sentence head that the task has no labels for is not trained, as data-parallel training requires."""
        super().fit(task)
        has_head = hasattr(self.encoder, "sentence_head")
        if task.sentence_objective and not has_head:
            raise ValueError("this model has no sentence head; give --arch segment_bert_base or albert_base.")
        if has_head:
            self.encoder.sentence_head.requires_grad_(bool(task.sentence_objective))

    def forward(
        self,
        src_tokens: Tensor,
        has_padding: bool | None = None,
        masked: Tensor | None = None,
        segments: Tensor | None = None,
    ) -> MaskedLMOutput:
        """Scores over the vocabulary for the positions where `masked` (B, T) is True, or for all, and of the sentences.

        src_tokens, segments: (B, T) ids.
        """
        with precision(self.cfg, src_tokens.device):
            features = self.encoder.sentence_encoder(src_tokens, has_padding, segments=segments)
            token_scores = self.encoder.lm_head(features if masked is None else features[masked])
            if not hasattr(self.encoder, "sentence_head"):
                return MaskedLMOutput(token_scores, None)
            return MaskedLMOutput(token_scores, self.encoder.sentence_head(features))

    @classmethod
    def from_pretrained(cls, model_name_or_path, checkpoint_file="checkpoint_best.pt", data_name_or_path=".", **kwargs):
        """A hub interface (`encode`, `decode`, `fill_mask`, `extract_features`) over a checkpoint of this plugin."""
        return AliBertHubInterface.load(model_name_or_path, checkpoint_file, data_name_or_path, **kwargs)


@dataclass
class AliBertConfig(EncoderConfig):
    """AliBERT's own options: none beyond the encoder's."""


@dataclass
class SentenceModelConfig(EncoderConfig):
    """Options of a model that two segments can be given to."""

    sentence_head: bool = field(
        default=True, metadata={"help": "have the pooler and the head of --task segment_pairs (BERT, ALBERT: yes)"}
    )


def _one_width(cfg: EncoderConfig, theirs: str) -> None:
    if cfg.embedding_dim not in (None, cfg.encoder_embed_dim):
        raise ValueError(
            f"--embedding-dim {cfg.embedding_dim} differs from --encoder-embed-dim {cfg.encoder_embed_dim}, "
            f"which no {theirs} can hold; leave --embedding-dim out."
        )


@register_model("alibert", dataclass=AliBertConfig)
class AliBertModel(MaskedLMModel):
    """BERT trained by masked language modelling alone (AliBERT section 3.3.1, Figure 2); RoBERTa to Hugging Face."""

    def __init__(self, cfg: AliBertConfig, dictionary):
        _one_width(cfg, "RobertaForMaskedLM")
        super().__init__(cfg, dictionary)


@register_model("segment_bert", dataclass=SentenceModelConfig)
class SegmentBertModel(MaskedLMModel):
    """BERT as published: two segments, masked language modelling and next sentence prediction (ouBioBERT 2.1.1)."""

    def __init__(self, cfg: SentenceModelConfig, dictionary):
        _one_width(cfg, "BertForPreTraining")
        super().__init__(cfg, dictionary)


def _segment_bert(args, size: str) -> None:
    fill_size(args, size)
    args.segments = getattr(args, "segments", 2)


for _size in ("tiny", "small", "base", "large"):
    register_model_architecture("alibert", f"alibert_{_size}")(partial(fill_size, size=_size))
    register_model_architecture("segment_bert", f"segment_bert_{_size}")(partial(_segment_bert, size=_size))
