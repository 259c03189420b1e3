"""An output directory that is made in pieces: stopped at any moment, the same command goes on where it was.

It is made beside its place, in `.NAME.work`, and takes its name when it is whole. What it is made from, the *key*, is
written down first: an output of the same key is left as it is, and a half-made one of another key is begun anew.
"""

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from preprocess.files import InputError, Marker, flush_to_disk, readable, refuse_foreign, take_place, written_whole

MANIFEST = "manifest.json"
SCRATCH = ".scratch"  # what only the making needs; the key and the lock lie there too


class Work:
    """The directory in which an output is made: files are written whole into it, and into `scratch` what it does not
    keep. `manifest` is what the output says of itself."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.scratch = directory / SCRATCH
        self.manifest: dict = {}


@contextmanager
def resumable_directory(path: Path, command: str, key: dict) -> Iterator[Work | None]:
    """Yield the work of the output `path`, or None when it stands there already, made by `command` from the same key.

    When the block ends, manifest.json holds the command, the key and `Work.manifest`, and the directory takes the place
    of an older output. When it fails, what was made stays for the next time. Raises InputError where `path` holds
    foreign files, and where another process is at work on it.
    """
    path = Path(path)
    refuse_foreign(path, Marker.of_command(command))
    if is_made_from(path, command, key):
        yield None
        return
    work = Work(path.with_name(f".{path.name}.work"))
    work.scratch.mkdir(parents=True, exist_ok=True)
    with open(work.scratch / "lock", "w") as lock:
        _lock(lock, path)
        if not is_made_from(work.directory, command, key):  # else it was stopped while it took its place
            _begin(work, key)
            yield work
            with written_whole(work.directory / MANIFEST) as handle:
                words = {"command": command, "key": digest(key)} | work.manifest
                handle.write(json.dumps(words, ensure_ascii=False, indent=2) + "\n")
        else:
            yield None
        for partial in work.directory.rglob(".*.partial"):  # of processes that were killed
            partial.unlink()
        flush_to_disk(work.directory)
        shutil.rmtree(work.scratch)
        take_place(work.directory, path)


def is_made_from(path: Path, command: str, key: dict) -> bool:
    """Whether `path` is a whole output of the command, from this key."""
    if not Marker.of_command(command).is_in(path):
        return False
    return json.loads((path / MANIFEST).read_text(encoding="utf-8")).get("key") == digest(key)


def digest(key: dict) -> str:
    """SHA-256 of what an output is made from."""
    return hashlib.sha256(json.dumps(key, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def identity(paths: Iterable[Path]) -> list[list]:
    """What tells whether inputs are the same as before, without reading them: [path, bytes, nanoseconds of change].

    An output of this project is known by its manifest, which names what it was made from. Raises InputError for a path
    that is not there.
    """
    found = []
    for path in map(Path, paths):
        if (path / MANIFEST).is_file():
            found.append([readable(path), hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()])
        elif path.is_dir():
            found += identity(sorted(file for file in path.rglob("*") if file.is_file()))
        elif path.exists():
            found.append([readable(path), path.stat().st_size, path.stat().st_mtime_ns])
        else:
            raise InputError(f"{path}: no such file; check the path of the corpus.")
    return found


def _lock(handle, path: Path) -> None:
    """Held until the process ends, however it ends."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"{path}: another command is writing it; wait for its end, or stop it.") from None
    except OSError:  # a file system without locks: two runs at once would write the same bytes
        pass


def _begin(work: Work, key: dict) -> None:
    """Keep what was made from the same key, and nothing else."""
    text = json.dumps({"key": digest(key)} | key, ensure_ascii=False, indent=2)
    written = work.scratch / "key.json"
    if written.is_file() and written.read_text(encoding="utf-8") == text:
        return
    for path in [*work.directory.iterdir(), *work.scratch.iterdir()]:
        if path.name in (SCRATCH, "lock"):
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with written_whole(written) as handle:
        handle.write(text)
