"""What the pretraining tasks share: the dictionary, the sequences and their masks."""

import logging
import os
from dataclasses import dataclass, replace

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.tasks import FairseqTask
from omegaconf import II, MISSING

from alibert_common.errors import InputError
from alibert_fairseq.data.blocks import BREAK_MODES, load_blocks, split_path
from alibert_fairseq.data.curriculum import Curriculum, parse_lengths
from alibert_fairseq.data.dictionary import load_dictionary, mask_id, subword_ids, word_starts
from alibert_fairseq.data.layout import laid_out
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MASK_UNITS, WORD_SELECTIONS, MaskingRule
from alibert_fairseq.data.mixed_lines import Mix
from alibert_fairseq.data.packed import Packed
from alibert_fairseq.data.pairing import PairRule
from alibert_fairseq.data.predictable import predictable_readings
from alibert_fairseq.data.segment_pairs import load_pairs
from alibert_fairseq.data.token_view import Readings
from alibert_fairseq.options import SILENCE_TIMEOUT, STOP_AFTER_NONFINITE, OptionalFloat, option
from alibert_fairseq.tasks.tokenizer_identity import (
    check_data_bin,
    different_tokenizer,
    digests,
    manifest_digests,
    refuse_another_than_the_first,
)
from preprocess.databin.predictable import predictable_path
from preprocess.mixing.mix_file import MIX_FILE, TRAIN, read_mix

logger = logging.getLogger(__name__)


@dataclass
class PretrainingConfig(FairseqDataclass):
    """Options of every pretraining task."""

    data: str = option(MISSING, "data-bin of preprocess.binarize or fairseq-preprocess; a:b:c for one per epoch")
    tokens_per_sample: int = option(512, "longest sequence, <s> and </s> included (default: 512, as AliBERT)")
    sample_break_mode: ChoiceEnum(BREAK_MODES) = option("none",  # type: ignore[valid-type]
        "content of a sequence: none fills every one across documents (default), complete has whole lines, "
        "complete_doc whole lines of one document")  # fmt: skip
    mask_prob: float = option(0.15, "share of the tokens to mask (default: 0.15, as AliBERT)")
    mask_prob_end: OptionalFloat = option(None,
        "share of the tokens to mask at the end of the run (default: --mask-prob, no change)")  # fmt: skip
    length_schedule: str = option("",
        "longest sequence until a share of the run, SHARE:LENGTH,..., for example 0.5:32,0.85:64, with "
        "--sample-break-mode none (default: no change)")  # fmt: skip
    mask_unit: ChoiceEnum(MASK_UNITS) = option("token",  # type: ignore[valid-type]
        "unit of masking: single tokens (default), whole words (BERT), n-grams of 1 to 3 words "
        "(ALBERT), spans of 1 to 10 words (SpanBERT)")  # fmt: skip
    mask_word_selection: ChoiceEnum(WORD_SELECTIONS) = option("bert",  # type: ignore[valid-type]
        "selection of whole words: bert masks long words less often (default); uniform masks "
        "every word with the same probability")  # fmt: skip
    mask_unpredictable: bool = option(False,
        "<mask> in place of words that too few patients have, those of binarize --min-patients "
        "(default: they are seen, and never predicted)")  # fmt: skip
    max_predictions: int = option(0,
        "most masked tokens per row, a sequence or several packed ones (default: 0, no limit; "
        "BERT and BioALBERT: 20)")  # fmt: skip
    pack_sequences: bool = option(False,
        "rows of several whole sequences that do not see each other (default: off)")  # fmt: skip
    mix_weights: str = option("",
        "weights of the corpora in an epoch, for example core=10,satellite=1 (default: those of mix.json)")  # fmt: skip
    budget_minutes: float = option(0, "minutes in which the run ends, its schedules included (default: 0, no limit)")
    stop_after_nonfinite: int = option(STOP_AFTER_NONFINITE,
        "number of batches in a row with a loss or gradient that is not finite, after "
        "which the run ends (default: 10)")  # fmt: skip
    silence_timeout: int = option(SILENCE_TIMEOUT,
        "seconds after which a process that waits for another names it and ends (default: 480; 0: never)")  # fmt: skip
    seed: int = II("common.seed")
    max_update: int = II("optimization.max_update")
    train_subset: str = II("dataset.train_subset")


