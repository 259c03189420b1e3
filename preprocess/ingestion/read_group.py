"""Read groups of files, in whatever order and process, into shards whose documents have ids of their own."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from alibert_common.files import read_json, read_text, write_json, write_text
from alibert_common.output_dir import Work
from preprocess.documents.document import Document
from preprocess.documents.filters import MetadataFilter
from preprocess.documents.shards import shard_name, write_shards
from preprocess.documents.stage_report import Report
from preprocess.ingestion.groups import REPORTS, Group
from preprocess.readers import ReadLog, UniqueIds, read_file
from preprocess.readers.ids import earlier_ids
from preprocess.readers.read_log import Skipped


def read_groups(work: Work, groups: list[Group], where: tuple[MetadataFilter, ...], engine: Engine) -> list[dict]:
    """Read all groups; again those that have ids of an earlier one, and so on until no two documents share an id.

    Returns the record of every group: what `ReadGroup.done` holds.
    """
    read = ReadGroup(work.directory, work.scratch / REPORTS, where)
    shared = True
    while shared:
        # A checksum takes longer than a part.
        _run(read, sorted(groups, key=lambda group: not group.checksum), engine, work.scratch / "jobs")
        shared = _note_earlier_ids(read, groups)
    return [read_json(read.done(group)) for group in groups]


def _run(read: "ReadGroup", groups: list[Group], engine: Engine, logs: Path) -> None:
    """Read the groups. Of several that cannot be read, the first one tells its InputError, whichever was met first."""
    sentence = ""
    for group in groups:
        read.fault(group).unlink(missing_ok=True)  # of an earlier run
    while groups:
        try:
            engine.run("reading", read, groups, logs)
            break
        except InputError:
            failed = next((group for group in groups if read.fault(group).exists()), None)
            if not failed:
                raise
            sentence = read_text(read.fault(failed))
            groups = [group for group in groups if group.number < failed.number and not read.done(group).exists()]
    if sentence:
        raise InputError(sentence)


def _note_earlier_ids(read: "ReadGroup", groups: list[Group]) -> bool:
    """Have those groups read again that did not know of ids in earlier ones; whether there are any."""
    shared = False
    for group, before in zip(groups, earlier_ids([read.ids(group) for group in groups]), strict=True):
        file = read.ids(group, "before")
        if not np.array_equal(load(file) if file.exists() else before[:, :0], before):
            read.done(group).unlink()  # first: a kill in between has it read once more in vain
            save(file, before)
            shared = True
    return shared


@dataclass(frozen=True)
class ReadGroup:
    """Read a group of files and write its shards. Ids are unique in it, and in earlier ones as far as it knows."""

    directory: Path
    reports: Path
    where: tuple[MetadataFilter, ...]

    def done(self, group: Group) -> Path:
        """The record of the group (`report`, `formats`, `skipped`); written last."""
        return self.reports / f"{shard_name(group.number)}.json"

    def ids(self, group: Group, kind: str = "ids") -> Path:
        """Its ids; with "before", those that earlier groups have as well, none where there is no file."""
        return self.reports / f"{shard_name(group.number)}.{kind}.npy"

    def fault(self, group: Group) -> Path:
        """The sentence of what cannot be read in it."""
        return self.reports / f"{shard_name(group.number)}.fault"

    def __call__(self, group: Group) -> None:
        try:
            self._read(group)
        except InputError as error:
            write_text(self.fault(group), str(error))
            raise

    def _read(self, group: Group) -> None:
        skipped: list[Skipped] = []
        log, report = ReadLog(skipped.append), Report()
        for older in self.directory.glob(f"{shard_name(group.number)}-*"):
            older.unlink()  # of a reading that did not know of earlier ids, and may have chosen more
        before = self.ids(group, "before")
        ids = UniqueIds(load(before)) if before.exists() else UniqueIds()
        if group.checksum:
            log.read_through(group.files[0].file)
        else:
            write_shards(self.directory, group.number, self._chosen(group, log, report, ids))
        report.add(Report(dropped=dict(log.counts), noted=dict(log.notes), inputs=log.manifest()))
        ids.save(self.ids(group))
        record = {"report": asdict(report), "formats": dict(log.documents), "skipped": skipped}
        write_json(self.done(group), record)

    def _chosen(self, group: Group, log: ReadLog, report: Report, ids: UniqueIds) -> Iterator[Document]:
        for document in (item for file in group.files for item in read_file(file.file, file.options, log)):
            report.count_read(document)
            if ids.make_unique(document):
                report.note("ids met before, to which a number was added")
            if unmet := next((condition for condition in self.where if not condition.holds(document)), None):
                report.drop(f"documents not chosen ({unmet})")
            else:
                report.count_kept(document)
                yield document
