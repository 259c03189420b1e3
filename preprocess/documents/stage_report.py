"""What a stage read, kept and dropped: printed for a person, and written into the output's manifest.json."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from alibert_common.files import written_whole
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

    def count_read(self, document: Document) -> None:
        """Count a document that was read."""
        self.read.setdefault(document.source, Size()).add(document)

    def count_kept(self, document: Document) -> None:
        """Count a document that is written."""
        self.kept.setdefault(document.source, Size()).add(document)

    def add(self, other: "Report") -> None:
        """Add up with the counts of another shard."""
        for mine, theirs in ((self.read, other.read), (self.kept, other.kept)):
            for source, size in theirs.items():
                mine[source] = mine.get(source, Size()) + size
        for rule, count in other.dropped.items():
            self.drop(rule, count)
        for rule, count in other.noted.items():
            self.note(rule, count)
        self.inputs += other.inputs

    def write(self, path: Path) -> None:
        """Write it as JSON, whole."""
        with written_whole(path) as handle:
            json.dump(asdict(self), handle, ensure_ascii=False)

    @classmethod
    def added_up(cls, paths: Iterable[Path]) -> "Report":
        """What `write` wrote, of all shards together."""
        whole = cls()
        for path in paths:
            whole.add(cls.from_json(json.loads(path.read_text(encoding="utf-8"))))
        return whole

    @classmethod
    def of_output(cls, directory: Path) -> "Report":
        """What the manifest of a stage's output says."""
        return cls.from_json(json.loads((directory / "manifest.json").read_text(encoding="utf-8")))

    @classmethod
    def from_json(cls, record: dict) -> "Report":
        """The inverse of `asdict`."""
        sizes = {name: {source: Size(**size) for source, size in record[name].items()} for name in ("read", "kept")}
        return cls(**sizes, dropped=record["dropped"], noted=record["noted"], inputs=record["inputs"])

    def __str__(self) -> str:
        dropped = [f"{count:,} {rule}" for rule, count in self.dropped.items() if count] or ["nothing"]
        noted = [f"{count:,} {rule}" for rule, count in self.noted.items() if count]
        return "\n".join(
            [f"{'read':>8}  {total(self.read)}", f"{'kept':>8}  {total(self.kept)}"]
            + [f"{'dropped':>8}  {line}" for line in dropped]
            + [f"{'noted':>8}  {line}" for line in noted]
        )


def total(sizes: dict[str, Size]) -> Size:
    """All sources together."""
    return sum(sizes.values(), Size())
