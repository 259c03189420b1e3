"""What a stage read, kept and dropped: printed for a person, and written beside the output for a program."""

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from preprocess.documents import Size
from preprocess.files import written_whole


@dataclass
class Report:
    """The counts of one stage. `dropped` maps the name of a rule to how often it dropped or changed something."""

    command: str
    read: Size = field(default_factory=Size)
    kept: Size = field(default_factory=Size)
    dropped: dict[str, int] = field(default_factory=dict)
    settings: dict = field(default_factory=dict)
    inputs: list[dict] = field(default_factory=list)

    def drop(self, rule: str, count: int = 1) -> None:
        """Count `count` more things dropped or changed by `rule`."""
        self.dropped[rule] = self.dropped.get(rule, 0) + count

    def finish(self, output: Path) -> None:
        """Write `<output>.report.json` and print the same on stdout."""
        output = Path(output)
        with written_whole(output.with_name(output.name + ".report.json")) as handle:
            json.dump(asdict(self), handle, ensure_ascii=False, indent=2)
            handle.write("\n")
        print(self, file=sys.stdout)
        print(f"{'written':>8}  {output}")

    def __str__(self) -> str:
        dropped = [f"{count:,} {rule}" for rule, count in self.dropped.items()] or ["nothing"]
        return "\n".join(
            [f"{'read':>8}  {self.read}", f"{'kept':>8}  {self.kept}"] + [f"{'dropped':>8}  {line}" for line in dropped]
        )
