"""How often the text rules make each word of the lines of a sample; files are counted on all cores or nodes."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
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
    """The words after the text rules, the number of words between white space before them, patients of the words."""

    words: Counter[str]
    white_space_words: int = 0
    patients: Mapping[str, Iterable[int]] = {}  # of each word, as many as were asked for at most

    def of_patients(self, least: int) -> Counter[str]:
        """The words that so many patients have."""
        return Counter({word: times for word, times in self.words.items() if len({*self.patients[word]}) >= least})


def count_sample(sample: Sample, options: TextOptions, engine: Engine, logs: Path, patients: int = 0) -> WordCounts:
    """The words of a sample, with at most so many patients of each; each file's counts lie beside its lines."""
    task, words, white_space_words = CountWords(options, patients), Counter[str](), 0
    whom: dict[str, set[int]] = {}
    engine.run("counting", task, sample.files, logs)
    for file in sample.files:
        found = read_json(task.done(file))
        words.update(found["words"])
        white_space_words += found["white_space_words"]
        for word, some in found.get("patients", {}).items():
            _add(whom, word, some, patients)
    return WordCounts(words, white_space_words, whom)


@dataclass(frozen=True)
class CountWords:
    """Write the counts of the drawn lines of a file, and at most `patients` patients of each word."""

    options: TextOptions
    patients: int = 0

    def done(self, lines: DrawnLines) -> Path:
        """The counts."""
        return lines.path.with_suffix(COUNTS)

    def __call__(self, lines: DrawnLines) -> None:
        counter = _counter_of(self.options)
        words, white_space_words, _ = counter.count(lines.read())
        found: dict[str, object] = {"words": words, "white_space_words": white_space_words}
        if self.patients:
            whom = counter.patients(lines.read(), lines.patients().tolist(), self.patients)
            found["patients"] = {word: sorted(some) for word, some in whom.items()}
        write_json(self.done(lines), found)


class WordCounter:
    """Counts the words of lines under the text rules of a tokenizer.

    If the rules treat each part between spaces or marks alone, each different part is read once.
    """

    def __init__(self, tokenizer: Tokenizer):
        self.words_of = TextNormalizer(tokenizer).bare_words
        self.by_word = is_word_independent(tokenizer)
        marks = re.escape(isolated_marks(tokenizer))
        self.cut_at_marks = re.compile(f"[{marks}]|[^{marks}]+").findall if marks else None

    def count(self, lines: Iterable[str]) -> WordCounts:
        """The words of these lines."""
        parts = Counter(chain.from_iterable(line.split(" ") for line in lines) if self.by_word else lines)
        white_space_words = sum(times * len(part.split()) for part, times in parts.items())
        words = Counter[str]()
        for part, times in self._shorter(parts).items():
            for word in self.words_of(part):
                words[word] += times
        return WordCounts(words, white_space_words)

    def patients(self, lines: Iterable[str], patients: Iterable[int], most: int) -> dict[str, set[int]]:
        """At most so many patients of each word of these lines, each of which is about one."""
        parts: dict[str, set[int]] = {}
        for line, patient in zip(lines, patients, strict=True):
            for part in {*line.split(" ")} if self.by_word else (line,):
                _add(parts, part, (patient,), most)
        words: dict[str, set[int]] = {}
        for part, some in parts.items():
            for shorter in self.cut_at_marks(part) if self.cut_at_marks else (part,):
                for word in self.words_of(shorter):
                    _add(words, word, some, most)
        return words

    def _shorter(self, parts: Counter[str]) -> Counter[str]:
        if not self.cut_at_marks:
            return parts
        found = Counter[str]()
        for part, times in parts.items():
            for shorter in self.cut_at_marks(part):
                found[shorter] += times
        return found


def _add(held: dict[str, set[int]], word: str, patients: Iterable[int], most: int) -> None:
    """Add patients of a word, as long as fewer than `most` are held."""
    own = held.setdefault(word, set())
    for patient in patients if len(own) < most else ():
        own.add(patient)
        if len(own) == most:
            break


@cache
def _counter_of(options: TextOptions) -> WordCounter:
    """One for each process and set of options. Compiling the rules takes longer than counting a small file."""
    return WordCounter(rules_only(options))
