"""Masked language models: AliBERT, and BERT with segments and a sentence head."""

import logging
from functools import partial
from typing import NamedTuple

import torch.nn as nn
from fairseq.models import register_model, register_model_architecture
from torch import Tensor

from alibert_fairseq.data.layout import Layout
from alibert_fairseq.layers.word_loss import Words
from alibert_fairseq.models.config import EncoderConfig, check_head, encoder_size, fill_size, precision
from alibert_fairseq.models.encoder import SentenceEncoder
from alibert_fairseq.models.heads import MaskedLMHead, SentenceHead
from alibert_fairseq.models.hub import AliBertHubInterface
from alibert_fairseq.models.initialisation import initialise, start_from_sinusoids, start_from_unigrams
from alibert_fairseq.models.pretraining import PretrainingModel
from alibert_fairseq.models.size import EncoderSize

logger = logging.getLogger(__name__)


class MaskedLMOutput(NamedTuple):
    """What one pass gives."""

    words: Words | None  # of the masked tokens, where their target was given
    sentence_scores: Tensor | None  # (S, 2) of a model with a sentence head


class EncoderWithHeads(nn.Module):
    """Encoder and heads, under the names of fairseq's RoBERTa."""

    def __init__(
        self, size: EncoderSize, with_sentence_head: bool = False, share_embeddings_of: SentenceEncoder | None = None
    ):
        super().__init__()
        self.sentence_encoder = SentenceEncoder(size, share_embeddings_of)
        self.lm_head = MaskedLMHead(size, self.sentence_encoder.embed_tokens.weight)
        if with_sentence_head:
            self.sentence_head = SentenceHead(size)


class MaskedLMModel(PretrainingModel):
    """An encoder trained by masked language modelling, and by a sentence objective where it has the head for it."""

    hub_interface = AliBertHubInterface
    takes_a_sentence_head = True
    holds_one_width = ""  # the class of Hugging Face whose embeddings are as wide as its layers
    becomes = ""  # the class of Hugging Face whose head this one becomes, if that limits the activation

    def __init__(self, cfg: EncoderConfig, dictionary, sentence_head: bool = False):
        super().__init__()
        if self.holds_one_width and cfg.embedding_dim not in (None, cfg.encoder_embed_dim):
            raise ValueError(
                f"--embedding-dim {cfg.embedding_dim} differs from --encoder-embed-dim {cfg.encoder_embed_dim}, "
                f"which no {self.holds_one_width} can hold; leave --embedding-dim out."
            )
        self.cfg = cfg
        self.encoder = EncoderWithHeads(self.size(cfg, dictionary), sentence_head)
        self.apply(initialise)
        if cfg.position_init == "sinusoidal":
            start_from_sinusoids(self.encoder.sentence_encoder.embed_positions)
        if cfg.output_bias == "unigram":
            start_from_unigrams(self.encoder.lm_head, dictionary)

    @staticmethod
    def size(cfg, dictionary) -> EncoderSize:
        """What the options and the dictionary say of the encoder. Raises ValueError for what it cannot be."""
        return encoder_size(cfg, dictionary)

    @classmethod
    def for_task(cls, cfg: EncoderConfig, task) -> "MaskedLMModel":
        """A model with the heads that the task trains."""
        if task.replaces_tokens:
            raise ValueError("replaced token detection needs a generator and a discriminator; give --arch electra_*.")
        check_head("--activation-fn", str(cfg.activation_fn), cls.becomes)
        if any(task.causal_shares) and getattr(cfg, "convolution_width", None):
            raise ValueError(
                "--causal-share and --causal-until: this model's convolution reads later tokens; leave them out."
            )
        if not task.sentence_objective:
            return cls(cfg, task.source_dictionary)
        if not cls.takes_a_sentence_head:
            raise ValueError("this model has no sentence head; give --arch segment_bert_base or albert_base.")
        return cls(cfg, task.source_dictionary, sentence_head=True)

    def upgrade_state_dict_named(self, state_dict, name) -> None:
        """Take the checkpoint of a training with another sentence objective, or without one, and say so."""
        super().upgrade_state_dict_named(state_dict, name)
        ours, prefix = self.state_dict(), "encoder.sentence_head."
        theirs = {key for key in state_dict if key.startswith(prefix)}
        fresh = {key for key in ours if key.startswith(prefix)}
        if fresh and not theirs:
            logger.info("the checkpoint has no sentence head; it begins with random weights")
            state_dict |= {key: ours[key] for key in fresh}
        elif theirs and not fresh:
            logger.info("the checkpoint's sentence head is left out: this task does not train it")
            for key in theirs:
                del state_dict[key]

    def forward(
        self, src_tokens: Tensor, layout: dict, target: Tensor, segments: Tensor | None = None, causal: bool = False,
        z_loss: float = 0.0,
    ) -> MaskedLMOutput:  # fmt: skip
        """The losses of the masked tokens, and the scores of the sentences.

        src_tokens, segments: (B, T) ids. layout: of `laid_out`. target: (M,) ids. causal: each token sees those before
        it, and itself. z_loss: weight of the squared logarithm of the softmax's normalizer.
        """
        batch, encoder = Layout.read(layout), self.encoder.sentence_encoder
        flat_segments = None if segments is None else batch.flat(segments)
        with_sentences = hasattr(self.encoder, "sentence_head")
        with precision(self.cfg, src_tokens.device):
            features = encoder(batch.flat(src_tokens), batch, flat_segments, causal, only_masked=not with_sentences)
            if not with_sentences:
                return MaskedLMOutput(self.encoder.lm_head.predict(features, target, z_loss), None)
            words = self.encoder.lm_head.predict(features.index_select(0, batch.masked), target, z_loss)
            return MaskedLMOutput(words, self.encoder.sentence_head(features.index_select(0, batch.tokens.ends[:-1])))

    def scores(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        """(B, T) ids to the scores over the vocabulary, (B, T, V)."""
        with precision(self.cfg, tokens.device):
            return self.encoder.lm_head(self.encoder.sentence_encoder.of_rows(tokens, segments=segments))


@register_model("alibert", dataclass=EncoderConfig)
class AliBertModel(MaskedLMModel):
    """BERT trained by masked language modelling alone (AliBERT section 3.3.1, Figure 2); RoBERTa to Hugging Face."""

    takes_a_sentence_head = False  # Hugging Face's RoBERTa has none
    holds_one_width = becomes = "RobertaForMaskedLM"


@register_model("segment_bert", dataclass=EncoderConfig)
class SegmentBertModel(MaskedLMModel):
    """BERT as published: two segments, masked language modelling and next sentence prediction (ouBioBERT 2.1.1)."""

    holds_one_width = "BertForPreTraining"


for _size in ("tiny", "small", "base", "large"):
    register_model_architecture("alibert", f"alibert_{_size}")(partial(fill_size, size=_size))
    register_model_architecture("segment_bert", f"segment_bert_{_size}")(partial(fill_size, size=_size, segments=2))
