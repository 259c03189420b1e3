"""Examples of what a stage dropped or changed, for a person to read: few, whatever the order and the sharding."""

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from alibert_common.errors import readable
from alibert_common.files import read_json, write_json
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
    kept: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # rule -> hash -> [document id, excerpt]

    def add(self, rule: str, document: str, text: str, excerpt: Callable[[], str] | None = None) -> None:
        """Add `text`, which a rule struck in the document of this id. The page shows the start of it, or of what
        `excerpt` makes."""
        if self.most:
            key = hashlib.blake2b(text.encode(), digest_size=8, person=b"samples").hexdigest()
            samples = self.kept.get(rule, {})
            if len(samples) < self.most or key <= max(samples):  # so of few
                self._keep(rule, key, [document, shorten(excerpt() if excerpt else text)])

    def merge(self, other: "Samples") -> None:
        """Add the samples of another process."""
        for rule, samples in other.kept.items():
            for key, sample in samples.items():
                self._keep(rule, key, sample)

    def _keep(self, rule: str, key: str, sample: list[str]) -> None:
        samples = self.kept.setdefault(rule, {})
        samples[key] = min(samples.get(key, sample), sample)  # the same text of two documents: the smaller id
        if len(samples) > self.most:
            del samples[max(samples)]

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
    """The place where two lines begin to differ, on one line."""
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

    def place(self, number: int, document: Document) -> str:
        """The place where a person finds a document of shard `number`."""
        return f"{readable(Path(*self.sources[number].parts[-2:]))}\t{document.id}"

    def save(self, number: int, samples: Samples) -> None:
        """Write the samples of a shard."""
        write_json(self._file(number), asdict(samples))

    def together(self) -> Samples:
        """The samples of all shards."""
        samples = Samples(self.most)
        for number in range(len(self.sources)):
            samples.merge(Samples(**read_json(self._file(number))))
        return samples

    def _file(self, number: int) -> Path:
        return self.directory / f"{shard_name(number)}.json"
