"""Files of text and JSON: read with one clear sentence on bad input, written whole or not at all."""

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from alibert_common.errors import InputError
from alibert_common.json_value import parse_json
from alibert_common.rights import make_folder, opener


def read_text(path: Path) -> str:
    """Read a UTF-8 file. Every character is kept, also line ends and a byte order mark, because offsets count them.

    Raises InputError naming the line and the byte of the first character that is not UTF-8.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path.")
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line, byte = raw.count(b"\n", 0, error.start) + 1, error.start - raw.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{path}, line {line}: byte {byte} (0x{raw[error.start]:02x}) is not UTF-8; convert the file, "
            "for example with iconv -f latin1 -t utf-8."
        ) from None


def read_json(file: Path) -> dict:
    """Read a JSON object. Raises InputError for a file that holds none."""
    text = read_text(file)
    try:
        content = parse_json(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{file}, line {error.lineno}: is not JSON ({error.msg}); make it anew.") from None
    except ValueError as error:
        raise InputError(f"{file}: is not usable JSON ({error}); make it anew.") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: holds no JSON object; make it anew.")
    return content


def files_of(path: Path, *suffixes: str) -> list[Path]:
    """Return the file itself, or the files of a folder with these suffixes, at any depth, sorted; no hidden ones."""
    if path.is_file():
        return [path]
    files = (file for file in path.rglob("*") if file.suffix in suffixes)
    return sorted(file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts))


def sha256_of(path: Path) -> str:
    """SHA-256 of a file of any size, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as stored:
        while block := stored.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def written_whole(path: os.PathLike, mode: str = "w", shared: bool = False) -> Iterator[IO]:
    """Open a file that appears under `path` only when the block ends without an error.

    It is written beside `path`, flushed to the disk, then renamed. On any error the partial file is removed and the
    older file stays. rights.py explains `shared`.
    """
    path = Path(path)
    make_folder(path.parent, shared)
    if path.is_dir():
        raise InputError(f"{path}: is a directory; give the path of the file to write.")
    # A random name: processes of two nodes may have the same number.
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
        with open(aside, mode, encoding=encoding, newline=newline, opener=opener(shared)) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(aside, path)
    except OSError as error:
        error.filename = path if error.filename in (None, str(aside)) else error.filename
        raise
    finally:
        aside.unlink(missing_ok=True)


def write_text(path: Path, text: str, shared: bool = False) -> None:
    """Write a text, whole or not at all."""
    with written_whole(path, shared=shared) as handle:
        handle.write(text)


def write_json(path: Path, content: object, shared: bool = False) -> None:
    """Write `content` as indented JSON, whole or not at all."""
    with written_whole(path, shared=shared) as handle:
        json.dump(content, handle, ensure_ascii=False, indent=2)
        handle.write("\n")
