"""Which files a path stands for, in an order that depends on their names alone."""

import os
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from alibert_common.provenance import MANIFEST, is_output, read_manifest
from preprocess.documents.compression import bare
from preprocess.documents.document import SHARD_SUFFIX, document_files
from preprocess.documents.first_bytes import check_regular
from preprocess.documents.names import as_source_name
from preprocess.readers.formats import FORMATS, format_of
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog, UnreadableFile, readable
from preprocess.readers.signatures import kind_of_file

CONVERT = "convert it to a format that docs/reference/corpora.md lists, or take it out of the folder"


# Files beside texts that hold none: brat's annotations and settings, what a system or an editor leaves in a folder.
BESIDE = frozenset({".ann", ".conf", ".ini", ".db", ".lnk", ".ds_store", ".md5", ".sha256"})


class InputFile(NamedTuple):
    """A file and how it is read."""

    file: Path
    options: ReadOptions


def files_of(path: Path, options: ReadOptions, log: ReadLog) -> Iterator[InputFile]:
    """The file itself, or all files of a folder that have a reader, those of its sub-folders too.

    In a folder, a .txt file is one document, as in brat; of an output of ingest, clean or deduplicate the shards are
    read. Links to files and folders are followed; what was reached before, as by a link to a folder above, is counted
    and not read twice. A file of no known format is listed as unreadable. Other files that are not read are counted by
    reason. Raises InputError for a path that is not there, a link to nothing, a file without a reader, a folder without
    one that has any, an output that holds no documents.
    """
    if path.is_dir():
        yield from _of_folder(path, options, log)
        return
    if not path.exists():
        raise InputError(f"{readable(path)}: no such file; check the path of the corpus.")
    check_regular(path)
    options = options.with_changes(
        format=options.format or format_of(path) or kind_of_file(path), by_name=not options.format
    )
    if not options.format:
        raise InputError(
            f"{readable(path)}: no reader for '{bare(path).suffix}' files; say what it holds with --format "
            f"({', '.join(FORMATS)})."
        )
    stem = readable(bare(path).stem)
    source = options.default_source or as_source_name(stem)
    yield InputFile(path, options.with_changes(name=options.name or stem, default_source=source))


def _of_folder(folder: Path, options: ReadOptions, log: ReadLog) -> Iterator[InputFile]:
    if is_output(folder):
        document_files([folder])  # refuses that of a stage that writes none
    written = cache(_written_by_a_stage)
    origin = as_source_name(readable(folder.resolve().name))
    known = FORMATS[options.format].suffixes if options.format else ()
    count = 0
    for file in _walk(folder, options, log):
        made = written(file.parent)
        if made and not file.name.endswith(SHARD_SUFFIX):
            if file.name not in made:
                log.count("files beside the documents of a stage")
            continue
        format = _format_inside(file, options, known, log)
        if not format:
            continue
        count += 1
        name = readable(bare(file).relative_to(folder).with_suffix("").as_posix())
        single = options.one_document_per_file or format == "text"
        read = options.with_changes(
            format=format, name=name, default_source=origin, one_document_per_file=single, inside=True,
            by_name=not known and not made,
        )  # fmt: skip
        yield InputFile(file, read.with_changes(encoding="") if made else read)
    if not count:
        wanted = f"{options.format} file ({', '.join(known)})" if known else "file of a known format"
        raise InputError(f"{readable(folder)}: no {wanted} in this directory; give the one that holds the texts.")


def _format_inside(file: Path, options: ReadOptions, known: Collection[str], log: ReadLog) -> str:
    """The format of a file in a folder, "" for one that is not read, which is counted. Without --format it is what the
    name says, else what the content says."""
    suffix = bare(file).suffix.lower()
    shown = f"({bare(file).suffix or 'no suffix'})"
    if known:
        if suffix not in known:
            log.count(f"files of another format {shown}")
        return options.format if suffix in known else ""
    if name := format_of(file):
        return name
    if (suffix or file.name.lower()) in BESIDE or file.name.startswith("."):
        log.count(f"files beside the texts {shown}")
        return ""
    try:
        name = kind_of_file(file)
    except (InputError, OSError) as error:
        log.skip_file(file, error)
        return ""
    if not name:
        log.skip_file(file, UnreadableFile(file, Fault(f"a file of no known format {shown}", CONVERT)))
    return name


def _written_by_a_stage(folder: Path) -> set[str]:
    """The names of the files of an output of this project; none of another folder."""
    return {MANIFEST, *read_manifest(folder / MANIFEST).get("files", ())} if is_output(folder) else set()


def _walk(folder: Path, options: ReadOptions, log: ReadLog) -> list[Path]:
    """All files, sorted. Those that are there themselves come before links to them."""
    met, files = {_identity(folder)}, list[Path]()
    waiting, links = [folder], list[Path]()

    def take(entry: os.DirEntry | Path) -> None:
        if entry.is_dir() or entry.is_file():
            met.add(_identity(entry))
            (waiting if entry.is_dir() else files).append(Path(entry))
        else:
            log.count("pipes, sockets and devices")

    while waiting or links:
        if waiting:
            for entry in _entries(waiting.pop(), options, log):
                links.append(Path(entry)) if entry.is_symlink() else take(entry)
            continue
        links.sort(reverse=True)
        link = links.pop()
        try:
            if _identity(link) in met:
                log.count("links to what is read without them")
            else:
                take(link)
        except OSError as error:  # to nothing, or to itself
            log.refuse(
                options, link, "the link", Fault("a link to nothing", "repair or remove it", error.strerror or "")
            )
    return sorted(files)


def _entries(folder: Path, options: ReadOptions, log: ReadLog) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        if options.on_error == "stop":
            raise
        log.skip(folder, "the folder", Fault("a folder that cannot be read", "", error.strerror or ""))
        return []


def _identity(path: os.PathLike) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino
