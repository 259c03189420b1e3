"""AliBERT-ELECTRA: a small generator fills the masks, a discriminator tells which tokens were replaced."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import torch.nn as nn
from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture
from torch import Tensor

from alibert_fairseq.data.layout import Layout
from alibert_fairseq.layers.word_loss import Samples, Words
from alibert_fairseq.models.bert import EncoderWithHeads
from alibert_fairseq.models.config import EncoderConfig, check_head, encoder_size, fill_size, precision
from alibert_fairseq.models.embedding_sharing import SHARING, shift_embeddings
from alibert_fairseq.models.encoder import SentenceEncoder
from alibert_fairseq.models.heads import DiscriminatorHead
from alibert_fairseq.models.hub import ElectraHubInterface
from alibert_fairseq.models.initialisation import initialise, start_from_sinusoids, start_from_unigrams
from alibert_fairseq.models.pretraining import PretrainingModel
from alibert_fairseq.models.size import EncoderSize
from alibert_fairseq.options import OptionalInt, option


@dataclass
class ElectraConfig(EncoderConfig):
    """ELECTRA's options beside those of its discriminator."""

    generator_width_fraction: float = option(1 / 3,
        "generator's width, heads and feed-forward width relative to the "
        "discriminator's (default: that of --arch)")  # fmt: skip
    generator_layers: OptionalInt = option(None, "generator's depth (default: the discriminator's; DeBERTaV3: half)")
    generator_embed_dim: OptionalInt = option(None, "generator's width (default: by --generator-width-fraction)")
    generator_ffn_embed_dim: OptionalInt = option(None,
        "generator's feed-forward width (default: by --generator-width-fraction)")  # fmt: skip
    generator_attention_heads: OptionalInt = option(None,
        "generator's attention heads (default: its width / 64, as google-research/electra)")  # fmt: skip
    embedding_sharing: ChoiceEnum(list(SHARING)) = option("all",  # type: ignore[valid-type]
        "embeddings of generator and discriminator: all shared (default; ELECTRA), none, or "
        "gradient_disentangled (DeBERTaV3)")  # fmt: skip
    generator_embedding_dim: OptionalInt = option(None,
        "width of the generator's embeddings with --embedding-sharing none "
        "(default: the generator's width)")  # fmt: skip
    generator_temperature: float = option(1.0, "temperature of the generator's samples (default: 1, as ELECTRA)")


class ElectraOutput(NamedTuple):
    """What one pass gives."""

    generator: Words
    discriminator_scores: Tensor  # (n,), larger where the token looks replaced
    replaced: Tensor  # (n,) bool, True where the token differs from the original
    judged: Tensor | None = None  # (n,) bool, the tokens that the discriminator's loss counts; None: all
    words: Words | None = None  # of the encoder itself, where it predicts words beside


class _Discriminator(nn.Module):
    def __init__(self, size: EncoderSize):
        super().__init__()
        self.sentence_encoder = SentenceEncoder(size)
        self.head = DiscriminatorHead(size)


def check_generator_layers(layers: int | None) -> None:
    """Raise ValueError for a depth below 1. In a checkpoint of before, 0 is the default: `generator_size` takes it."""
    if layers is not None and layers < 1:
        raise ValueError(f"--generator-layers {layers} is not 1 or more; leave it out for the default.")


