"""What readers report besides documents: counts of what a user should know, and every record that was left out."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError, describe_os_error, readable
from alibert_common.files import written_whole
from alibert_common.input_log import InputLog
from preprocess.documents.compression import CHUNK
from preprocess.readers.options import ReadOptions

WITHOUT_DOCUMENT = "files without a document"
WHOLE = "the file"  # the place of what is wrong with all of it
WITHOUT_TEXT = "records without text"  # what such counts begin with


class CommandError(InputError):
    """The command, not the file, has to change: never skipped."""


class UnreadableFile(InputError):
    """A whole file that cannot be read, for a reason that others may share."""

    def __init__(self, file: Path, fault: "Fault"):
        super().__init__(f"{readable(file)}: {fault}; {fault.remedy}.")
        self.fault = fault


class Fault(Exception):
    """What is wrong with a line or a record."""

    def __init__(self, reason: str, remedy: str, detail: str = ""):
        super().__init__(f"{reason} ({detail})" if detail else reason)
        self.reason, self.remedy, self.detail = reason, remedy, detail


class Skipped(NamedTuple):
    """One thing that was not read: where it is and why."""

    file: str
    place: str
    reason: str


def write_skipped(path: Path, rows: Sequence[Skipped]) -> None:
    """Write a table of what was not read, if there is any."""
    if rows:
        with written_whole(path) as handle:
            csv.writer(handle, delimiter="\t", lineterminator="\n").writerows([Skipped._fields, *rows])


WITHOUT_PATIENT = "documents in whose ids --patient-pattern finds no patient"


def without_field(path: str) -> str:
    """The note on a record without a field that the user named."""
    return f"records that lack '{path}'"


def place_of(start: int, end: int) -> str:
    """The place of a record in the lines from `start` to `end`."""
    return f"line {start}" if start == end else f"lines {start} to {end}"


class ReadLog(InputLog):
    """The files read so far; `counts` of what was left out by reason, `notes` of what was kept, `documents` by format.

    `on_skip` is called with every record that could not be read.
    """

    def __init__(self, on_skip: Callable[[Skipped], object] = lambda skipped: None):
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.documents: Counter[str] = Counter()
        self.on_skip = on_skip
        self.record: tuple[Path, str] = (Path(), "")  # the file and the place that are read now

    def read_through(self, file: Path) -> None:
        """Read a file for nothing but its checksum."""
        with self.open(file) as handle:
            while handle.read(CHUNK):
                pass

    def count(self, kind: str) -> None:
        """Count something that holds no record that could be read."""
        self.counts[kind] += 1

    def note(self, kind: str, number: int = 1) -> None:
        """Count something that was read, and that a user should know."""
        self.notes[kind] += number

    @contextmanager
    def refusing(self, options: ReadOptions, file: Path, place: str) -> Iterator[None]:
        """Refuse the record at `place` when the block raises a Fault."""
        self.record = file, place
        try:
            yield
        except Fault as fault:
            self.refuse(options, file, place, fault)

    def refuse(self, options: ReadOptions, file: Path, place: str, fault: Fault, records: int = 1) -> None:
        """Meet a record (or `records` of them) that cannot be read: stop with a sentence, or list it and continue."""
        if options.on_error == "stop":
            raise InputError(f"{readable(file)}, {place}: {fault}; {fault.remedy}, or skip it with --on-error skip.")
        self.skip(file, place, fault, records)

    def refuse_part(self, options: ReadOptions, part: str, fault: Fault) -> None:
        """Refuse a part of the record that is read now; the rest of it is kept."""
        file, place = self.record
        self.refuse(options, file, f"{place}, {part}", fault)

    def skip_file(self, file: Path, error: InputError | OSError, documents: int = 0) -> None:
        """List a file that cannot be read after its first `documents`."""
        place = f"after record {documents}" if documents else WHOLE
        if isinstance(error, UnreadableFile):
            self.skip(file, place, error.fault)
            return
        sentence = str(error) if isinstance(error, InputError) else describe_os_error(error)
        self.skip(file, place, Fault("the rest of a file" if documents else "a whole file", "", sentence))

    def skip(self, file: Path, place: str, fault: Fault, records: int = 1) -> None:
        """List what was left out."""
        self.counts[f"skipped: {fault.reason}"] += records
        self.on_skip(Skipped(readable(file), place, readable(f"{fault}; {fault.remedy}" if fault.remedy else fault)))
