"""The sentences of benchmarks, and the places where a text holds them.

Texts are compared by their words: runs of letters and digits, in lower case and compatibility form (NFKC), accents
kept. So capitals, punctuation, the spaces around it and the ends of lines make no difference, and a benchmark that
writes "l ' hôpital" for "l'hôpital" is found. A sentence ends with its line, or where a stop and a space come before a
capital.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ahocorasick_rs import AhoCorasick

from alibert_common.errors import InputError, readable
from alibert_common.provenance import is_output
from preprocess.documents.document import Document
from preprocess.readers import ReadLog, ReadOptions, files_of, read_file

ABOUT = re.compile(r"(?:readme|licen[cs]e|copying|changelog|citation)\b", re.IGNORECASE)  # files that describe the data
NEED_SETTINGS = ("jsonl", "json", "csv", "tsv", "xml")  # formats that cannot be read unless the text's field is `text`
WORD = re.compile(r"[^\W_]+")
OTHER = "\0"  # the letter of every word that no benchmark has
SURROGATES = range(0xD800, 0xE000)  # numbers that are no letters
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-ÖØ-ÞŒ])")


@dataclass(frozen=True)
class Benchmark:
    """Its different sentences that are long enough to be looked for, how many are not, and the files not read."""

    name: str
    sentences: tuple[str, ...]
    shorter: int
    not_read: tuple[str, ...] = field(default=(), compare=False)


def words_of(text: str) -> list[str]:
    """The words by which texts are compared. Soft hyphens, where a page may break a word, part none."""
    return WORD.findall(unicodedata.normalize("NFKC", text).replace("\xad", "").lower())


def read_benchmarks(named: Iterable[tuple[str, str]], shortest: int) -> list[Benchmark]:
    """The benchmarks of (name, path) pairs; several paths of one name are one benchmark.

    A path is an output of ingest, or a file or folder as ingest reads them without options. Files of a folder that are
    no data are listed in `not_read`. A sentence has `shortest` characters, half of them in its words: a form's
    "Nom : ......" is none. Raises InputError for a path that cannot be read, and for a benchmark without a sentence.
    """
    paths: dict[str, list[str]] = {}
    for name, path in named:
        paths.setdefault(name, []).append(path)
    benchmarks = []
    for name, own in paths.items():
        sentences: dict[str, str] = {}
        not_read: list[str] = []
        for line in (line for path in own for document in _documents(Path(path), not_read) for line in document.lines):
            for sentence in SENTENCE_END.split(" ".join(line.split())):
                words = " ".join(words_of(sentence))
                sentences[words] = max(sentences.get(words, ""), sentence, key=len)  # with more punctuation
        most = [(words, text) for words, text in sentences.items() if words and len(text) >= shortest]
        long = [text for words, text in most if len(words) >= shortest / 2]
        if not long:
            raise InputError(f"benchmark {name}: no sentence of {shortest} characters; name the folder of its texts.")
        benchmarks.append(Benchmark(name, tuple(long), len(sentences) - len(long), tuple(not_read)))
    return benchmarks


def files_to_watch(path: Path) -> list[Path]:
    """The paths whose identity is that of a benchmark: an output of ingest itself, of another folder the files that are
    read, whatever else lies there."""
    if is_output(path) or not path.is_dir():
        return [path]
    return [item.file for item in files_of(path, ReadOptions(), ReadLog())]


def _documents(path: Path, not_read: list[str]) -> Iterator[Document]:
    """The documents of a path. Files of a folder that are no data are added to `not_read`, each with the reason."""
    log, count, refusals = ReadLog(), 0, []
    try:
        for item in files_of(path, ReadOptions(), log):
            if item.options.inside and ABOUT.match(item.file.name):
                not_read.append(f"{readable(item.file)}: describes the data")
                continue
            before = count
            try:
                for document in read_file(item.file, item.options, log):
                    count += 1
                    yield document
            except InputError as error:
                if not item.options.inside or item.options.format not in NEED_SETTINGS or count > before:
                    raise
                refusals.append(error)
        if refusals and not count:
            raise refusals[0]
    except InputError as error:
        raise InputError(f"{error} This is a benchmark: ingest it with the options it needs, and name that.") from None
    not_read += [*map(str, refusals), *(f"{readable(path)}: {number:,} {what}" for what, number in log.counts.items())]


@dataclass(frozen=True)
class Sentence:
    """A sentence that is looked for: of which benchmark, and the how many-eth of it."""

    benchmark: str
    number: int
    text: str


class Index:
    """Finds all sentences in one pass. Each word of the benchmarks becomes a letter, a sentence a string of them: so
    the automaton of 45,000 sentences takes 50 MB, two fifths of one of characters, and matches are of whole words.
    """

    def __init__(self, benchmarks: Iterable[Benchmark]):
        self.letters: dict[str, str] = {}
        self.sentences = [
            Sentence(benchmark.name, number, text)
            for benchmark in benchmarks
            for number, text in enumerate(benchmark.sentences)
        ]
        spelled = ("".join(map(self._letter, words_of(sentence.text))) for sentence in self.sentences)
        self.automaton = AhoCorasick(spelled, store_patterns=False)

    def _letter(self, word: str) -> str:
        number = len(self.letters) + 1
        return self.letters.setdefault(word, chr(number + len(SURROGATES) * (number >= SURROGATES.start)))

    def find(self, words: list[str]) -> Iterator[tuple[slice, Sentence]]:
        """Every sentence among the words, and where."""
        spelled = "".join([self.letters.get(word, OTHER) for word in words])
        for number, start, end in self.automaton.find_matches_as_indexes(spelled, overlapping=True):
            yield slice(start, end), self.sentences[number]


@lru_cache(1)
def index_of(stored: str) -> Index:
    """The index of the benchmarks in the JSON of `Decontaminate.of`, kept for the next shard of this process."""
    return Index(Benchmark(**record) for record in json.loads(stored))