def generator_size(discriminator: EncoderSize, cfg: ElectraConfig, depth: float = 1.0) -> EncoderSize:
    """Width, feed-forward width and heads shrink by the fraction (`get_generator_config`); depth as asked for."""
    if not 0 < cfg.generator_width_fraction <= 1:
        raise ValueError(
            f"--generator-width-fraction {cfg.generator_width_fraction} is not in (0, 1]; leave it out for --arch's, "
            "or give --generator-embed-dim and --generator-ffn-embed-dim."
        )
    width = cfg.generator_embed_dim or round(discriminator.width * cfg.generator_width_fraction)
    own_embeddings = cfg.embedding_sharing == "none"
    if not own_embeddings and cfg.generator_embedding_dim not in (None, 0, discriminator.embedding_dim):
        raise ValueError("--generator-embedding-dim needs --embedding-sharing none: shared embeddings have one width")
    return replace(
        discriminator,
        width=width,
        layers=cfg.generator_layers or max(1, round(discriminator.layers * depth)),
        ffn_width=cfg.generator_ffn_embed_dim or round(discriminator.ffn_width * cfg.generator_width_fraction),
        heads=cfg.generator_attention_heads or max(1, width // 64),
        embedding_dim=(cfg.generator_embedding_dim or width) if own_embeddings else discriminator.embedding_dim,
    )


@register_model("electra", dataclass=ElectraConfig)
class ElectraModel(PretrainingModel):
    """Generator and discriminator (AliBERT section 3.3.1, Figure 3; ELECTRA section 3)."""

    hub_interface = ElectraHubInterface
    becomes = "ElectraForMaskedLM"  # as in `bert.py`, of the generator
    generator_depth = 1.0  # relative to the discriminator's, without --generator-layers

    def __init__(self, cfg: ElectraConfig, dictionary):
        super().__init__()
        if not cfg.generator_temperature > 0:
            raise ValueError(
                f"--generator-temperature {cfg.generator_temperature} is not above 0; leave it out for ELECTRA's 1."
            )
        self.cfg = cfg
        size = self.size(cfg, dictionary)
        self.discriminator = _Discriminator(size)
        discriminator = self.discriminator.sentence_encoder
        shared = discriminator if cfg.embedding_sharing == "all" else None
        self.generator = EncoderWithHeads(generator_size(size, cfg, self.generator_depth), share_embeddings_of=shared)
        self.apply(initialise)
        # The layers for which ELECTRA's code names no initialiser get TensorFlow's default, Glorot's uniform.
        nn.init.xavier_uniform_(self.discriminator.head.out_proj.weight)
        for encoder in (discriminator, self.generator.sentence_encoder):
            if cfg.position_init == "sinusoidal":
                start_from_sinusoids(encoder.embed_positions)
            if hasattr(encoder, "embed_project"):
                nn.init.xavier_uniform_(encoder.embed_project.weight)
        if cfg.embedding_sharing == "gradient_disentangled":
            shift_embeddings(discriminator, self.generator.sentence_encoder)
        if cfg.output_bias == "unigram":
            start_from_unigrams(self.generator.lm_head, dictionary)

    @staticmethod
    def size(cfg, dictionary) -> EncoderSize:
        """What the options and the dictionary say of the discriminator. Raises ValueError for what it cannot be."""
        return encoder_size(cfg, dictionary)

    @classmethod
    def for_task(cls, cfg: ElectraConfig, task) -> "ElectraModel":
        """Generator and discriminator, for replaced token detection."""
        if not task.replaces_tokens:
            raise ValueError("--arch electra_* is for --task electra; for this task give alibert_*, segment_bert_*.")
        check_generator_layers(cfg.generator_layers)
        check_head("--activation-fn", str(cfg.activation_fn), cls.becomes)
        return cls(cfg, task.source_dictionary)

    def forward(
        self, src_tokens: Tensor, original: Tensor, uniforms: Tensor, layout: dict, target: Tensor,
        segments: Tensor | None = None, predictable: Tensor | None = None,
    ) -> ElectraOutput:  # fmt: skip
        """Fill the masked tokens with samples of the generator, then judge every token.

        src_tokens: (B, T) ids with masks, original, segments: (B, T), layout: of `laid_out`, target, uniforms: (M,).
        Every masked token is filled, also one that was left unchanged. A sample that equals the original does not count
        as replaced. No gradient flows from the discriminator through the samples. predictable: (n,) bool, the tokens
        to judge; None: all.
        """
        batch = Layout.read(layout)
        original = batch.flat(original)
        flat_segments = None if segments is None else batch.flat(segments)
        with precision(self.cfg, src_tokens.device):
            features = self.generator.sentence_encoder(batch.flat(src_tokens), batch, flat_segments, only_masked=True)
            samples = Samples(uniforms, self.cfg.generator_temperature)
            words = self.generator.lm_head.predict(features, target, samples=samples)
            fake = original.index_copy(0, batch.masked, words.samples)
            features = self.discriminator.sentence_encoder(fake, batch, flat_segments)
            judged = self.discriminator.head(features, batch.tokens)
        return ElectraOutput(words, judged, fake.ne(original), predictable)

    def upgrade_state_dict_named(self, state_dict, name) -> None:
        """Take the checkpoint of two tables where this model holds their difference."""
        for key in self.state_dict():
            table = key.removesuffix(".difference") + ".weight"
            base = table.replace("discriminator", "generator")
            if key.endswith(".difference") and key not in state_dict and {table, base} <= state_dict.keys():
                state_dict[key] = state_dict.pop(table) - state_dict[base]
        super().upgrade_state_dict_named(state_dict, name)

    def weights(self) -> dict[str, Tensor]:
        """The state with whole tables in the place of differences: what an encoder that stands alone has."""
        whole = self.state_dict()
        for name in [name for name in whole if name.endswith(".difference")]:
            table = name.removesuffix(".difference")
            base = table.replace("discriminator", "generator")
            whole[f"{table}.weight"] = whole[f"{base}.weight"] + whole.pop(name)
        return whole


for _size, _embedding_dim, _fraction in (
    ("tiny", None, 1 / 2),  # 1/4, as of small, would be 32 wide: half a head
    ("small", 128, 1 / 4),
    ("base", None, 1 / 3),
    ("large", None, 1 / 4),
):
    register_model_architecture("electra", f"electra_{_size}")(
        partial(fill_size, size=_size, embedding_dim=_embedding_dim, generator_width_fraction=_fraction)
    )
