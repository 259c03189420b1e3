"""The metrics of each tokenizer on a text, in one pass and in memory that does not grow with the text."""

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Encoding
from tqdm import tqdm

from alibert_common.input_log import InputLog
from preprocess.documents.document import Document, Size, read_documents
from preprocess.documents.long_lines import Cuts, cut_line
from preprocess.tokenizer.piece_text import DIFFERENCES, spelled_texts, text_pieces, twice
from preprocess.tokenizer.word_independence import is_word_independent
from preprocess.tokenizer_study.candidates import Candidate

LETTERS = re.compile(r"[^\W\d_]{2,}")  # a word of two or more letters, without the signs around it
CACHE_PARTS = 100_000  # about 25 MB per tokenizer hold the most frequent words
ROOM = 510  # pieces between the two special tokens of a model of 512 positions


class Counts(NamedTuple):
    """The counts of a text, or of a part of it."""

    tokens: int = 0
    lone: int = 0  # tokens that are only ▁
    unknown: int = 0
    unknown_characters: int = 0
    words: int = 0  # of LETTERS
    whole: int = 0


def count(candidate: Candidate, text: str, encoding: Encoding) -> Counts:
    """A word is whole if all its letters are in one known token."""
    lone = unknown = characters = 0
    first: dict[int, int] = {}  # the first token of a character, and the last
    last: dict[int, int] = {}
    for number, (token, (start, end)) in enumerate(zip(encoding.ids, encoding.offsets, strict=True)):
        if token == candidate.lone:
            lone += 1
            continue
        if token == candidate.unknown:
            unknown += 1
            characters += len("".join(text[start:end].split()))
        for place in range(start, end):
            first.setdefault(place, number)
            last[place] = number
    words = [match.span() for match in LETTERS.finditer(text)]
    owners = [first.get(start) for start, end in words if first.get(start) == last.get(end - 1)]
    whole = sum(owner is not None and encoding.ids[owner] != candidate.unknown for owner in owners)
    return Counts(len(encoding.ids), lone, unknown, characters, len(words), whole)


class Meter:
    """The counts of one tokenizer. A part of a line is encoded once while it is in the cache."""

    def __init__(self, candidate: Candidate):
        self.candidate = candidate
        self.by_word = is_word_independent(candidate.tokenizer)  # otherwise the parts are lines
        self.rows: dict[str, int] = {}  # part -> its row of `known`
        self.known = np.zeros((CACHE_PARTS, len(Counts._fields)), dtype=np.int64)
        self.used = np.zeros(max(candidate.tokenizer.get_vocab().values()) + 1, dtype=bool)
        self.by_source: dict[str, np.ndarray] = {}
        self.too_long = 0  # documents of more than ROOM tokens

    def add(self, source: str, lines: list[str]) -> None:
        """Count one document."""
        parts = [part for line in lines for part in line.split(" ") if part] if self.by_word else lines
        counts = np.zeros(len(Counts._fields), dtype=np.int64)
        for start in range(0, len(parts), CACHE_PARTS):
            some = parts[start : start + CACHE_PARTS]
            self._learn(set(some))
            counts += self.known[[self.rows[part] for part in some]].sum(axis=0)
        self.too_long += int(counts[0]) > ROOM
        self.by_source[source] = self.by_source.get(source, 0) + counts

    def _learn(self, parts: set[str]) -> None:
        new = list(parts.difference(self.rows))
        if len(self.rows) + len(new) > CACHE_PARTS:
            self.rows, new = {}, list(parts)
        encodings = self.candidate.tokenizer.encode_batch(new, add_special_tokens=False)
        for part, encoding in zip(new, encodings, strict=True):
            self.known[len(self.rows)] = count(self.candidate, part, encoding)
            self.rows[part] = len(self.rows)
            self.used[encoding.ids] = True


@dataclass
class Text:
    """The text of a study; words are separated by white space."""

    path: Path
    size: Size = field(default_factory=Size)
    characters: int = 0
    sources: dict[str, int] = field(default_factory=dict)
    log: InputLog = field(default_factory=InputLog)

    def add(self, document: Document) -> None:
        """Count one document."""
        words = self.size.words
        self.size.add(document)
        self.characters += sum(map(len, document.lines))
        self.sources[document.source] = self.sources.get(document.source, 0) + self.size.words - words

    def describe(self) -> dict:
        """For study.json."""
        counts = asdict(self.size) | {"characters": self.characters, "words_of_sources": self.sources}
        return {"path": str(self.path), "inputs": self.log.manifest()} | counts


def measure(candidates: list[Candidate], path: Path) -> tuple[Text, list[Meter]]:
    """Read the documents once. Raises InputError for unreadable text."""
    text, meters, cuts = Text(path), [Meter(candidate) for candidate in candidates], Cuts()
    total = path.stat().st_size if path.is_file() else None
    with tqdm(total=total, unit="B", unit_scale=True, desc="measuring", mininterval=1) as bar:
        for document in read_documents([path], text.log):
            text.add(document)
            lines = [part for line in document.lines for part in cut_line(line, cuts)]
            for meter in meters:
                meter.add(document.source, lines)
            bar.update(text.log.bytes_read - bar.n)
    return text, meters


def figures(meter: Meter, text: Text) -> dict:
    """The counts and their shares, for study.json."""
    counts = Counts(*map(int, np.sum(list(meter.by_source.values()), axis=0)))
    pieces = text_pieces(meter.candidate.tokenizer)
    spelled = spelled_texts(pieces.values(), meter.candidate.convention)
    return {
        **counts._asdict(),
        "tokens_per_word": counts.tokens / text.size.words,
        "characters_per_token": text.characters / max(counts.tokens, 1),
        "whole_word_share": counts.whole / max(counts.words, 1),
        "unknown_share": counts.unknown / max(counts.tokens, 1),
        "unknown_character_share": counts.unknown_characters / max(text.characters, 1),
        "lone_boundary_share": counts.lone / max(counts.tokens, 1),
        "too_long_document_share": meter.too_long / text.size.documents,
        "vocabulary": meter.candidate.tokenizer.get_vocab_size(),
        "pieces": len(pieces),
        "pieces_used": int(meter.used[list(pieces)].sum()),
        **{f"twice_by_{difference}": twice(spelled, difference) for difference in DIFFERENCES},
        "tokens_per_word_of_sources": {
            source: int(counts[0]) / text.sources[source] for source, counts in meter.by_source.items()
        },
    }
