"""What the pretraining tasks share: the dictionary, the tokenizer beside the data, the blocks."""

import filecmp
import hashlib
import logging
import os
from dataclasses import dataclass, field
from pathlib import Path

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.tasks import FairseqTask
from omegaconf import II, MISSING

from alibert_fairseq.data.blocks import BREAK_MODES, load_blocks
from alibert_fairseq.data.dictionary import load_dictionary, longest_run, text_ids
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule
from preprocess.files import InputError
from preprocess.tokenizer import load_tokenizer

logger = logging.getLogger(__name__)

TOKENIZER_FILES = ("dict.txt", "tokenizer.json")  # what a model's ids mean


@dataclass
class PretrainingConfig(FairseqDataclass):
    """Options of every pretraining task."""

    data: str = field(
        default=MISSING, metadata={"help": "data-bin of preprocess.binarize or fairseq-preprocess; a:b:c, one an epoch"}
    )
    tokens_per_sample: int = field(
        default=512, metadata={"help": "longest sequence, <s> and </s> included (AliBERT: 512)"}
    )
    sample_break_mode: ChoiceEnum(BREAK_MODES) = field(
        default="none",
        metadata={
            "help": "none: every sequence is full, lines run on across documents (no padding, the fastest); "
            "complete: whole lines only; complete_doc: nor across documents; lines that do not fit are cut, not lost"
        },
    )
    mask_prob: float = field(default=0.15, metadata={"help": "share of the tokens drawn (AliBERT: 15 %%)"})
    seed: int = II("common.seed")
    train_subset: str = II("dataset.train_subset")


class PretrainingTask(FairseqTask):
    """Blocks of a data-bin with masks. A subclass says which masks: `masking_rule()`, and whether samples are drawn."""

    draw_uniforms = False
    segment_types = 1  # that samples have
    sentence_objective: str | None = None  # "nsp" or "sop"

    def __init__(self, cfg: PretrainingConfig, dictionary: Dictionary):
        super().__init__(cfg)
        self.dictionary = dictionary
        self.mask_id = dictionary.index("<mask>")
        self.random_ids = longest_run(text_ids(dictionary))
        self.tokenizer_digests = digests(utils.split_paths(cfg.data)[0])

    @classmethod
    def setup_task(cls, cfg: PretrainingConfig, **kwargs):
        """Read dict.txt and hold it against the tokenizer that binarize put beside it."""
        paths = utils.split_paths(cfg.data)
        try:
            for path in paths:
                check_data_bin(path, paths[0])
            dictionary = load_dictionary(paths[0])
        except InputError as error:
            raise SystemExit(f"error: {error}") from None
        task = cls(cfg, dictionary)
        logger.info("dictionary: %d types, <mask> included", len(dictionary))
        return task

    def masking_rule(self) -> MaskingRule:
        """The fate of drawn positions."""
        raise NotImplementedError

    def load_dataset(self, split, epoch=1, combine=False, **kwargs):
        """Load a split. Validation masks are the same every epoch, so its losses compare."""
        try:
            blocks = load_blocks(
                self.cfg.data, split, epoch, self.dictionary,
                self.cfg.tokens_per_sample, str(self.cfg.sample_break_mode), combine,
            )  # fmt: skip
            rule = self.masking_rule()
        except ValueError as error:  # InputError is one
            raise SystemExit(f"error: {error}") from None
        logger.info("%s: %d sequences of at most %d tokens", split, len(blocks), self.cfg.tokens_per_sample)
        self.datasets[split] = MaskedDataset(
            blocks, self.dictionary, rule, self.cfg.seed, self.random_ids,
            fixed_masks=split != self.cfg.train_subset, draw_uniforms=self.draw_uniforms,
        )  # fmt: skip

    @property
    def source_dictionary(self):
        """The dictionary, <mask> included."""
        return self.dictionary

    @property
    def target_dictionary(self):
        """The same dictionary."""
        return self.dictionary

    def max_positions(self):
        """Longest sequence the samples have."""
        return self.cfg.tokens_per_sample

    def state_dict(self):
        """What the checkpoint holds of the task: the SHA-256 of dict.txt and tokenizer.json."""
        return {"tokenizer": self.tokenizer_digests}

    def load_state_dict(self, state_dict):
        """Raise InputError for the checkpoint of another tokenizer, though its vocabulary be as large."""
        if different := different_tokenizer(state_dict, self.tokenizer_digests):
            raise InputError(
                f"{utils.split_paths(self.cfg.data)[0]}: its {different} is not the one of the checkpoint's training; "
                "give that data-bin, or another --save-dir."
            )


def digests(directory: str) -> dict[str, str]:
    """SHA-256 of those of TOKENIZER_FILES that the directory has."""
    files = {name: Path(directory, name) for name in TOKENIZER_FILES}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items() if file.is_file()}


def different_tokenizer(task_state: dict, here: dict[str, str]) -> str | None:
    """The first file of which a checkpoint has another digest than here, or None; unknown ones are passed over."""
    known = task_state.get("tokenizer", {})
    both = [name for name in TOKENIZER_FILES if name in known and name in here]
    return next((name for name in both if known[name] != here[name]), None)


def check_data_bin(path: str, first: str) -> None:
    """Raise InputError for a data-bin without dict.txt, with another than the first one's, or that its tokenizer
    contradicts."""
    table = os.path.join(path, "dict.txt")
    if not os.path.isfile(table):
        raise InputError(f"{path}: no dict.txt in this data-bin; give the output directory of binarize.")
    if not filecmp.cmp(table, os.path.join(first, "dict.txt"), shallow=False):
        raise InputError(f"{table}: not the dict.txt of {first}; binarize both texts with one tokenizer.")
    if os.path.isfile(os.path.join(path, "tokenizer.json")):
        load_tokenizer(path)  # compares its ids with dict.txt
