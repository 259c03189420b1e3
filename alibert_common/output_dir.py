"""An output directory that a stopped command can resume.

The work lies beside the output, in `.NAME.work/KEY`, and takes the place of the output when it is complete. KEY stands
for settings and inputs. An output of the same key stays as it is. Partial work of another key is removed.
"""

import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from alibert_common.directories import Marker, files_in, flush_to_disk, refuse_foreign, refuse_others, take_place
from alibert_common.errors import FULL, REMEDIES, InputError
from alibert_common.executors.slurm import end_left
from alibert_common.files import write_json
from alibert_common.locks import locked
from alibert_common.provenance import MANIFEST, Stage, changed, read_manifest
from alibert_common.rights import make_folder, set_rights

SCRATCH = ".scratch"  # files that are no part of the output
KEY = "key.json"  # in the scratch: the beginning of the manifest
FILES = "files"  # in the manifest: the size of every other file


class Work:
    """The directory in which a stage makes an output, file by file.

    `scratch` is for files that are no part of the output, `copies` for copies of inputs. `manifest` describes the
    output.
    """

    def __init__(self, directory: Path):
        self.directory = directory
        self.scratch = directory / SCRATCH
        self.copies = self.scratch / "copies"
        self.manifest: dict = {}


@contextmanager
def resumable_directory(path: Path, stage: Stage, key: dict) -> Iterator[Work | None]:
    """Yield the work of the output `path`, or None when `stage` has already made it from the same key.

    `key` is {"settings": ..., "inputs": ...}. One line on stderr says what changed since an older output. At the end of
    the block, the directory gets its manifest.json and replaces the older output. After an error, the finished files
    stay for the next run. An output that lacks a file is made again. Raises InputError when another process writes
    `path`, and when the user has added or changed files of the older output.
    """
    path = Path(path)
    refuse_foreign(path, Marker.of_command(stage.command))
    origin = stage.origin(key)
    if _there_already(path, origin):
        yield None
        return
    with _place_of_work(path) as place:
        if _there_already(path, origin):  # another command made it in this moment
            yield None
            return
        _refuse_touched(path)
        work = Work(place / origin["key"][:8])
        end_left(place)
        if not _is_of(work.directory, origin):  # else an older command stopped before the last rename
            _begin(path, place, work, origin)
            with _kept_for_the_next_run(path, work):
                yield work
            _remove_partial(work)
            write_json(work.directory / MANIFEST, origin | {FILES: _sizes(work.directory)} | work.manifest)
        else:
            yield None
        flush_to_disk(work.directory)
        if work.scratch.exists():
            shutil.rmtree(work.scratch)
        set_rights(work.directory)
        _refuse_touched(path)  # while the new one was made; the next run moves it
        take_place(work.directory, path)
        _remove_others(place)


def _there_already(path: Path, origin: dict) -> bool:
    """Return whether the output is complete and of this origin. If so, one line on stderr says it."""
    if there := _is_of(path, origin):
        print(f"{path}: there already, made from the same", file=sys.stderr)
    return there


def _is_of(directory: Path, origin: dict) -> bool:
    """Return whether the directory is a complete output of this origin."""
    manifest = read_manifest(directory / MANIFEST)
    same = manifest.get("command") == origin["command"] and not changed(manifest, origin)
    return same and manifest.get(FILES) == _sizes(directory, manifest.get(FILES))


def _sizes(directory: Path, named: Collection[str] | None = None) -> dict[str, int]:
    """Return {name: size} of its files, or of those `named`, without the manifest and the scratch."""
    sizes = {name: size for name, size in files_in(directory).items() if not name.startswith(f"{SCRATCH}/")}
    return {name: size for name, size in sizes.items() if name != MANIFEST and (named is None or name in named)}


def _refuse_touched(path: Path) -> None:
    """Raise InputError when a user has added or changed files of an output that would be replaced."""
    if not path.exists() or not any(path.iterdir()):
        return
    listed = read_manifest(path / MANIFEST).get(FILES)
    if listed is None:
        raise InputError(f"{path}: made by an older version, which did not list its files; remove it with `rm -r`.")
    refuse_others(path, {MANIFEST, *listed}, f"its {MANIFEST} does not list")
    for name, size in _sizes(path, listed).items():
        if size != listed[name]:
            raise InputError(
                f"{path}: {name} is not as long as it was written; remove it to have it made again, or choose another "
                "--output."
            )


@contextmanager
def _place_of_work(path: Path) -> Iterator[Path]:
    """Yield `.NAME.work` to this process alone: all keys share a lock. An empty folder is removed afterwards."""
    place = path.with_name(f".{path.name}.work")
    busy = f"{path}: another command is writing it; wait for its end, or stop it."
    with locked(path.with_name(f".{path.name}.lock"), busy):
        make_folder(place)
        try:
            yield place
        finally:
            with suppress(OSError):  # work is left in it
                place.rmdir()


@contextmanager
def _kept_for_the_next_run(path: Path, work: Work) -> Iterator[None]:
    """After an error, keep the work if it has a file. On a full disk, say which files can be removed."""
    try:
        yield
    except BaseException as error:
        files = [file for file in work.directory.rglob("*") if file.is_file()]
        if all(file.name == KEY or work.copies in file.parents for file in files):
            shutil.rmtree(work.directory)
        elif isinstance(error, OSError) and error.errno in FULL:
            raise InputError(
                f"{path}: {error.strerror}; {REMEDIES[error.errno]}: it resumes from {work.directory.parent}, "
                "which may also be removed."
            ) from None
        raise


def _begin(path: Path, place: Path, work: Work, origin: dict) -> None:
    """Remove work of other keys. Say what changed since the older output, if there is one."""
    key = work.scratch / KEY
    if not key.exists():
        output = read_manifest(path / MANIFEST)
        unfinished = (read_manifest(other / SCRATCH / KEY) for other in place.iterdir())
        if older := next(filter(None, unfinished), output):
            gone = output.get(FILES, {}).keys() - files_in(path).keys()
            why = changed(older, origin) or sorted(gone) or ["the code, before it was whole"]
            print(f"{path}: made anew; changed since: {', '.join(why)}", file=sys.stderr)
        write_json(key, origin)
    _remove_others(place, work.directory.name)
    _remove_partial(work)


def _remove_others(place: Path, *kept: str) -> None:
    """Remove everything but those names. A process that did not end may still write there."""
    for other in place.iterdir():
        if other.name not in kept:
            shutil.rmtree(other, ignore_errors=True) if other.is_dir() else other.unlink()


def _remove_partial(work: Work) -> None:
    """Remove files of killed processes."""
    for partial in work.directory.rglob(".*.partial"):
        partial.unlink()
