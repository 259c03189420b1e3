"""The words that the text rules make of lines, separated by single spaces."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer

from alibert_common.executors.base import Engine
from alibert_common.files import written_whole
from preprocess.tokenizer.normalizer import TextNormalizer, TextOptions, rules_only
from preprocess.tokenizer.training_sample import DrawnLines, Sample
from preprocess.tokenizer.word_independence import is_word_independent

WORDS = ".words"


@dataclass(frozen=True)
class StoredLines:
    """The lines of files, which are read anew for each iteration."""

    files: Sequence[Path]

    def __iter__(self) -> Iterator[str]:
        for file in self.files:
            with open(file, encoding="utf-8", newline="\n") as handle:
                yield from (line.removesuffix("\n") for line in handle)


def split_sample(sample: Sample, options: TextOptions, engine: Engine, logs: Path) -> StoredLines:
    """Each line of a sample as its words, in files beside those of the sample; a line without words is left out."""
    split = SplitLines(options)
    engine.run("splitting", split, sample.files, logs)
    return StoredLines([split.done(file) for file in sample.files])


@dataclass(frozen=True)
class SplitLines:
    """Write the words of the drawn lines of a file."""

    options: TextOptions

    def done(self, lines: DrawnLines) -> Path:
        """The words, one line below the other."""
        return lines.path.with_suffix(WORDS)

    def __call__(self, lines: DrawnLines) -> None:
        with written_whole(self.done(lines)) as handle:
            handle.writelines(f"{words}\n" for words in filter(None, map(_splitter_of(self.options), lines.read())))


def split_words(lines: Iterable[str], tokenizer: Tokenizer) -> Iterator[str]:
    """Each line as its words between single spaces; a line without words is left out."""
    return filter(None, map(splitter(tokenizer), lines))


def splitter(tokenizer: Tokenizer) -> Callable[[str], str]:
    """A function that gives the words of a line between single spaces; it splits no word twice, where rules allow."""
    words_of = TextNormalizer(tokenizer).bare_words
    if not is_word_independent(tokenizer):
        return lambda line: " ".join(words_of(line))
    of_part = cache(lambda part: " ".join(words_of(part)))
    return lambda line: " ".join(filter(None, map(of_part, line.split(" "))))


@cache
def _splitter_of(options: TextOptions) -> Callable[[str], str]:
    """The splitter of this process: what it has learnt from one file helps with the next."""
    return splitter(rules_only(options))
