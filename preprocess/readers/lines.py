"""Lines of text in the encodings that French corpora have; a line that cannot be decoded says so and is never altered.

Only "\\n" and "\\r\\n" end a line, or "\\r" in a file where it ends more lines than "\\n". NUL characters stay, and
`preprocess.clean` removes them.
"""

import codecs
import io
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import count, repeat
from pathlib import Path
from typing import IO, NamedTuple

from alibert_common.errors import InputError
from preprocess.documents.compression import open_bytes, open_part
from preprocess.documents.first_bytes import LinesEndedByCR, check_text, ends_lines_with_cr, peek, wide_encoding
from preprocess.readers.options import Part, ReadOptions
from preprocess.readers.read_log import Fault, ReadLog, readable

LONGEST = 256_000_000  # bytes of a line, characters of a document, bytes of an XML record: a bound on memory
CHUNK = 1 << 18  # bytes that are decoded at once: few calls, and text that the processor's cache holds
TOO_LONG = (f"a line of more than {LONGEST // 1_000_000} MB", "divide it")
ENCODE = "say which encoding it is with --encoding (windows-1252, latin-1, utf-16, auto)"
NAMES = {"utf-8": "UTF-8", "cp1252": "Windows-1252", "iso8859-1": "Latin-1", "utf-16": "UTF-16", "utf-32": "UTF-32"}


class Line(NamedTuple):
    """A line without its end. With a fault, bytes that are no characters are lone surrogates, Python's escapes."""

    number: int  # from 1
    text: str
    fault: Fault | None = None


class Block(NamedTuple):
    """Neighbouring lines as one text, each with LF at its end. A line with a fault is alone."""

    number: int  # of the first line
    text: str
    fault: Fault | None = None


class Cut(NamedTuple):
    """A place at which a file can be divided. `likely` says that reading from a line in the middle of a record would
    hardly have found it, which is for formats that tell no record's start by itself."""

    line: int | None  # with which the second part begins, None for the end of the file
    records: int  # before it, of those that are counted
    likely: bool = True


LINE: Callable[[tuple], Line] = partial(tuple.__new__, Line)  # without the Python code of a named tuple


def read_lines(file: Path, options: ReadOptions, log: ReadLog, default: str = "utf-8") -> Generator[Line, None, None]:
    """Stream the lines of a file, or of a part of it, as `read_blocks` does."""
    yield from lines_of(read_blocks(file, options, log, default))


def lines_of(blocks: Iterable[Block]) -> Generator[Line, None, None]:
    """The lines of neighbouring blocks."""
    for number, text, fault in blocks:
        yield from map(LINE, zip(count(number), text[:-1].split("\n"), repeat(fault)))


def read_blocks(
    file: Path, options: ReadOptions, log: ReadLog, default: str = "utf-8", *, beyond: bool = False
) -> Generator[Block, None, None]:
    """Stream the lines of a file in blocks of some CHUNK bytes, decompressed, decoded as `options` says; a byte order
    mark is dropped. Of a part of it, its lines, and with `beyond` those that follow.

    Raises InputError for a binary or damaged file, and for UTF-16 or UTF-32 that is named otherwise or is broken: after
    that no line can be found.
    """
    if part := options.part:
        yield from _blocks_of(file, part, options.decoded_as(default), None if beyond else part.last)
        return
    encoding = encoding_of(file, options, log, default)
    with open_bytes(file, log) as handle:
        start = peek(handle)
        check_text(file, start)
        wide = wide_encoding(start)
        blocks: Iterator[Block]
        if is_wide(encoding):
            encoding = wide if wide.startswith(encoding) else encoding
            by_cr = ends_lines_with_cr(start.decode(encoding, "ignore").encode())
            # not `map`, which would close the lines after their file
            blocks = (_block(line) for line in _wide_lines(handle, file, encoding, None if by_cr else "\n"))
        elif wide:
            wrong, right = NAMES[encoding], encoding_name(wide)
            raise InputError(f"{readable(file)}: not {wrong} but {right}; give --encoding auto.")
        else:
            by_cr = ends_lines_with_cr(start)
            single = map(_block, _line_by_line(LinesEndedByCR(handle), encoding)) if by_cr else None
            blocks = single or _byte_blocks(handle, encoding)
        if by_cr:
            log.note("files whose lines end with CR alone")
        yield from blocks


def _block(line: Line) -> Block:
    return Block(line.number, f"{line.text}\n", line.fault)


