"""The Binary resources that FHIR documents name: in the same bundle, or in NDJSON files of the same folder."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from alibert_common.json_value import parse_json
from preprocess.documents.compression import bare, open_bytes
from preprocess.readers.read_log import Fault

ID = re.compile(rb'"id"\s*:\s*"([^"]{1,200})"')
LARGEST = 400_000_000  # bytes of a line that is kept in memory


class Binary(NamedTuple):
    """The media type and the base 64 of a file."""

    form: str
    data: str


class Binaries:
    """Finds Binary resources by the address that a document gives: those of a bundle, then those of a folder."""

    def __init__(self, folder: Path, inside: Mapping[str, Binary] | None = None):
        self.folder, self.inside = folder, inside or {}

    def with_those(self, inside: Mapping[str, Binary]) -> "Binaries":
        """The same folder with the resources of a bundle."""
        return Binaries(self.folder, inside)

    def find(self, url: str) -> Binary | None:
        """The resource of an address such as Binary/123, None if it is not there."""
        name = url.rpartition("/")[2].removeprefix("urn:uuid:")
        if found := self.inside.get(url) or self.inside.get(name):
            return found
        if not name or "Binary/" not in url:
            return None
        place = _places(self.folder).get(name.encode())
        return _read(*place) if place else None


def inside_bundle(value: object) -> dict[str, Binary]:
    """The Binary resources of a bundle, by their full address and by their id."""
    found: dict[str, Binary] = {}
    entries = value.get("entry") if isinstance(value, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        resource = entry.get("resource") if isinstance(entry, dict) else None
        if isinstance(resource, dict) and resource.get("resourceType") == "Binary":
            binary = Binary(str(resource.get("contentType", "")), str(resource.get("data", "")))
            found |= {str(name): binary for name in (entry.get("fullUrl"), resource.get("id")) if name}
    return found


def binary_files(folder: Path) -> list[Path]:
    """The files of a folder that may hold Binary resources, by their names."""
    return _binary_files(folder, folder.stat().st_mtime_ns)


@lru_cache(16)  # asked for each file of a folder
def _binary_files(folder: Path, _changed: int) -> list[Path]:
    endings = (".ndjson", ".jsonl")
    return sorted(f for f in folder.iterdir() if "binary" in f.name.lower() and bare(f).suffix.lower() in endings)


@lru_cache(4)
def _places(folder: Path) -> dict[bytes, tuple[Path, int]]:
    """Where the folder's NDJSON files hold the Binary resources: file and byte by id, some 200 bytes of memory each."""
    places: dict[bytes, tuple[Path, int]] = {}
    for file in binary_files(folder):
        with open_bytes(file) as handle:
            start = 0
            for line in handle:
                if found := ID.search(line):
                    places.setdefault(found[1], (file, start))
                start += len(line)
    return places


def _read(file: Path, start: int) -> Binary:
    with open_bytes(file) as handle:
        handle.seek(start)
        line = handle.readline(LARGEST)
    try:
        resource = parse_json(line.decode())
    except (ValueError, UnicodeDecodeError):
        resource = None
    if not isinstance(resource, dict):
        raise Fault("a Binary resource that is no JSON object", "export it again", f"{file.name}, byte {start}")
    return Binary(str(resource.get("contentType", "")), str(resource.get("data", "")))
