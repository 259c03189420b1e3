"""The reader of files that are one document each and are converted in a process of their own."""

import os
import resource
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from preprocess.documents.compression import open_bytes
from preprocess.documents.document import Document
from preprocess.readers.content import Content
from preprocess.readers.conversion.hl7_message import ENDINGS
from preprocess.readers.conversion.isolated import converter, without_passwords
from preprocess.readers.lines import LONGEST
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import CommandError, Fault, ReadLog, UnreadableFile
from preprocess.readers.records.record import lines_of_text

MOST_OF_PAGE = 10_000_000  # bytes that --ocr writes
TOO_MUCH = Fault(f"a file of more than {LONGEST // 1_000_000} MB", "divide it")


def read_office(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """The document of a file. Raises UnreadableFile for one that is damaged, encrypted or takes too long."""
    with open_bytes(file, log) as handle:
        data = handle.read(LONGEST + 1)
    try:
        if len(data) > LONGEST:
            raise TOO_MUCH
        if not data:
            return
        content = content_of(data, options.format, options)
    except Fault as fault:
        raise UnreadableFile(file, fault) from None
    for name, count in content.notes.items():
        log.note(name, count)
    for place, reason, remedy in content.unread:
        log.refuse(options, file, place, Fault(reason, remedy))
    yield Document(options.name, options.default_source, content.lines, "", content.metadata.get("date", ""))


def lines_inside(data: bytes, form: str, options: ReadOptions, log: ReadLog) -> list[str]:
    """The lines of a file inside a resource, whose media type is told. Raises Fault."""
    name = next((ending for word, ending in ENDINGS.items() if word in form), "")
    return noted_content(data, "", options, log, name).lines


def noted_content(data: bytes, kind: str, options: ReadOptions, log: ReadLog, name: str = "") -> Content:
    """The content of a part of a file; what a user should know of it is noted in the log. Raises Fault."""
    content = content_of(data, kind, options, name)
    for note, count in content.notes.items():
        log.note(note, count)
    for part, reason, remedy in content.unread:
        log.refuse_part(options, part, Fault(reason, remedy))
    return content


def content_of(data: bytes, kind: str, options: ReadOptions, name: str = "") -> Content:
    """The content of a file of this format, with the text of scanned pages if the user gave a command for these."""
    content = converter().convert(data, kind, options.time_limit, bool(options.ocr), name)
    before = 0
    for number, scan in enumerate(content.scans):
        try:
            lines = _recognised(converter().picture(number, options.time_limit), options)
        except Fault as fault:
            content.unread.append((f"page {scan.page + 1}", str(fault), fault.remedy))
        else:
            content.lines[scan.place + before : scan.place + before] = lines
            before += len(lines)
    return content


def _recognised(image: bytes, options: ReadOptions) -> list[str]:
    """The lines that the user's command reads in an image. Raises CommandError for a command that is not there."""
    with TemporaryFile() as picture, TemporaryFile() as text, TemporaryFile() as errors:
        picture.write(image)
        picture.seek(0)
        try:
            process = subprocess.Popen(
                shlex.split(options.ocr), stdin=picture, stdout=text, stderr=errors, env=without_passwords(),
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            fault = f"--ocr '{options.ocr}': {error}; give a command that reads a PNG from its input."
            raise CommandError(fault) from None
        try:
            with suppress(ProcessLookupError):  # it has ended already
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MOST_OF_PAGE, MOST_OF_PAGE))
            process.wait(options.time_limit)
        except subprocess.TimeoutExpired:
            raise Fault("a page that --ocr does not finish in time", "raise --time-limit") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what it started, too
            process.wait()
        return _lines_of(process.returncode, _start_of(text), _start_of(errors))


def _start_of(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(MOST_OF_PAGE)


def _lines_of(status: int, text: bytes, errors: bytes) -> list[str]:
    """The lines that the command wrote. Raises Fault for a command that failed, and for what is no text."""
    if status or len(text) == MOST_OF_PAGE:  # that is all of it that could be written
        said = next(iter(errors.decode(errors="replace").splitlines()), f"exit {status}")
        raise Fault("a page that --ocr cannot read", "run the command on it by hand", said[:200])
    try:
        return lines_of_text(text.decode())
    except UnicodeDecodeError:
        raise Fault("a page of which --ocr writes no UTF-8", "give a command that writes UTF-8") from None
