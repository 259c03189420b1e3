"""AliBERT-ELECTRA: a small generator fills the masks, a discriminator tells which tokens were replaced."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from fairseq.models import register_model, register_model_architecture
from torch import Tensor

from alibert_fairseq.hub import ElectraHubInterface
from alibert_fairseq.models.config import EncoderConfig, encoder_size, fill_size, precision
from alibert_fairseq.models.encoder import EncoderSize, MaskedLMHead, SentenceEncoder, initialise, start_from_sinusoids
from alibert_fairseq.models.pretraining import PretrainingModel

GROUP = 64  # ids whose probabilities are summed before sampling: 625 groups of a vocabulary of 40,000, a balance


@dataclass
class ElectraConfig(EncoderConfig):
    """ELECTRA's options beside those of its discriminator."""

    generator_width_fraction: float = field(
        default=1 / 3,
        metadata={
            "help": "generator's width, heads and feed-forward width over the discriminator's; the depth is the "
            "same (google-research/electra: 1/4 for small and large, 1/3 for base)"
        },
    )
    generator_temperature: float = field(
        default=1.0, metadata={"help": "temperature of the generator's samples (ELECTRA: 1)"}
    )


class ElectraOutput(NamedTuple):
    """What one pass gives."""

    generator_scores: Tensor  # (M, V)
    discriminator_scores: Tensor  # (B, T), larger where the token looks replaced
    replaced: Tensor  # (B, T) bool, True where the token differs from the original


class _Generator(nn.Module):
    def __init__(self, size: EncoderSize, share_embeddings_of: SentenceEncoder):
        super().__init__()
        self.sentence_encoder = SentenceEncoder(size, share_embeddings_of)
        self.lm_head = MaskedLMHead(size, self.sentence_encoder.embed_tokens.weight)


class _DiscriminatorHead(nn.Module):
    """Dense, GELU, one score a token; no LayerNorm, no dropout (`_get_discriminator_output`)."""

    def __init__(self, width: int):
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.out_proj = nn.Linear(width, 1)

    def forward(self, features: Tensor) -> Tensor:
        return self.out_proj(F.gelu(self.dense(features))).squeeze(-1)  # (B, T)


class _Discriminator(nn.Module):
    def __init__(self, size: EncoderSize):
        super().__init__()
        self.sentence_encoder = SentenceEncoder(size)
        self.head = _DiscriminatorHead(size.width)


