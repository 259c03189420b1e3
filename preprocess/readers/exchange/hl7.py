"""HL7 version 2: the messages of a file, one or a batch of them, each a document."""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from preprocess.documents.compression import open_bytes
from preprocess.documents.document import PATIENT, Document
from preprocess.documents.first_bytes import peek
from preprocess.readers.conversion.reader import noted_content
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog, UnreadableFile

CHUNK = 1 << 20
LARGEST = 64_000_000  # bytes of a message, of which the library makes several copies
NONE = Fault("a file without an HL7 message", "give it the ending of what it holds, or convert it to UTF-8")
HEAD = re.compile(rb"[\r\n\x0b](?=MSH[^\w\s])")  # behind the end of a line, or the frame of MLLP
# MSH-18 (HL7 table 0211) in Python's names. A message whose bytes begin with MSH is not in UTF-16, whatever it says.
CHARSETS = {
    "8859/1": "cp1252", "8859/15": "iso8859-15", "ASCII": "cp1252", "UNICODE UTF-8": "utf-8", "UTF-8": "utf-8",
    "UNICODE": "utf-8", "UNICODE UTF-16": "utf-8",
}  # fmt: skip


def read_hl7(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document for each message. Raises UnreadableFile for a file without one."""
    number = 0
    with open_bytes(file, log) as handle:
        for number, data in enumerate(_messages(handle), 1):
            with log.refusing(options, file, f"message {number}"):
                if len(data) > LARGEST:
                    raise Fault(f"a message of more than {LARGEST // 1_000_000} MB", "write its files beside it")
                content = noted_content(_decoded(data, options).encode(), "hl7", options, log)
                name, date, patient = (content.metadata[key] for key in ("id", "date", "patient"))
                metadata = {PATIENT: patient} if patient else {}
                name = name or f"{options.name}-{number}"
                yield Document(name, options.default_source, content.lines, "", date, metadata)
    if not number and file.stat().st_size:
        raise UnreadableFile(file, NONE)


def _messages(handle: IO[bytes]) -> Iterator[bytes]:
    """The messages of a file, without what stands before the first one. Of one that is too long, its beginning."""
    held = b"\r"  # a line end, behind which a message may begin
    if peek(handle).startswith(codecs.BOM_UTF8):
        handle.read(len(codecs.BOM_UTF8))
    while chunk := handle.read(CHUNK):
        begun = max(0, len(held) - len("\rMSH"))
        held += chunk
        while head := HEAD.search(held, begun):
            if held.startswith(b"MSH"):
                yield held[: head.start()]
            held, begun = held[head.end() :], 0
        if len(held) > LARGEST:
            held = held[: LARGEST + 1] + held[-len("\rMSH") :]
    if held.startswith(b"MSH"):
        yield held


def _decoded(data: bytes, options: ReadOptions) -> str:
    """The characters of a message: --encoding, or what MSH-18 says, or UTF-8, or else Windows-1252. Raises Fault."""
    head = re.split(rb"[\r\n]", data, maxsplit=1)[0].split(data[3:4])
    said = head[17].partition(data[4:5])[0].partition(b"~")[0].decode("ascii", "replace") if len(head) > 17 else ""
    named = options.encoding and options.decoded_as("auto")
    names = [CHARSETS.get(said.strip(), "auto")] if named in ("", "auto") else [named]
    last: UnicodeDecodeError | None = None
    for name in names if names != ["auto"] else ["utf-8", "cp1252"]:
        try:
            return data.decode(name)
        except UnicodeDecodeError as error:
            last = error
    raise Fault("an HL7 message in another encoding", "say which with --encoding", str(last))
