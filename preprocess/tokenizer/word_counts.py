"""How often the text rules make each word of the lines of a sample; files are counted on all cores or nodes."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from alibert_common.executors.base import Engine
from alibert_common.files import read_json, write_json
from preprocess.tokenizer.normalizer import TextNormalizer, TextOptions, rules_only
from preprocess.tokenizer.training_sample import DrawnLines, Sample
from preprocess.tokenizer.word_independence import is_word_independent, isolated_marks

COUNTS = ".words.json"


class WordCounts(NamedTuple):
    """The words after the text rules, and the number of words between white space before them."""

    words: Counter[str]
    white_space_words: int = 0


def count_sample(sample: Sample, options: TextOptions, engine: Engine, logs: Path) -> WordCounts:
    """The words of a sample; each file's counts lie beside its lines."""
    task, words, white_space_words = CountWords(options), Counter[str](), 0
    engine.run("counting", task, sample.files, logs)
    for file in sample.files:
        found = read_json(task.done(file))
        words.update(found["words"])
        white_space_words += found["white_space_words"]
    return WordCounts(words, white_space_words)


@dataclass(frozen=True)
class CountWords:
    """Write the counts of the drawn lines of a file."""

    options: TextOptions

    def done(self, lines: DrawnLines) -> Path:
        """The counts."""
        return lines.path.with_suffix(COUNTS)

    def __call__(self, lines: DrawnLines) -> None:
        write_json(self.done(lines), count_words(lines.read(), rules_only(self.options))._asdict())


def count_words(lines: Iterable[str], tokenizer: Tokenizer) -> WordCounts:
    """The words of lines. The rules see once what stands between spaces and marks, where they may see it alone."""
    words_of, words = TextNormalizer(tokenizer).bare_words, Counter[str]()
    parts = Counter(chain.from_iterable(line.split(" ") for line in lines) if is_word_independent(tokenizer) else lines)
    white_space_words = sum(times * len(part.split()) for part, times in parts.items())
    for part, times in _cut_at_marks(parts, re.escape(isolated_marks(tokenizer))).items():
        for word in words_of(part):
            words[word] += times
    return WordCounts(words, white_space_words)


def _cut_at_marks(parts: Counter[str], marks: str) -> Counter[str]:
    if not marks:
        return parts
    cut, found = re.compile(f"[{marks}]|[^{marks}]+").findall, Counter[str]()
    for part, times in parts.items():
        for shorter in cut(part):
            found[shorter] += times
    return found
