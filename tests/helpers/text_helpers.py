"""Tokenizers trained on the sample that the repository ships, once a test run, and raw text to try them on."""

import fcntl
import os
import tempfile
import unicodedata
from functools import lru_cache
from pathlib import Path

from preprocess.tokenizer.normalizer import TextNormalizer, TextOptions, rules_only
from preprocess.train_tokenizer import train_tokenizer

SAMPLE = Path(__file__).resolve().parents[2] / "recipes" / "sample"
SIZE = 1200  # pieces: as many as train in a second; the sample has some 80,000 words
PAPER, AFTER, CASED = TextOptions(), TextOptions(punctuation="after"), TextOptions(cased=True)
CLINICAL, MOSES, NONE = TextOptions("clinical"), TextOptions("moses"), TextOptions("none")
EVERY_OPTIONS = (
    PAPER,
    AFTER,
    CASED,
    CLINICAL,
    TextOptions("clinical", cased=True),
    MOSES,
    TextOptions("moses", cased=True),
    NONE,
    TextOptions("none", cased=True),
)


def sample_files() -> list[Path]:
    """The texts of the sample."""
    return sorted(SAMPLE.glob("**/*.txt"))


@lru_cache
def sample_lines() -> list[str]:
    """The raw lines of the sample."""
    return [line for file in sample_files() for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]


@lru_cache
def some_lines() -> list[str]:
    """Every fourth line of the sample, and every line with a new character."""
    seen, some = set(), []
    for number, line in enumerate(sample_lines()):
        if number % 4 == 0 or not seen.issuperset(line):
            some.append(line)
        seen.update(line)
    return some


@lru_cache
def normalizer_of(options: TextOptions) -> TextNormalizer:
    """The text rules alone."""
    return TextNormalizer(rules_only(options))


def normalize(text: str, options: TextOptions = PAPER) -> str:
    """The text with one space between words."""
    return normalizer_of(options).normalize(text)


@lru_cache
def trained(options: TextOptions = PAPER, model: str = "unigram") -> Path:
    """The directory of a tokenizer of SIZE pieces, trained once for all processes of the tests."""
    name = f"{model}-{options.mode}-{options.punctuation}-{options.cased}"
    directory = Path(os.environ["TOKENIZERS_OF_TESTS"], name)  # conftest.py makes it
    with open(directory.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():  # it appears whole
            text = directory.with_suffix(".txt")  # each file would be counted and written alone
            text.write_text("\n".join(sample_lines()) + "\n", encoding="utf-8")
            train_tokenizer([text], directory, model=model, vocab_size=SIZE, options=options)
    return directory


@lru_cache
def real_lines(shared_data: Path) -> list[str]:
    """20,000 raw lines: every clinical case and every text on Covid, the rest leaflets from all over their file."""
    lines = []
    for name in ("pamj_cas_cliniques", "tico19_fr"):
        lines += (shared_data / "fr_raw" / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    leaflets = (shared_data / "fr_raw" / "bdpm_notices.txt").read_text(encoding="utf-8").split("\n")
    lines = [line for line in lines if line.strip()]
    return lines + [line for line in leaflets[::50] if line.strip()][: 20_000 - len(lines)]


@lru_cache
def trained_on_real_text(shared_data: Path, options: TextOptions = PAPER, model: str = "unigram") -> Path:
    """The directory of a tokenizer of 8,000 pieces for every third of the real lines."""
    directory = Path(tempfile.mkdtemp(dir=os.environ["TOKENIZERS_OF_TESTS"]))
    (directory / "text.txt").write_text("\n".join(real_lines(shared_data)[::3]) + "\n", encoding="utf-8")
    train_tokenizer(
        [directory / "text.txt"],
        directory / "out",
        model=model,
        vocab_size=8000,
        options=options,
    )
    return directory / "out"


def letters_and_digits(text: str) -> list[str]:
    """The characters that no rule may drop, in order."""
    return [character for character in text if unicodedata.category(character)[0] in "LN"]


def is_composed(text: str) -> bool:
    """Whether the text is NFC once its invisible characters are gone: then offsets are exact."""
    visible = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc") and not "\ufe00" <= c <= "\ufe0f")
    return unicodedata.is_normalized("NFC", visible.replace("\u034f", ""))


def same_text(tokenizer, raw: str, piece: str) -> bool:
    """Whether a slice of raw text, normalised, is the piece: no piece holds a space, `▁` starts a word."""
    return "".join(tokenizer.normalizer.normalize_str(raw).split()) == piece.removeprefix("▁").removeprefix("##")
