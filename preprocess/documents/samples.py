"""Examples of what a stage dropped or changed, for a person to read: few, whatever the order and the sharding."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

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
