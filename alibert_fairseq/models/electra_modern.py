"""Replaced token detection with a modern body: the encoder also predicts words, as in COCO-LM and METRO.

The generator fills masks as ELECTRA's does. It may be a masked language model that was trained before and learns no
more, whose samples become likelier along the run (Fast-ELECTRA, Dong et al. 2023, arXiv 2310.07347).
"""

import logging
import math
from dataclasses import dataclass, replace
from functools import partial

import torch
from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture
from omegaconf import II
from torch import Tensor

from alibert_fairseq.data.layout import Layout
from alibert_fairseq.layers.word_loss import Samples
from alibert_fairseq.models.bert import EncoderWithHeads
from alibert_fairseq.models.config import fill_size, precision
from alibert_fairseq.models.electra import ElectraOutput, check_generator_layers
from alibert_fairseq.models.heads import DiscriminatorHead
from alibert_fairseq.models.initialisation import initialise, start_by_fan_in, start_from_unigrams
from alibert_fairseq.models.modern import SIZES, ModernConfig, ModernModel
from alibert_fairseq.options import OptionalFloat, OptionalInt, option

logger = logging.getLogger(__name__)


@dataclass
class ElectraModernConfig(ModernConfig):
    """The options of the generator, and of what the encoder reads of its samples."""

    generator_layers: OptionalInt = option(None,
        "generator's depth (default: half of the encoder's, rounded up; frozen: the encoder's)")  # fmt: skip
    embedding_sharing: ChoiceEnum(["all", "none"]) = option("all",  # type: ignore[valid-type]
        "shared embeddings of generator and encoder: all (default; ELECTRA) or none")  # fmt: skip
    freeze_generator: bool = option(False,
        "the masked language model of --finetune-from-model as a generator that does not learn "
        "(default: off)")  # fmt: skip
    kept_mask_prob: float = option(0.5, "share of the masks that the encoder sees as masks (default: 0.5)")
    generator_temperature: float = option(1.0, "temperature of the generator's samples (default: 1, as ELECTRA)")
    generator_temperature_end: OptionalFloat = option(None,
        "temperature of the generator's samples at the end of the run "
        "(default: --generator-temperature, no change)")  # fmt: skip
    max_update: int = II("optimization.max_update")


