"""The metrics of each tokenizer on a text, in memory that does not grow with the text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Encoding

from alibert_common.executors.base import Engine
from alibert_common.files import read_json, write_json
from preprocess.documents.document import read_documents
from preprocess.documents.long_lines import Cuts, cut_line
from preprocess.tokenizer.piece_text import DIFFERENCES, spelled_texts, text_pieces, twice
from preprocess.tokenizer.word_independence import is_word_independent
from preprocess.tokenizer_study.candidates import Candidate
from preprocess.tokenizer_study.speed import one_thread
from preprocess.tokenizer_study.text_sample import TextSample

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

    def merge(self, counted: dict) -> None:
        """Add the counts of a block."""
        for source, counts in counted["by_source"].items():
            self.by_source[source] = self.by_source.get(source, 0) + np.array(counts)
        self.too_long += counted["too_long"]
        self.used[counted["used"]] = True

    def _learn(self, parts: set[str]) -> None:
        new = list(parts.difference(self.rows))
        if len(self.rows) + len(new) > CACHE_PARTS:
            self.rows, new = {}, list(parts)
        encodings = self.candidate.tokenizer.encode_batch(new, add_special_tokens=False)
        for part, encoding in zip(new, encodings, strict=True):
            self.known[len(self.rows)] = count(self.candidate, part, encoding)
            self.rows[part] = len(self.rows)
            self.used[encoding.ids] = True


@dataclass(frozen=True)
class MeasureBlock:
    """Measure a tokenizer on a block of documents; both are given by their numbers."""

    candidates: Sequence[Candidate]
    blocks: Sequence[Path]
    folder: Path
    latest: dict[int, Meter] = field(default_factory=dict)  # of this process: what it has learnt helps with more blocks

    def done(self, item: tuple[int, int]) -> Path:
        """The counts."""
        return self.folder / "{}-{}.json".format(*item)

    def __call__(self, item: tuple[int, int]) -> None:
        number, block = item
        if number not in self.latest:
            self.latest.clear()
            self.latest[number] = Meter(self.candidates[number])
        meter, cuts = self.latest[number], Cuts()
        meter.by_source, meter.too_long = {}, 0
        with one_thread():  # the cores are shared out by --workers
            for document in read_documents([self.blocks[block]]):
                meter.add(document.source, [part for line in document.lines for part in cut_line(line, cuts)])
        by_source = {source: counts.tolist() for source, counts in meter.by_source.items()}
        used = np.flatnonzero(meter.used).tolist()
        write_json(self.done(item), {"by_source": by_source, "too_long": meter.too_long, "used": used})


def measure(candidates: Sequence[Candidate], sample: TextSample, engine: Engine, folder: Path) -> list[Meter]:
    """The counts of each tokenizer on the whole sample; `folder` is for those of its blocks."""
    task, blocks = MeasureBlock(candidates, sample.blocks, folder), range(len(sample.blocks))
    items = [(number, block) for number in range(len(candidates)) for block in blocks]
    engine.run("measuring", task, items, folder)
    meters = [Meter(candidate) for candidate in candidates]
    for item in items:
        meters[item[0]].merge(read_json(task.done(item)))
    return meters


def figures(meter: Meter, text: TextSample) -> dict:
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
