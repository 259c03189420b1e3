"""An output directory that is made in pieces: stopped at any moment, the same command goes on where it was.

It is made beside its place, as `.NAME.work/KEY`, and takes its name when it is whole. What it is made from, the *key*,
is in the name: an output of the same key is left as it is, a half-made one of another key is removed, and what a
process of an older command may still write goes elsewhere.
"""

import json
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from alibert_common.directories import Marker, files_in, flush_to_disk, refuse_foreign, refuse_others, take_place
from alibert_common.errors import FULL, REMEDIES, InputError
from alibert_common.executors.slurm import end_left
from alibert_common.files import written_whole
from alibert_common.locks import locked
from alibert_common.provenance import MANIFEST, Stage, changed, read_manifest
from alibert_common.rights import make_folder, set_rights

SCRATCH = ".scratch"  # what only the making needs
KEY = "key.json"  # in the scratch: what the manifest will begin with
FILES = "files"  # in the manifest: the bytes of every other file


class Work:
    """The directory in which an output is made: files are written whole into it, and into `scratch` what it does not
    keep, `copies` of inputs too. `manifest` is what the output says of itself."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.scratch = directory / SCRATCH
        self.copies = self.scratch / "copies"
        self.manifest: dict = {}


@contextmanager
def resumable_directory(path: Path, stage: Stage, key: dict) -> Iterator[Work | None]:
    """Yield the work of the output `path`, or None when it stands there already, made by `stage` from the same key.

    `key` names what the output is made from, as {"settings": ..., "inputs": ...}; when an older output or half-made one
    is made anew, one line on stderr says which of these changed. When the block ends, manifest.json holds the command,
    the digests of the key, the versions of libraries, the names and sizes of the files and `Work.manifest`, and the
    directory takes the place of an older output. When it fails, what was made stays for the next time; if nothing was,
    nothing stays. An output of which a file is gone is made anew. Raises InputError where another process is at work on
    `path`, and where an older output holds what a user put or changed there, and would be replaced.
    """
    path = Path(path)
    refuse_foreign(path, Marker.of_command(stage.command))
    origin = stage.origin(key)
    if _there_already(path, origin):
        yield None
        return
    with _place_of_work(path) as place:
        if _there_already(path, origin):  # by a command that ended in this moment
            yield None
            return
        _refuse_touched(path)
        work = Work(place / origin["key"][:8])
        end_left(place)
        if not _is_of(work.directory, origin):  # else it was stopped while it took its place
            _begin(path, place, work, origin)
            with _told_where_it_lies(path, work), _nothing_left_of_nothing(work):
                yield work
            _remove_partial(work)
            _write_manifest(work, origin)
        else:
            yield None
        set_rights(work.directory)
        flush_to_disk(work.directory)
        if work.scratch.exists():
            shutil.rmtree(work.scratch)
        _refuse_touched(path)  # while the new one was made; this one stays, and takes its place the next time
        take_place(work.directory, path)
        _remove_others(place)


def _there_already(path: Path, origin: dict) -> bool:
    """Whether the output stands, whole, of this origin; then one line on stderr says so."""
    there = _is_of(path, origin)
    if there:
        print(f"{path}: there already, made from the same", file=sys.stderr)
    return there


def _is_of(directory: Path, origin: dict) -> bool:
    """Whether it is a whole output of this origin."""
    manifest = read_manifest(directory / MANIFEST)
    same = manifest.get("command") == origin["command"] and not changed(manifest, origin)
    return same and manifest.get(FILES) == _files_but_manifest(directory, manifest.get(FILES))


def _files_but_manifest(directory: Path, named: Collection[str] | None = None) -> dict[str, int]:
    """{name: bytes} of its files, or of those `named`."""
    names = files_in(directory).items()
    return {name: size for name, size in names if name != MANIFEST and (named is None or name in named)}


def _refuse_touched(path: Path) -> None:
    """Raise InputError where an output that is to be replaced holds what a user put there, or changed."""
    if not path.exists() or not any(path.iterdir()):
        return
    listed = read_manifest(path / MANIFEST).get(FILES)
    if listed is None:
        raise InputError(f"{path}: made by an older version, which did not list its files; remove it with `rm -r`.")
    refuse_others(path, {MANIFEST, *listed}, f"its {MANIFEST} does not list")
    for name, size in _files_but_manifest(path, listed).items():
        if size != listed[name]:
            raise InputError(
                f"{path}: {name} is not as long as it was written; remove it to have it made again, or choose another "
                "--output."
            )


def _write_manifest(work: Work, origin: dict) -> None:
    files = _files_but_manifest(work.directory)
    files = {name: size for name, size in files.items() if not name.startswith(f"{SCRATCH}/")}
    with written_whole(work.directory / MANIFEST) as handle:
        handle.write(json.dumps(origin | {FILES: files} | work.manifest, ensure_ascii=False, indent=2) + "\n")


@contextmanager
def _place_of_work(path: Path) -> Iterator[Path]:
    """`.NAME.work`, for this process alone: one lock for every key. Removed afterwards when nothing is left in it."""
    place = path.with_name(f".{path.name}.work")
    busy = f"{path}: another command is writing it; wait for its end, or stop it."
    with locked(path.with_name(f".{path.name}.lock"), busy):
        make_folder(place)
        try:
            yield place
        finally:
            with suppress(OSError):  # there is work in it
                place.rmdir()


@contextmanager
def _told_where_it_lies(path: Path, work: Work) -> Iterator[None]:
    """On a full disk the user wants to know what fills it."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL or not work.directory.exists():
            raise
        raise InputError(
            f"{path}: {error.strerror}; {REMEDIES[error.errno]}: it goes on with what is in {work.directory.parent}, "
            "which may also be removed."
        ) from None


@contextmanager
def _nothing_left_of_nothing(work: Work) -> Iterator[None]:
    """Remove the work of a block that fails before it made anything."""
    try:
        yield
    except BaseException:
        files = [path for path in work.directory.rglob("*") if path.is_file()]
        if all(path.name == KEY or work.copies in path.parents for path in files):
            shutil.rmtree(work.directory)
        raise


def _begin(path: Path, place: Path, work: Work, origin: dict) -> None:
    """Keep what was made from the same key, and nothing else; say what changed since the older output, if any."""
    key = work.scratch / KEY
    if not key.exists():
        older = [before for other in place.iterdir() if (before := read_manifest(other / SCRATCH / KEY))]
        older.append(read_manifest(path / MANIFEST))
        if older[0]:
            gone = read_manifest(path / MANIFEST).get(FILES, {}).keys() - files_in(path).keys()
            why = changed(older[0], origin) or sorted(gone) or ["the code, before it was whole"]
            print(f"{path}: made anew; changed since: {', '.join(why)}", file=sys.stderr)
        with written_whole(key) as handle:
            handle.write(json.dumps(origin, indent=2) + "\n")
    _remove_others(place, work.directory.name)
    _remove_partial(work)


def _remove_others(place: Path, *kept: str) -> None:
    """All but those names; a process that nobody could end may be writing there."""
    for other in place.iterdir():
        if other.name not in kept:
            shutil.rmtree(other, ignore_errors=True) if other.is_dir() else other.unlink()


def _remove_partial(work: Work) -> None:
    """Files of processes that were killed."""
    for partial in work.directory.rglob(".*.partial"):
        partial.unlink()