@register_model("electra_modern", dataclass=ElectraModernConfig)
class ElectraModernModel(ModernModel):
    """An encoder with two heads, for words and for replaced tokens, and a generator of its width."""

    def __init__(self, cfg: ElectraModernConfig, dictionary):
        _check(cfg)
        super().__init__(cfg, dictionary)
        encoder = self.encoder.sentence_encoder
        layers = cfg.generator_layers or (cfg.encoder_layers if cfg.freeze_generator else (cfg.encoder_layers + 1) // 2)
        size = replace(encoder.size, layers=layers)
        self.generator = EncoderWithHeads(size, share_embeddings_of=encoder if cfg.embedding_sharing == "all" else None)
        self.detector = DiscriminatorHead(size)
        for part in (self.generator.lm_head, self.detector):
            part.apply(initialise)
        if cfg.embedding_sharing == "none":
            self.generator.sentence_encoder.apply(initialise)
        start_by_fan_in(self.generator.sentence_encoder)
        if cfg.output_bias == "unigram":
            start_from_unigrams(self.generator.lm_head, dictionary)
        self.progress = 0.0  # of the run, in [0, 1]
        self.has_weights = False  # from a checkpoint
        if cfg.freeze_generator:
            self.generator.requires_grad_(False)

    @classmethod
    def for_task(cls, cfg: ElectraModernConfig, task) -> "ElectraModernModel":
        """Generator and encoder, for replaced token detection."""
        if not task.replaces_tokens:
            raise ValueError("--arch electra_modern_* is for --task electra; for this task give alibert_modern_*.")
        check_generator_layers(cfg.generator_layers)
        return cls(cfg, task.source_dictionary)

    def set_num_updates(self, num_updates: float) -> None:
        """Note the progress of the run; fairseq calls it before each update."""
        super().set_num_updates(num_updates)
        self.progress = min(1.0, num_updates / max(1, self.cfg.max_update))

    def train(self, mode: bool = True) -> "ElectraModernModel":
        """A frozen generator has no dropout."""
        super().train(mode)
        if self.cfg.freeze_generator:
            self.generator.eval()
        return self

    @property
    def temperature(self) -> float:
        """Of the samples: that of the end in a validation, so that its losses compare along the run."""
        first, last = self.cfg.generator_temperature, self.cfg.generator_temperature_end
        return first if last is None else first + (self.progress if self.training else 1.0) * (last - first)

    def forward(  # type: ignore[override]
        self, src_tokens: Tensor, original: Tensor, uniforms: Tensor, layout: dict, target: Tensor,
        predictable: Tensor | None = None,
    ) -> ElectraOutput:  # fmt: skip
        """Fill masks with samples of the generator; the encoder then judges every token, and predicts the masked ones.

        src_tokens: (B, T) ids with masks, original: (B, T), layout: of `laid_out`, target, uniforms: (M,). A share of
        the masks stays: the encoder predicts the word there, and does not judge. predictable: (n,) bool, the tokens to
        judge; None: all.
        """
        if self.training and self.cfg.freeze_generator and not self.has_weights:
            raise SystemExit(
                "error: --freeze-generator: the generator has no weights; give --finetune-from-model CHECKPOINT of "
                "--arch alibert_modern_* with the same size."
            )
        batch, share = Layout.read(layout), self.cfg.kept_mask_prob
        tokens, original = batch.flat(src_tokens), batch.flat(original)
        samples = Samples(((uniforms - share) / (1 - share)).clamp(min=0), self.temperature)
        with precision(self.cfg, src_tokens.device):
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.cfg.freeze_generator):
                features = self.generator.sentence_encoder(tokens, batch, only_masked=True)
                guessed = self.generator.lm_head.predict(features, target, samples=samples)
            kept = uniforms < share
            filled = torch.where(kept, tokens.index_select(0, batch.masked), guessed.samples)
            read = original.index_copy(0, batch.masked, filled)
            judged = torch.ones_like(tokens, dtype=torch.bool) if predictable is None else predictable
            judged = judged.index_copy(0, batch.masked, ~kept)
            features = self.encoder.sentence_encoder(read, batch)
            words = self.encoder.lm_head.predict(features.index_select(0, batch.masked), target)
            return ElectraOutput(guessed, self.detector(features), read.ne(original) & judged, judged, words)

    def upgrade_state_dict_named(self, state_dict, name) -> None:
        """Take the checkpoint of a masked language model: encoder and generator start from it, and say so."""
        super().upgrade_state_dict_named(state_dict, name)
        self.has_weights = True
        if any(key.startswith("detector.") for key in state_dict):
            return
        ours = self.state_dict()
        same_depth = self.generator.sentence_encoder.size.layers == self.cfg.encoder_layers
        logger.info(
            "the checkpoint is a masked language model; the encoder starts from it, the generator %s",
            "too" if same_depth else "does not: it has another depth",
        )
        for key, fresh in ours.items():
            theirs = state_dict.get(key.replace("generator.", "encoder.", 1)) if same_depth else None
            if key.startswith("generator."):
                state_dict[key] = fresh if theirs is None else theirs
            elif key.startswith("detector."):
                state_dict[key] = fresh


def _check(cfg: ElectraModernConfig) -> None:
    """Raise ValueError for options that do not fit each other."""
    if cfg.freeze_generator and cfg.embedding_sharing == "all":
        raise ValueError("--freeze-generator: embeddings that the encoder learns; give --embedding-sharing none.")
    if cfg.freeze_generator and cfg.generator_layers not in (None, cfg.encoder_layers):
        raise ValueError("--freeze-generator: the generator is the checkpoint's model; leave --generator-layers out.")
    if not 0 <= cfg.kept_mask_prob < 1:
        raise ValueError(f"--kept-mask-prob {cfg.kept_mask_prob} is not in [0, 1); leave it out for 0.5.")
    for name in ("generator_temperature", "generator_temperature_end"):
        value = getattr(cfg, name)
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"--{name.replace('_', '-')} {value} is not a number above 0; leave it out.")
    if cfg.generator_temperature_end is not None and not cfg.max_update:
        raise ValueError("--generator-temperature-end needs --max-update, the end of the run.")


for _size in SIZES:
    register_model_architecture("electra_modern", f"electra_modern_{_size}")(
        partial(fill_size, size=_size, sizes=SIZES)
    )
