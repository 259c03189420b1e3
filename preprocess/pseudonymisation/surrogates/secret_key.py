"""The secret key from which all replacements follow. Who has it can find out which name was replaced by which."""

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from alibert_common.errors import InputError, readable
from alibert_common.files import read_text, written_whole

BYTES = 32


def make_key(file: Path) -> None:
    """Write a new key, readable to its owner only, if there is none. Of several commands at once, one writes it."""
    if file.exists():
        return
    made = file.with_name(f".{file.name}.{secrets.token_hex(8)}.partial")
    with written_whole(made) as handle:
        handle.write(secrets.token_hex(BYTES) + "\n")
    try:
        with suppress(FileExistsError):
            os.link(made, file)  # whole, and never over another one
    finally:
        made.unlink()


def read_key(file: Path) -> bytes:
    """The key in a file. Raises InputError for a file that is not there or holds none."""
    if file.is_dir():
        raise InputError(f"{readable(file)}: is a folder; name the file of the key.")
    text = read_text(file)
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) < BYTES:
        raise InputError(f"{readable(file)}: holds no key of {BYTES} bytes in hexadecimal; name another file.")
    return key


def key_digest(key: bytes) -> str:
    """What tells two keys apart, and from which no key can be found."""
    return hashlib.sha256(b"alibert pseudonymisation key " + key).hexdigest()


class Draws:
    """Numbers that follow from the key, from a patient and from a text: the same ones every time."""

    def __init__(self, key: bytes, patient: str):
        self.key, self.patient = key, patient

    def number(self, kind: str, text: str, below: int) -> int:
        """A number from 0 to `below` - 1."""
        return int.from_bytes(self._digest(kind, text)[:8], "big") % below

    def digits(self, kind: str, text: str) -> str:
        """Many decimal digits."""
        return f"{int.from_bytes(self._digest(kind, text) + self._digest(kind, text + '/2'), 'big'):0155d}"[:150]

    def name(self, kind: str, text: str) -> str:
        """Sixteen hexadecimal digits."""
        return self._digest(kind, text).hex()[:16]

    def _digest(self, kind: str, text: str) -> bytes:
        message = "\0".join((kind, self.patient, text)).encode("utf-8", "surrogatepass")
        return hmac.new(self.key, message, hashlib.sha256).digest()