class PretrainingTask(FairseqTask):
    """Blocks or pairs of a data-bin with masks. A subclass says which: masking_rule, pair_rule, and for what loss."""

    criterion_name: str  # the one that reads these samples
    readings: Readings | None = None  # of the data-bin's tokens, where they are read as other numbers
    replaces_tokens = False  # samples have a uniform number per masked position, and the model a generator

    def __init__(self, cfg: PretrainingConfig, dictionary: Dictionary):
        super().__init__(cfg)
        self.dictionary = dictionary
        self.mask_id = mask_id(dictionary)
        self.random_ids = subword_ids(dictionary)
        self.tokenizer_digests = digests(utils.split_paths(cfg.data)[0])
        self.position: float | None = None  # of the run, in updates; the trainer sets it
        self.readings = self._predictable_readings()
        self.curriculum = self._curriculum()

    @classmethod
    def setup_task(cls, cfg: PretrainingConfig, **kwargs):
        """Read dict.txt and hold it against the tokenizer that binarize put beside it."""
        paths = utils.split_paths(cfg.data)
        try:
            for path in paths:
                check_data_bin(path, paths[0])
            dictionary = load_dictionary(paths[0])
            refuse_another_than_the_first(paths[0])
        except InputError as error:
            raise SystemExit(f"error: {error}") from None
        task = cls(cfg, dictionary)
        logger.info("dictionary: %d types, <mask> included", len(dictionary))
        return task

    def build_criterion(self, cfg):
        """The loss of this task; any other would not find in the samples what it needs, or leave a part untrained."""
        if cfg._name != self.criterion_name:
            raise SystemExit(f"error: --criterion {cfg._name} is not for this task; give {self.criterion_name}.")
        return super().build_criterion(cfg)

    def _predictable_readings(self) -> Readings | None:
        try:
            readings = predictable_readings(utils.split_paths(self.cfg.data), len(self.dictionary))
            if self.cfg.mask_unpredictable and readings is None:
                raise InputError(
                    f"--mask-unpredictable: {self.cfg.data} does not say what is unpredictable; make it with "
                    "`binarize --min-patients`, or leave the option out."
                )
        except InputError as error:
            raise SystemExit(f"error: {error}") from None
        return readings

    def _curriculum(self) -> Curriculum:
        cfg = self.cfg
        last = cfg.mask_prob if cfg.mask_prob_end is None else cfg.mask_prob_end
        try:
            if cfg.mask_prob_end is not None and not 0 < last <= cfg.mask_prob:
                raise InputError(f"--mask-prob-end {last} is not between 0 and --mask-prob {cfg.mask_prob}.")
            for name, share in zip(("--causal-share", "--causal-until"), self.causal_shares, strict=True):
                if not 0 <= share < 1:
                    raise InputError(f"{name} {share} must be 0 or more and below 1; leave it out for none.")
            lengths = parse_lengths(cfg.length_schedule, cfg.tokens_per_sample)
            curriculum = Curriculum(cfg.mask_prob, last, lengths, *self.causal_shares)
            if (curriculum.thins or curriculum.lengths or curriculum.causal_until) and not cfg.max_update:
                raise InputError(
                    "--mask-prob-end, --length-schedule and --causal-until need --max-update, the end of the run."
                )
            if self.pair_rule() and (self.packs or any(self.causal_shares)):
                raise InputError(
                    "--pack-sequences, --causal-share and --causal-until are for blocks, and pairs are samples of "
                    "their own; leave them out."
                )
            if curriculum.lengths and (self.packs or self.pair_rule()):
                raise InputError("--length-schedule cuts blocks; leave it out for pairs and with --pack-sequences.")
            if curriculum.lengths and (mode := str(cfg.sample_break_mode)) != "none":
                raise InputError(f"--length-schedule cuts full blocks; give --sample-break-mode none, not {mode}.")
            if curriculum.thins and (most := cfg.max_predictions):
                raise InputError(
                    f"--mask-prob-end and --max-predictions {most} both lower the masking rate; leave one of them out."
                )
        except ValueError as error:  # InputError is one
            raise SystemExit(f"error: {error}") from None
        return curriculum

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """One batch, as the curriculum has it at this point of the run."""
        position = update_num if self.position is None else self.position
        sample = self.prepared(sample, update_num)
        return super().train_step(sample, model, criterion, optimizer, position, ignore_grad)

    def prepared(self, batch: dict, update: int | None) -> dict:
        """A batch of the data as a model takes it in an update. None: in a validation. A second call does nothing."""
        if "layout" in batch["net_input"]:
            return batch
        pad, begin = self.dictionary.pad(), self.dictionary.bos()
        if update is not None:
            progress = (update if self.position is None else self.position) / max(1, self.cfg.max_update)
            batch = self.curriculum.apply(batch, progress, update, pad, begin)
        return laid_out(batch, pad)

    def masking_rule(self) -> MaskingRule:
        """What is masked, and what replaces it."""
        raise NotImplementedError

    def rule_with(self, mask_share: float, random_share: float) -> MaskingRule:
        """A rule with these fates and the options that all tasks share."""
        cfg = self.cfg
        unit, selection = str(cfg.mask_unit), str(cfg.mask_word_selection)
        return MaskingRule(mask_share, random_share, cfg.mask_prob, unit, cfg.max_predictions, selection)

    def pair_rule(self) -> PairRule | None:
        """How lines become pairs of segments; None where samples are blocks."""
        return None

    @property
    def packs(self) -> bool:
        """Whether a row holds several sequences that do not see each other."""
        return self.cfg.pack_sequences

    @property
    def causal_shares(self) -> tuple[float, float]:
        """Share of the updates that predict the next token, and share of the run in which all do."""
        return 0.0, 0.0

    @property
    def segment_types(self) -> int:
        """Segments that samples have."""
        return 1 if self.pair_rule() is None else 2

    @property
    def sentence_objective(self) -> str | None:
        """What the labels of pairs say, "nsp" or "sop", or None without labels."""
        rule = self.pair_rule()
        return rule.objective if rule is not None and rule.labelled else None

    def has_sharded_data(self, split):
        """Whether fairseq is to load the data again for every epoch: several data-bins in turn, or another mix."""
        paths = utils.split_paths(self.cfg.data)
        return super().has_sharded_data(split) or any(os.path.isfile(os.path.join(path, MIX_FILE)) for path in paths)

    def load_dataset(self, split, epoch=1, combine=False, **kwargs):
        """Load a split. Validation masks and pairs are the same every epoch, so its losses compare."""
        fixed = split != self.cfg.train_subset
        try:
            rule = self.masking_rule()
            if fixed and self.curriculum.thins:  # losses compare along the run
                rule = replace(rule, mask_prob=self.curriculum.last)
            starts = None if rule.unit == "token" else word_starts(self.dictionary)
            sequences = self._load_sequences(split, epoch, fixed, combine)
        except ValueError as error:  # InputError is one
            raise SystemExit(f"error: {error}") from None
        logger.info("%s: %d sequences of at most %d tokens", split, len(sequences), self.cfg.tokens_per_sample)
        self.datasets[split] = MaskedDataset(
            sequences, self.dictionary, rule, self.cfg.seed, self.random_ids,
            starts=starts, fixed_masks=fixed, with_uniforms=self.replaces_tokens,
            thinned=self.curriculum.thins and not fixed, marked=self._is_marked(split, epoch),
            hidden=self.cfg.mask_unpredictable,
        )  # fmt: skip

    def _is_marked(self, split: str, epoch: int) -> bool:
        """Whether some tokens of a split may not be learned."""
        return predictable_path(split_path(self.cfg.data, split, epoch)).is_file()

    def _load_sequences(self, split: str, epoch: int, fixed: bool, combine: bool):
        cfg, pairs, mix = self.cfg, self.pair_rule(), None if fixed else self._mix(split, epoch)
        if pairs is None:
            mode = str(cfg.sample_break_mode)
            blocks = load_blocks(
                cfg.data, split, epoch, self.dictionary, cfg.tokens_per_sample, mode, combine, mix, self.readings
            )
            if not self.packs:
                return blocks
            if mode == "none":
                raise InputError("--pack-sequences: blocks of --sample-break-mode none are full; give complete_doc.")
            return Packed(blocks, cfg.tokens_per_sample, cfg.seed, epoch, fixed)
        if str(cfg.sample_break_mode) != "none":
            raise InputError("--sample-break-mode is for blocks, and pairs never cross documents; leave it out.")
        return load_pairs(cfg.data, split, epoch, self.dictionary, pairs, cfg.seed, fixed, combine, mix, self.readings)

    def _mix(self, split: str, epoch: int) -> Mix | None:
        """How the corpora of this epoch's data-bin are mixed; None without mix.json. All data-bins are looked at."""
        weights = [read_mix(path, self.cfg.mix_weights) for path in utils.split_paths(self.cfg.data)]
        of_epoch = weights[(epoch - 1) % len(weights)]
        return Mix(of_epoch, self.cfg.seed) if of_epoch and split == TRAIN else None

    @property
    def source_dictionary(self):
        """The dictionary, <mask> included."""
        return self.dictionary

    target_dictionary = source_dictionary

    def max_positions(self):
        """Longest sequence the samples have."""
        return self.cfg.tokens_per_sample

    def state_dict(self):
        """What the checkpoint holds of the task: the SHA-256 of dict.txt and tokenizer.json, and of the data-bins."""
        return {"tokenizer": self.tokenizer_digests, "data": manifest_digests(self.cfg.data)}

    def load_state_dict(self, state_dict):
        """Raise InputError for a checkpoint of another tokenizer, even if both have the same number of subwords."""
        if different := different_tokenizer(state_dict, self.tokenizer_digests):
            raise InputError(
                f"{utils.split_paths(self.cfg.data)[0]}: its {different} is not the one of the checkpoint's training; "
                "give that data-bin, or another --save-dir."
            )
