"""A file is converted in a process of its own, which a hostile file may end, and nothing else."""

import os
import socket
import subprocess
import sys

import pytest

from preprocess.readers.content import Content, Scan
from preprocess.readers.conversion import child, convert, reader
from preprocess.readers.conversion.isolated import Converter, converter
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import CommandError, Fault

RTF = rb"{\rtf1 Le patient tousse.\par}"
HOSTILE = """
import ctypes, os, socket, subprocess, time
from preprocess.readers.conversion import child
from preprocess.readers.content import Content, Scan
from preprocess.readers.read_log import CommandError, Fault
def convert(data, kind, with_scans):
    if with_scans:
        return Content(["before", "after"], scans=[Scan(1, page, data) for page in range(4)])
    exec(data.decode())
    return Content(["done"])
def picture_of(scan):
    page = scan.page
    exec(scan.pdf.decode())
    return b"page %d" % page
child.convert, child.picture_of = convert, picture_of
child.main()
"""


@pytest.fixture
def hostile(monkeypatch):
    """A converter whose process runs the Python code that it is given for a file."""
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda command, **more: popen([sys.executable, "-c", HOSTILE], **more))
    converter = Converter()

    def lines_of(code, seconds=20):
        return converter.convert(code.encode(), "rtf", seconds).lines

    lines_of.converter = converter
    yield lines_of
    converter.stop()


def test_one_process_converts_one_file_after_the_other():
    converter = Converter()
    try:
        assert converter.convert(RTF, "rtf", 20).lines == ["Le patient tousse."]
        first = converter.process
        with pytest.raises(Fault, match="cut short"):
            converter.convert(b"{\\rtf1", "rtf", 20)
        assert converter.convert(RTF * 3, "", 20, name="a").lines == ["Le patient tousse."]
        assert converter.process is first
    finally:
        converter.stop()


def test_a_process_that_a_file_ends_is_replaced(hostile):
    with pytest.raises(Fault, match="a file that crashes its reader .exit -11.") as raised:
        hostile("ctypes.string_at(0)")
    assert "leave it out" in raised.value.remedy
    assert hostile("pass") == ["done"]


def test_a_file_that_takes_too_long_is_given_up(hostile):
    assert hostile("pass") == ["done"]
    with pytest.raises(Fault, match="a file that takes too long .1 seconds."):
        hostile("time.sleep(30)", seconds=1)
    assert hostile("pass") == ["done"]


def test_a_process_that_ends_in_the_moment_of_its_answer_is_replaced(monkeypatch):
    class LateTimer:
        def __init__(self, seconds, function):
            self.start, self.cancel = lambda: None, function  # the time is up between the answer and the cancelling

    converter = Converter()
    with monkeypatch.context() as patch:
        patch.setattr("preprocess.readers.conversion.isolated.Timer", LateTimer)
        assert converter.convert(RTF, "rtf", 20).lines == ["Le patient tousse."]
    assert converter.process is None and converter.convert(RTF, "rtf", 20).lines == ["Le patient tousse."]
    converter.stop()


@pytest.mark.parametrize(
    "code, lines, unread",
    [
        ("pass", ["before", "page 0", "page 1", "page 2", "page 3", "after"], []),
        ("if page == 1: raise Fault('torn', 'glue it')", ["before", "page 0", "page 2", "page 3", "after"], ["page 2"]),
        ("if page == 1: ctypes.string_at(0)", ["before", "page 0", "after"], ["page 2", "page 3", "page 4"]),
        ("if page == 3: time.sleep(30)", ["before", "page 0", "page 1", "page 2", "after"], ["page 4"]),
    ],
)
def test_scanned_pages_are_drawn_one_by_one(hostile, monkeypatch, code, lines, unread):
    monkeypatch.setattr(reader, "converter", lambda: hostile.converter)
    monkeypatch.setattr(reader, "_recognised", lambda image, options: [image.decode()])
    content = reader.content_of(code.encode(), "pdf", ReadOptions(ocr="cat", time_limit=2))
    assert content.lines == lines and [place for place, _, _ in content.unread] == unread


def test_a_file_that_needs_too_much_memory_is_given_up(hostile):
    with pytest.raises(Fault, match="needs more than 900 MB of memory"):
        hostile("bytearray(10**9)")
    assert hostile("bytearray(10**8)") == ["done"]


@pytest.mark.parametrize(
    "code",
    [
        "socket.create_connection(('127.0.0.1', {port}))",
        "subprocess.run(['touch', '{path}'])",
        "os.system('touch {path}')",
        "open('{path}', 'w')",
        "os.open('{path}', os.O_WRONLY | os.O_CREAT)",
        "os.mkdir('{path}')",
        "os.fork()",
    ],
)
def test_neither_network_nor_commands_nor_output(hostile, tmp_path, code):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        port, path = server.getsockname()[1], tmp_path / "made"
        with pytest.raises(Fault, match="a damaged rtf file .PermissionError: .* is refused while a file is read"):
            hostile(code.format(port=port, path=path))
        with pytest.raises(TimeoutError):
            server.accept()
    assert not path.exists()


def test_the_process_knows_no_password(hostile, monkeypatch):
    monkeypatch.setenv("ALIBERT_DATABASE_PASSWORD", "Hunter2")
    assert hostile("assert 'Hunter2' not in str(os.environ)") == ["done"]


def test_code_in_the_current_folder_is_not_run(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text(f"open('{tmp_path}/made', 'w')")
    monkeypatch.chdir(tmp_path)
    converter = Converter()
    assert converter.convert(RTF, "rtf", 20).lines == ["Le patient tousse."]
    converter.stop()
    assert not (tmp_path / "made").exists()


def test_what_a_library_prints_is_no_answer(hostile):
    assert hostile("print('x', flush=True); os.write(1, b'{}\\n')") == ["done"]


def test_a_library_that_is_not_installed_is_an_error_of_the_command(hostile):
    with pytest.raises(CommandError, match="install it"):
        hostile("raise CommandError('install it')")


def test_a_forked_process_has_a_converter_of_its_own():
    mine = converter()
    read, write = os.pipe()
    if not os.fork():
        os.write(write, b"other" if converter() is not mine else b"same")
        os._exit(0)
    os.wait()
    assert os.read(read, 10) == b"other" and converter() is mine


def test_files_inside_one_another_have_a_bound():
    with pytest.raises(Fault, match="more than 5 deep"):
        convert.convert(RTF, "rtf", depth=6)
    assert child.MEMORY < 1_000_000_000


def test_content_in_json_is_the_same_without_characters_that_are_no_text():
    content = Content(["a\0\ud800b", " "], {"date": "2023"}, {"n": 1})
    assert Content.from_json(content.to_json()) == Content(["ab"], {"date": "2023"}, {"n": 1})
    scanned = Content(["a", "b"], scans=[Scan(1, 7)])
    assert Content.from_json(scanned.to_json()) == scanned
