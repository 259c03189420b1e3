"""Examples of what a stage dropped or changed, for a person to read: few, whatever the order and the sharding."""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from alibert_common.errors import readable
from alibert_common.files import written_whole
from preprocess.documents.document import Document
from preprocess.documents.shards import shard_name

EXAMPLES = 20  # of a rule: read in a minute, and enough to see a rule that is wrong one time in seven
LONGEST = 200  # characters of an excerpt: two lines of a terminal


@dataclass
class Samples:
    """At most `most` different texts a rule, those with the smallest hashes.

    Whatever the order in which texts are added, and however they are divided among processes whose samples are merged,
    the same are kept. Memory is bounded by rules times `most` excerpts.
    """

    most: int
    kept: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)  # rule -> hash -> (document id, excerpt)

    def add(self, rule: str, document: str, text: str, excerpt: str | None = None) -> None:
        """A rule struck `text` in the document of this id; shown is the start of `excerpt`, by default of the text."""
        if self.most:
            key = hashlib.blake2b(text.encode(), digest_size=8, person=b"samples").hexdigest()
            self._keep(rule, key, (document, shorten(text if excerpt is None else excerpt)))

    def merge(self, other: "Samples") -> None:
        """Add the samples of another process."""
        for rule, found in other.kept.items():
            for key, sample in found.items():
                self._keep(rule, key, sample)

    def _keep(self, rule: str, key: str, sample: tuple[str, str]) -> None:
        found = self.kept.setdefault(rule, {})
        if key in found:
            found[key] = min(found[key], sample)  # the same text of two documents: the smaller id
        elif len(found) < self.most:
            found[key] = sample
        elif key < (largest := max(found)):
            del found[largest]
            found[key] = sample

    def to_json(self) -> dict:
        """What `from_json` reads back, of JSON's types only."""
        return {"most": self.most, "kept": {rule: {k: list(s) for k, s in v.items()} for rule, v in self.kept.items()}}

    @classmethod
    def from_json(cls, record: dict) -> "Samples":
        """The samples that `to_json` gave."""
        kept = {rule: {key: tuple(sample) for key, sample in found.items()} for rule, found in record["kept"].items()}
        return cls(record["most"], kept)

    def page(self, rules: Iterable[tuple[str, str]], counts: dict[str, int]) -> str:
        """The text of a page for a person: for each (rule, reason) how often it struck, then its samples, by hash."""
        parts = []
        for rule, reason in rules:
            lines = [f"{document}\t{excerpt}" for _, (document, excerpt) in sorted(self.kept.get(rule, {}).items())]
            if counts.get(rule):
                parts.append("\n".join([f"# {rule} ({counts[rule]:,})", f"# {reason}", *lines]) + "\n")
        return "\n".join(parts)


def shorten(text: str) -> str:
    """The start of a text on one line."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def difference(before: str, after: str) -> str:
    """Where two lines begin to differ, on one line."""
    start = max(0, len(os.path.commonprefix((before, after))) - LONGEST // 8)
    start = before.rfind(" ", 0, start) + 1  # whole words
    half = (LONGEST - len(" → ")) // 2
    return " → ".join(shorten(text[start : start + half]) for text in (before, after))


@dataclass(frozen=True)
class ShardSamples:
    """At most `most` of a rule, those of the shards that are named `sources`, in files of `directory`."""

    directory: Path
    sources: tuple[Path, ...]
    most: int = EXAMPLES

    def begin(self) -> Samples:
        """For a shard."""
        return Samples(self.most)

    def place(self, number: int, document: Document) -> str:
        """Where a person finds a document of shard `number`."""
        return f"{readable(Path(*self.sources[number].parts[-2:]))}\t{document.id}"

    def save(self, number: int, samples: Samples) -> None:
        """Leave those of a shard."""
        with written_whole(self._file(number)) as handle:
            json.dump(samples.to_json(), handle, ensure_ascii=False)

    def together(self) -> Samples:
        """Those of all shards."""
        samples = self.begin()
        for number in range(len(self.sources)):
            samples.merge(Samples.from_json(json.loads(self._file(number).read_text(encoding="utf-8"))))
        return samples

    def _file(self, number: int) -> Path:
        return self.directory / f"{shard_name(number)}.json"
