"""A stage that reads documents shard by shard and writes what it keeps of each: on all cores or nodes, resumable."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from alibert_common.executors.base import Engine
from alibert_common.input_log import InputLog
from alibert_common.output_dir import Work
from preprocess.documents.document import SHARD_SUFFIX, Document, read_documents
from preprocess.documents.shards import shard_name, written_shard
from preprocess.documents.stage_report import Report


class Filter(Protocol):
    """What a stage does with the documents of a shard. It is pickled to other processes."""

    def __call__(self, number: int, documents: Iterable[Document], report: Report) -> Iterator[Document]:
        """Yield what is kept of shard `number`, and count in `report` what is dropped or changed."""


@dataclass(frozen=True)
class Shard:
    """One shard on its way through a stage."""

    number: int
    source: Path
    directory: Path
    reports: Path

    @property
    def report(self) -> Path:
        """What became of its documents."""
        return self.reports / f"{shard_name(self.number)}.json"


def map_shards(work: Work, name: str, sources: list[Path], keep: Filter, engine: Engine) -> Report:
    """Run the filter on every shard that is not done; the reports of all, added up."""
    reports = work.scratch / "reports"
    shards = [Shard(number, path, work.directory, reports) for number, path in enumerate(sources)]
    engine.run(name, FilterShard(keep), shards, work.scratch / "jobs")
    return Report.added_up(shard.report for shard in shards)


@dataclass(frozen=True)
class FilterShard:
    """The work of one process on one shard."""

    keep: Filter

    def done(self, shard: Shard) -> Path:
        """Written last."""
        return shard.report

    def __call__(self, shard: Shard) -> None:
        log, report = InputLog(), Report()
        with written_shard(shard.directory / (shard_name(shard.number) + SHARD_SUFFIX)) as target:
            for document in self.keep(shard.number, _counted(read_documents([shard.source], log), report), report):
                report.count_kept(document)
                target.write(document)
        report.inputs = log.manifest()
        report.write(shard.report)


def _counted(documents: Iterable[Document], report: Report) -> Iterator[Document]:
    for document in documents:
        report.count_read(document)
        yield document
