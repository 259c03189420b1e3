"""The process that converts files for isolated.py: within bounds of memory, without network, commands and output."""

import base64
import json
import os
import resource
import signal
import sys
from typing import IO, Any

from preprocess.readers.content import Content, Scan
from preprocess.readers.conversion.convert import convert, convert_inside
from preprocess.readers.pdf.read import picture_of
from preprocess.readers.read_log import CommandError, Fault

MEMORY = 900_000_000  # bytes of data: with the libraries, less than 1 GB
SCAN = "scan"  # the kind of a question for the picture of a page of the last file
OPEN_AND_SAVE = "leave it out, or open it with its own program and save it again"
REFUSED = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.remove",
           "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "shutil.", "urllib.", "ftplib.")  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC


def main() -> None:
    """Convert files from the standard input until it ends: a line of JSON and so many bytes for each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    os.dup2(1, 2)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(_refuse)
    answers.write(b"ready\n")
    answers.flush()
    scans: list[Scan] = []  # of the last file
    while line := sys.stdin.buffer.readline():
        answers.write(json.dumps(_answer(json.loads(line), sys.stdin.buffer, scans)).encode() + b"\n")
        answers.flush()


def _answer(question: dict, source: IO[bytes], scans: list[Scan]) -> dict:
    signal.alarm(question["seconds"] + 5)  # when the parent is gone
    data = source.read(question["size"])
    try:
        if question["kind"] == SCAN:
            return {"png": base64.b64encode(picture_of(scans[question["number"]])).decode()}
        scans.clear()
        content = _content(data, question)
        scans[:] = content.scans
        return content.to_json()
    except Fault as fault:
        return {"reason": fault.reason, "remedy": fault.remedy, "detail": fault.detail}
    except CommandError as error:
        return {"missing": str(error)}
    except MemoryError:
        reason = f"a file that needs more than {MEMORY // 1_000_000} MB of memory"
        return {"reason": reason, "remedy": OPEN_AND_SAVE, "detail": "", "end": True}
    except Exception as error:  # whatever a library raises for a damaged file
        detail = f"{type(error).__name__}: {error}"[:200]
        return {
            "reason": f"a damaged {question['kind']} file".replace("  ", " "),
            "remedy": OPEN_AND_SAVE,
            "detail": detail,
        }
    finally:
        signal.alarm(0)


def _content(data: bytes, question: dict) -> Content:
    if question["kind"]:
        return convert(data, question["kind"], question["with_scans"])
    content = convert_inside(data, question["name"], question["with_scans"])
    if content is None:
        raise Fault("a file of no known format inside another", "take it out, or convert it")
    return content


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: no library may open a connection, run a program or write a file, whatever a document asks for."""
    if event.startswith(REFUSED) or event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
        raise PermissionError(f"{event} is refused while a file is read")
