"""The Binary resources that FHIR documents name: in the same bundle, or in NDJSON files of the same folder."""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from alibert_common.json_value import parse_json
from preprocess.documents.compression import CHUNK, bare, open_bytes
from preprocess.readers.read_log import Fault

ID = re.compile(rb'"id"\s*:\s*"([^"]{1,200})"')
VERSION = re.compile(r"/_history/[^/]*$|\|[^/|]*$")
LARGEST = 400_000_000  # bytes of a line that is kept in memory


class Binary(NamedTuple):
    """The media type and the base 64 of a file."""

    form: str
    data: str


class State(NamedTuple):
    """A file as it is now; a changed one is read anew."""

    path: Path
    size: int
    changed: int


class Binaries:
    """Finds Binary resources by the address that a document gives: its own, those of a bundle, then of a folder."""

    def __init__(self, folder: Path, inside: Mapping[str, Binary] | None = None):
        self.folder, self.inside = folder, inside or {}

    def with_those(self, inside: Mapping[str, Binary]) -> "Binaries":
        """The same folder with the resources of a bundle or of a document too."""
        return Binaries(self.folder, {**self.inside, **inside}) if inside else self

    def find(self, url: str) -> Binary | None:
        """The resource of an address such as Binary/123, None if it is not there."""
        url = without_version(url)
        name = url.rpartition("/")[2].removeprefix("urn:uuid:")
        if found := self.inside.get(url) or self.inside.get(name):
            return found
        if not name or "Binary/" not in url:
            return None
        places = _places(states(binary_files(self.folder))).get(name.encode(), ())
        return next(filter(None, (_read(*place, name) for place in places)), None)


def without_version(reference: str) -> str:
    """The address of a resource, whatever version of it is named: Patient/7 for Patient/7/_history/2."""
    return VERSION.sub("", reference)


def inside_bundle(bundle: dict) -> dict[str, Binary]:
    """The Binary resources of a bundle, by their full address and by their id."""
    found: dict[str, Binary] = {}
    entries = bundle.get("entry")
    for entry in entries if isinstance(entries, list) else ():
        resource = entry.get("resource") if isinstance(entry, dict) else None
        if isinstance(resource, dict):
            found |= binaries_in([resource])
            if entry.get("fullUrl") and _is_binary(resource):
                found[str(entry["fullUrl"])] = _binary_of(resource)
    return found


def binaries_in(resources: Iterable[dict], sign: str = "") -> dict[str, Binary]:
    """The Binary resources among others by `sign` and id: "#" where a document contains them."""
    named = (resource for resource in resources if _is_binary(resource) and resource.get("id"))
    return {f"{sign}{resource['id']}": _binary_of(resource) for resource in named}


def _is_binary(resource: dict) -> bool:
    return resource.get("resourceType") == "Binary"


def _binary_of(resource: dict) -> Binary:
    return Binary(str(resource.get("contentType", "")), str(resource.get("data", "")))


def binary_files(folder: Path) -> list[Path]:
    """The files of a folder that may hold Binary resources, by their names."""
    return _binary_files(folder, folder.stat().st_mtime_ns)


def states(files: Iterable[Path]) -> tuple[State, ...]:
    """The files as they are now."""
    return tuple(State(file, file.stat().st_size, file.stat().st_mtime_ns) for file in files)


@lru_cache(16)  # asked for each file of a folder
def _binary_files(folder: Path, _changed: int) -> list[Path]:
    endings = (".ndjson", ".jsonl")
    return sorted(f for f in folder.iterdir() if "binary" in f.name.lower() and bare(f).suffix.lower() in endings)


@lru_cache(4)
def _places(files: tuple[State, ...]) -> dict[bytes, list[tuple[State, int]]]:
    """Where NDJSON files hold an id: file and byte, some 300 bytes of memory each.

    Other parts of a resource have ids too, so that several lines may hold one.
    """
    places: dict[bytes, list[tuple[State, int]]] = {}
    for file in files:
        with open_bytes(file.path) as handle:
            start = 0
            for line in handle:
                for name in set(ID.findall(line)):
                    places.setdefault(name, []).append((file, start))
                start += len(line)
    return places


class Lines:
    """Lines of an open file by the number of their first byte. A compressed file is read anew for each step back."""

    def __init__(self, file: Path):
        self.file, self.stack = file, ExitStack()
        self.handle, self.place = self.stack.enter_context(open_bytes(file)), 0

    def at(self, start: int) -> bytes:
        """The line, or its beginning."""
        if self.handle.seekable():
            self.place = self.handle.seek(start)
        elif start < self.place:
            self.stack.close()
            self.handle, self.place = self.stack.enter_context(open_bytes(self.file)), 0
        while self.place < start:
            self.place += len(self.handle.read(min(CHUNK, start - self.place)))
        line = self.handle.readline(LARGEST)
        self.place += len(line)
        return line


@lru_cache(4)
def _lines_of(file: State, _process: int) -> Lines:
    return Lines(file.path)


def _read(file: State, start: int, name: str) -> Binary | None:
    """The resource in the line that begins at a byte, None where it has another id. Raises Fault."""
    line = _lines_of(file, os.getpid()).at(start)
    try:
        resource = parse_json(line.decode())
    except (ValueError, UnicodeDecodeError):
        resource = None
    if not isinstance(resource, dict):
        raise Fault("a Binary resource that is no JSON object", "export it again", f"{file.path.name}, byte {start}")
    return _binary_of(resource) if resource.get("id") == name else None
