"""A stage that reads documents shard by shard and writes what it keeps of each: on all cores or nodes, resumable."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from alibert_common.executors.base import Engine
from alibert_common.files import read_json, write_json
from alibert_common.input_log import InputLog
from alibert_common.output_dir import Work
from preprocess.documents.document import SHARD_SUFFIX, Document, read_documents
from preprocess.documents.shards import shard_name, written_shard
from preprocess.documents.stage_report import Report

# What a stage does with the documents of a shard, whose number it gets too. It yields what is kept, and counts in the
# report what is dropped or changed. It is pickled to other processes.
Filter = Callable[[int, Iterable[Document], Report], Iterator[Document]]


@dataclass(frozen=True)
class ShardTask:
    """The work of one process on one shard, which is given as (number, file)."""

    directory: Path
    reports: Path

    def done(self, shard: tuple[int, Path]) -> Path:
        """The report on the shard; written last."""
        return self.reports / f"{shard_name(shard[0])}.json"


@dataclass(frozen=True)
class FilterShard(ShardTask):
    """Write what a filter keeps of a shard."""

    keep: Filter

    def __call__(self, shard: tuple[int, Path]) -> None:
        number, source = shard
        log, report = InputLog(), Report()
        with written_shard(self.directory / (shard_name(number) + SHARD_SUFFIX)) as target:
            for document in self.keep(number, map(report.count_read, read_documents([source], log)), report):
                report.count_kept(document)
                target.write(document)
        report.inputs = log.manifest()
        write_json(self.done(shard), asdict(report))


def map_shards(work: Work, name: str, sources: list[Path], keep: Filter, engine: Engine) -> Report:
    """Run the filter on every shard that is not done; the reports of all, added up."""
    task, shards = FilterShard(work.directory, work.scratch / "reports", keep), list(enumerate(sources))
    engine.run(name, task, shards, work.scratch / "jobs")
    whole = Report()
    for shard in shards:
        whole.add(Report.from_json(read_json(task.done(shard))))
    return whole