def generator_size(discriminator: EncoderSize, fraction: float) -> EncoderSize:
    """Width, feed-forward width and heads shrink by `fraction`, depth does not (`get_generator_config`)."""
    width = round(discriminator.width * fraction)
    return replace(
        discriminator, width=width, ffn_width=round(discriminator.ffn_width * fraction), heads=max(1, width // 64)
    )


def sample_tokens(scores: Tensor, uniforms: Tensor, temperature: float) -> Tensor:
    """One id a row from softmax(scores / temperature): the first whose cumulative probability exceeds the uniform.

    scores: (M, V); uniforms: (M,) float64 in [0, 1). Inverse-transform sampling has the law of ELECTRA's Gumbel
    argmax, but needs one number a position instead of V, so the draw can come with the sample and be the same on any
    device, rank or batch shape. Cumulative sums run in float64: float32 would round the tail of the vocabulary. First
    a group of ids is drawn, then the id in it: a third of the time of one cumulative sum over V = 8,000 on a CPU.
    """
    probabilities = torch.softmax(scores.detach().float() / temperature, dim=-1)
    groups = F.pad(probabilities, (0, -scores.size(-1) % GROUP)).unflatten(-1, (-1, GROUP))  # (M, V / GROUP, GROUP)
    group, rest = _draw(groups.sum(dim=-1), uniforms[:, None])
    place, _ = _draw(groups.take_along_dim(group[:, :, None], dim=1).squeeze(1), rest)
    return (group * GROUP + place).squeeze(1).clamp_(max=scores.size(-1) - 1)


def _draw(masses: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """An index in proportion to its mass, (M, 1), and what is left of the uniform, a uniform again, (M, 1).

    masses: (M, N); uniforms: (M, 1) float64.
    """
    cumulative = masses.cumsum(dim=-1, dtype=torch.float64)
    threshold = uniforms * cumulative[:, -1:]
    index = torch.searchsorted(cumulative, threshold, right=True).clamp_(max=masses.size(-1) - 1)
    mass = masses.gather(1, index)
    return index, ((threshold - cumulative.gather(1, index) + mass) / mass).clamp_(min=0)


@register_model("electra", dataclass=ElectraConfig)
class ElectraModel(PretrainingModel):
    """Generator and discriminator over one embedding layer (AliBERT section 3.3.1, Figure 3; ELECTRA section 3)."""

    def __init__(self, cfg: ElectraConfig, dictionary):
        super().__init__()
        self.cfg = cfg
        size = encoder_size(cfg, dictionary)
        self.discriminator = _Discriminator(size)
        self.generator = _Generator(
            generator_size(size, cfg.generator_width_fraction), self.discriminator.sentence_encoder
        )
        self.apply(initialise)
        if cfg.position_init == "sinusoidal":
            start_from_sinusoids(self.discriminator.sentence_encoder.embed_positions)  # the generator's too
        self._glorot(self.discriminator.head.out_proj)
        for encoder in (self.discriminator.sentence_encoder, self.generator.sentence_encoder):
            if hasattr(encoder, "embed_project"):
                self._glorot(encoder.embed_project)

    @staticmethod
    def _glorot(layer: nn.Linear) -> None:
        """The layers for which ELECTRA's code names no initialiser get TensorFlow's default, Glorot's uniform."""
        nn.init.xavier_uniform_(layer.weight)

    def forward(
        self,
        src_tokens: Tensor,
        original: Tensor,
        masked: Tensor,
        uniforms: Tensor,
        has_padding: bool | None = None,
    ) -> ElectraOutput:
        """Fill the drawn positions with samples of the generator, then judge every token.

        src_tokens: (B, T) masked ids, original: (B, T), masked: (B, T) bool of drawn positions, uniforms: (B, T).
        Every drawn position is filled, also those the masking left visible; a sample that equals the original is
        not replaced. No gradient flows from the discriminator through the samples.
        """
        with precision(self.cfg, src_tokens.device):
            features = self.generator.sentence_encoder(src_tokens, has_padding)
            scores = self.generator.lm_head(features[masked])
            fake = original.clone()
            fake[masked] = sample_tokens(scores, uniforms[masked], self.cfg.generator_temperature)
            real = original.ne(self.discriminator.sentence_encoder.size.padding_id)
            judged = self.discriminator.head(self.discriminator.sentence_encoder(fake, has_padding, real))
        return ElectraOutput(scores, judged, fake.ne(original))

    @classmethod
    def from_pretrained(cls, model_name_or_path, checkpoint_file="checkpoint_best.pt", data_name_or_path=".", **kwargs):
        """A hub interface over a checkpoint: `fill_mask` by the generator, features by the discriminator."""
        return ElectraHubInterface.load(model_name_or_path, checkpoint_file, data_name_or_path, **kwargs)


def _fill(args, size: str, embedding_dim: int | None, fraction: float) -> None:
    fill_size(args, size, embedding_dim)
    args.generator_width_fraction = getattr(args, "generator_width_fraction", fraction)


@register_model_architecture("electra", "electra_tiny")
def electra_tiny(args):
    _fill(args, "tiny", None, 1 / 2)  # 1/4, as of small, would be 32 wide: half a head


@register_model_architecture("electra", "electra_small")
def electra_small(args):
    _fill(args, "small", 128, 1 / 4)


@register_model_architecture("electra", "electra_base")
def electra_base(args):
    _fill(args, "base", None, 1 / 3)


@register_model_architecture("electra", "electra_large")
def electra_large(args):
    _fill(args, "large", None, 1 / 4)
