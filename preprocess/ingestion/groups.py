"""The files of a command in groups that are read independently."""

import hashlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from alibert_common.files import read_text, write_text
from alibert_common.output_dir import Work
from preprocess.documents.shards import divided
from preprocess.readers import InputFile

REPORTS = "reports"


@dataclass(frozen=True)
class Group:
    """Files that one process reads, one after the other: small ones together, a large one alone."""

    number: int
    path: int  # the number of the user's path that holds them
    files: tuple[InputFile, ...]
    checksum: bool = False  # nothing but that of a file, of which other groups read the parts


def groups_of(files: list[list[InputFile]], parts: list[list[InputFile]], size: int) -> list[Group]:
    """Neighbouring files of one path, of some `size` bytes together; of a large one, its parts and its checksum."""
    groups, following = list[Group](), iter(parts)
    for path, own in enumerate(files):
        with_parts = [(file, next(following)) for file in own]
        for some in divided(with_parts, lambda pair: _size(*pair), size):
            together = tuple(own[0] if len(own) == 1 else file for file, own in some)
            alone = some[0][1] if len(some[0][1]) > 1 else []
            groups += [Group(len(groups) + number, path, (part,)) for number, part in enumerate(alone)]
            groups.append(Group(len(groups), path, together, checksum=bool(alone)))
    return groups


def _size(file: InputFile, parts: list[InputFile]) -> int:
    """The bytes of a file; so many for one in parts that it is with no other."""
    return file.file.stat().st_size if len(parts) == 1 else sys.maxsize


def begin_anew_if_divided_otherwise(work: Work, groups: list[Group]) -> None:
    """Forget what an earlier run has read in other groups: a file was out of reach then, or is now."""
    note = work.scratch / "groups.txt"
    found = [[(str(file), options.part) for file, options in group.files] for group in groups]
    divided_as = hashlib.sha256(repr(found).encode("utf-8", "surrogatepass")).hexdigest()
    if note.exists() and read_text(note) != divided_as:
        if (work.scratch / REPORTS).exists():
            shutil.rmtree(work.scratch / REPORTS)
        for written in filter(Path.is_file, work.directory.iterdir()):
            written.unlink()
    write_text(note, divided_as)
