"""Provenance of an output: the VERSION of its stage, settings, inputs, and the libraries that its bytes depend on.

A stage makes an output again when one of these changes. The manifest of the output begins with them.
"""

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path

from alibert_common.errors import InputError, readable
from alibert_common.json_value import parse_json

MANIFEST = "manifest.json"
FIRST_VALUE = re.compile(r'\{\s*"command": "([^"]*)"')
# Manifests of older revisions hold a digest of all code in place of the VERSION of the stage.
VERSION_OF_CODE = {"c3f4a6caa86e66f9f0c0921a956df74eb15632ac088a8fa56dff475139d137b8": 1}  # revision 057498c


@dataclass(frozen=True)
class Stage:
    """A command that makes an output. `version` is raised when its output bytes or its unfinished work change;
    `libraries` are the packages that the bytes depend on. tests/golden/test_oracle.py guards both."""

    command: str
    version: int
    libraries: tuple[str, ...] = ()

    def origin(self, key: dict) -> dict:
        """Return the beginning of a manifest. `key` holds settings and inputs."""
        made_from = {name: digest_of(value) for name, value in key.items()} | {"version": self.version}
        versions = {"python": ".".join(platform.python_version_tuple()[:2])}  # selects the Unicode tables
        for name in self.libraries:
            with suppress(PackageNotFoundError):  # pyarrow is optional
                versions[name] = installed_version(name)
        whole = digest_of([self.command, made_from, versions])
        return {"command": self.command, "key": whole, "made_from": made_from, "versions": versions}


def stage_version(manifest: dict) -> int | None:
    """Return the VERSION of the stage that wrote the manifest, or None where it is unknown."""
    made_from = manifest.get("made_from", {})
    return made_from.get("version") or VERSION_OF_CODE.get(made_from.get("code", ""))


def changed(before: dict, now: dict) -> list[str]:
    """Return the names of settings, inputs and libraries that differ between two manifests, libraries with versions.

    A library that only one of the two lists is ignored: it was not installed for the other.
    """
    was = {name: value for name, value in before.get("made_from", {}).items() if name not in ("code", "version")}
    was["version"] = stage_version(before)
    names = [name for name in now["made_from"].keys() | was.keys() if now["made_from"].get(name) != was.get(name)]
    libraries = before.get("versions", {})
    return sorted(names) + [
        f"{name} ({libraries[name]} before, {version} now)"
        for name, version in sorted(now["versions"].items())
        if libraries.get(name, version) != version
    ]


def digest_of(content: object) -> str:
    """Return the SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def identity(paths: Iterable[Path]) -> list[list]:
    """Return [path, bytes, nanoseconds of change] of inputs, which shows without reading whether they have changed.

    Paths are absolute; links are not followed. An output of this project may move: its identity is the SHA-256 of its
    manifest. Raises InputError for a missing path.
    """
    files: list[list] = []
    for path in map(Path, paths):
        if is_output(path):
            files.append([hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()])
        elif path.is_dir():
            files += identity(sorted(file for file in path.rglob("*") if file.is_file()))
        elif path.exists():
            files.append([readable(os.path.abspath(path)), path.stat().st_size, path.stat().st_mtime_ns])
        else:
            raise InputError(f"{path}: no such file; check the path of the corpus.")
    return files


def is_output(path: Path) -> bool:
    """Return whether a command of this project made the folder."""
    return {"command", "key", "made_from"} <= read_manifest(path / MANIFEST).keys()


def command_of(path: Path) -> str:
    """The command that wrote a manifest: its first value, so that a long one is not read whole. "" if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            found = FIRST_VALUE.match(file.read(200))
    except (OSError, ValueError):
        return ""
    return found[1] if found else ""


def read_manifest(path: Path) -> dict:
    """Read a manifest, or another JSON file of that name. Returns {} if there is none."""
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
