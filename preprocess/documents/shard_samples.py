"""Examples of what a filter drops, shard by shard: each shard leaves its own, which are put together at the end."""

import json
from dataclasses import dataclass
from pathlib import Path

from alibert_common.files import readable, written_whole
from preprocess.documents.document import Document
from preprocess.documents.samples import Samples
from preprocess.documents.shards import shard_name

EXAMPLES = 20  # of a rule: read in a minute, and enough to see a rule that is wrong one time in seven


@dataclass(frozen=True)
class Examples:
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
