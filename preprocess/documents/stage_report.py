"""What a stage read, kept and dropped: printed for a person, and written into the output's manifest.json."""

from dataclasses import dataclass, field

from preprocess.documents.document import Document, Size


@dataclass
class Report:
    """The counts of a stage, or of its part in one shard.

    `read` and `kept` are by source; `dropped` maps the name of a rule to how often it left something out, `noted` that
    of another to how often it changed or met something and left nothing out; `inputs` are the files read, as
    InputLog.manifest gives them.
    """

    read: dict[str, Size] = field(default_factory=dict)
    kept: dict[str, Size] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    noted: dict[str, int] = field(default_factory=dict)
    inputs: list[dict] = field(default_factory=list)

    def drop(self, rule: str, count: int = 1) -> None:
        """Count `count` more things left out by `rule`."""
        self.dropped[rule] = self.dropped.get(rule, 0) + count

    def note(self, rule: str, count: int = 1) -> None:
        """Count `count` more things that `rule` changed or met, and did not leave out."""
        self.noted[rule] = self.noted.get(rule, 0) + count

    def count_read(self, document: Document) -> Document:
        """Count a document that was read, and return it."""
        self.read.setdefault(document.source, Size()).add(document)
        return document

    def count_kept(self, document: Document) -> None:
        """Count a document that is written."""
        self.kept.setdefault(document.source, Size()).add(document)

    def add(self, other: "Report") -> None:
        """Add up with the counts of another shard."""
        for name in ("read", "kept", "dropped", "noted"):
            counts = getattr(self, name)
            for key, count in getattr(other, name).items():
                counts[key] = counts[key] + count if key in counts else count
        self.inputs += other.inputs

    @classmethod
    def from_json(cls, record: dict) -> "Report":
        """The inverse of `asdict`; a manifest has these counts among others."""
        sizes = {name: {source: Size(**size) for source, size in record[name].items()} for name in ("read", "kept")}
        return cls(**sizes, dropped=record["dropped"], noted=record["noted"], inputs=record["inputs"])

    def __str__(self) -> str:
        dropped = [("dropped", f"{count:,} {rule}") for rule, count in self.dropped.items() if count]
        rows = [("read", total(self.read)), ("kept", total(self.kept)), *(dropped or [("dropped", "nothing")])]
        rows += [("noted", f"{count:,} {rule}") for rule, count in self.noted.items() if count]
        return "\n".join(f"{title:>8}  {content}" for title, content in rows)


def total(sizes: dict[str, Size]) -> Size:
    """All sources together."""
    return sum(sizes.values(), Size())