def _blocks_of(file: Path, part: Part, encoding: str, last: int | None) -> Iterator[Block]:
    """The blocks of a part, up to line `last`."""
    with open_part(file, part.start) as handle:
        for _ in range(part.skip):
            skip_line(handle)
        for block in _byte_blocks(handle, encoding, part.first):
            left = last + 1 - block.number if last else sys.maxsize
            if block.text.count("\n") < left:
                yield block
                continue
            text = "\n".join(block.text.split("\n", left)[:left])
            yield block._replace(text=f"{text}\n")
            return


def can_be_divided(file: Path, options: ReadOptions) -> bool:
    """Whether a line of the file can be found from any place in it: not by CR alone, in UTF-16 or UTF-32, nor where the
    whole file tells the encoding. Raises InputError for a binary file."""
    with open_bytes(file) as handle:
        start = peek(handle)
    check_text(file, start)
    encoding = options.decoded_as("utf-8")
    return not (encoding == "auto" or is_wide(encoding) or wide_encoding(start) or ends_lines_with_cr(start))


def is_wide(encoding: str) -> bool:
    """Whether it is a kind of UTF-16 or UTF-32."""
    return encoding.startswith(("utf-16", "utf-32"))


def encoding_name(encoding: str) -> str:
    """Python's name of an encoding as people write it; UTF-16 in either order of bytes."""
    return NAMES[encoding[: len("utf-16")] if is_wide(encoding) else encoding]


def encoding_of(file: Path, options: ReadOptions, log: ReadLog, default: str) -> str:
    """Python's name of the encoding. "auto" reads the whole file: UTF-16 or UTF-32 if its start is, UTF-8 if all of it
    is, else Windows-1252."""
    encoding = options.decoded_as(default)
    if encoding != "auto":
        return encoding
    with open_bytes(file, log) as handle:
        encoding = wide_encoding(peek(handle)) or _utf_8_or_cp1252(handle)
    log.note(f"files read as {encoding_name(encoding)}")
    return encoding


def _utf_8_or_cp1252(handle: IO[bytes]) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while chunk := handle.read(CHUNK):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _byte_blocks(handle: IO[bytes], encoding: str, number: int = 1) -> Iterator[Block]:
    """The lines of what a file holds, of which the first has this number. Whole lines are decoded many at a time."""
    begun = b""
    while data := begun + handle.read1(CHUNK):  # type: ignore[attr-defined]
        if b"\n" not in data:
            data += handle.readline(LONGEST)
        end = data.rfind(b"\n") + 1 or len(data)
        data, begun = data[:end], data[end:]
        try:
            text = data.decode(encoding) if len(data) < LONGEST else ""
        except UnicodeDecodeError:
            text = ""
        if text:
            text = text if text.endswith("\n") else f"{text}\n"
            text = text.removeprefix("\ufeff") if number == 1 else text
            while "\r\n" in text:
                text = text.replace("\r\n", "\n")
            yield Block(number, text)
            number += text.count("\n")
            continue
        for line in _line_by_line(io.BytesIO(data), encoding, number - 1):
            number = line.number + 1
            yield _block(line)
        if not data.endswith(b"\n"):
            skip_line(handle)


def _line_by_line(handle: IO[bytes] | LinesEndedByCR, encoding: str, number: int = 0) -> Iterator[Line]:
    while raw := handle.readline(LONGEST):
        number += 1
        if len(raw) == LONGEST and not raw.endswith(b"\n"):
            skip_line(handle)
            yield Line(number, "", Fault(*TOO_LONG))
            continue
        try:
            text, fault = raw.decode(encoding), None
        except UnicodeDecodeError as error:
            place = f"byte {error.start + 1} is 0x{raw[error.start]:02x}"
            text, fault = raw.decode(encoding, "surrogateescape"), Fault(f"not {NAMES[encoding]}", ENCODE, place)
        yield Line(number, (text.removeprefix("\ufeff") if number == 1 else text).rstrip("\r\n"), fault)


def skip_line(handle: IO[bytes] | LinesEndedByCR) -> None:
    """Leave out what is left of a line, however long it is."""
    while (raw := handle.readline(CHUNK)) and not raw.endswith(b"\n"):
        pass


def _wide_lines(handle: IO[bytes], file: Path, encoding: str, newline: str | None) -> Iterator[Line]:
    number = 0
    wrapper = io.TextIOWrapper(handle, encoding=encoding, newline=newline)
    try:
        while text := wrapper.readline(LONGEST):
            number += 1
            yield Line(number, text.rstrip("\r\n"), Fault(*TOO_LONG) if len(text) == LONGEST else None)
    except UnicodeError as error:
        raise InputError(
            f"{readable(file)}, line {number + 1}: not {encoding_name(encoding)} ({error}); say which encoding it is "
            "with --encoding."
        ) from None
    finally:
        wrapper.detach()
