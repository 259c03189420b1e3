"""A file read in parts gives what one reading gives: documents, ids, errors, counts, whatever is in it."""

import csv
import gzip
import io
import tempfile
from contextlib import contextmanager
from itertools import accumulate, groupby
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from alibert_common.errors import InputError
from alibert_common.executors.base import ALONE
from preprocess.documents import compression
from preprocess.readers import ReadLog, ReadOptions, Skipped, files_of, lines, parts, read_file, text
from preprocess.readers.lines import LONGEST
from preprocess.readers.options import Part
from preprocess.readers.parts import in_parts
from preprocess.readers.records import table

PIECES = {
    "text": [b"a", "é".encode(), b"Un mot. ", b"\x85", b"\xa0", b" ", b"\xc2\xa0\n", b"\x1c"],
    "jsonl": [
        b'{"text": "a"}', b'{"text": "b", "id": "7"}\n', b'{"text": ""}\n', b'{"text": "c\\nd", "n": [1]}\n', b"{}",
        b"[", b'"', b" ",
    ],
    "csv": [
        b'"', b'""', b",", b"a", b'"x\ny"', b'"x\r\n\r\ny",z\n', b"1,a\n", b'2,"b ""c"" d"\n', b'"e\n",3\n', b'q"r',
        b"'", b"\\", b",,", b" ",
    ],
}  # fmt: skip
PIECES["tsv"] = [piece.replace(b",", b"\t") for piece in PIECES["csv"]]
EVERYWHERE = [b"\n", b"\n", b"\n\n", b"\r\n", b"\r", b"\xff", b"\xef\xbb\xbf", b"\0", b"mot"]
HEADS = {
    "csv": [b"id,text\n", b"id,text\n", b"id,text\n", b'sep=,\n\n"id\n2",text\r\n', b"text,id\n", b""],
    "tsv": [b"id\ttext\n"],
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Files are not flushed to the disk: these tests write thousands."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    monkeypatch.setattr("alibert_common.executors.base.Engine.run", run_in_order)


def run_in_order(engine, name, task, items, logs):
    for item in items:
        if not task.done(item).exists():
            task(item)


def read(files):
    """The documents of files or parts, and what else one reading tells; the files without a document do not count."""
    skipped: list[Skipped] = []
    log, documents = ReadLog(skipped.append), []
    try:
        for file in files:
            documents += read_file(file.file, file.options, log)
    except InputError as stopped:
        return documents, str(stopped)
    counts = {name: count for name, count in log.counts.items() if name != "files without a document"}
    return {
        "documents": documents, "skipped": skipped, "counts": counts, "notes": log.notes,
        "formats": {name: count for name, count in log.documents.items() if count},
    }  # fmt: skip


def assert_the_same_in_parts(path, read_options, size):
    """Returns the number of parts."""
    (whole,) = files_of(path, read_options, ReadLog())
    with tempfile.TemporaryDirectory() as scratch:
        (found,) = in_parts([whole], size, ALONE, Path(scratch))
        assert read([whole]) == read(found)
    return len(found)


def contents(format):
    body = st.lists(st.sampled_from(PIECES[format] + EVERYWHERE), min_size=8, max_size=40).map(b"".join)
    return st.tuples(st.sampled_from(HEADS.get(format, [b""])), body).map(b"".join)


OPTIONS = {
    "encoding": st.sampled_from(["", "", "", "windows-1252", "latin-1", "auto"]),
    "on_error": st.sampled_from(["skip", "stop"]),
}
# Bytes of a block, and of the longest line: so small that they are met.
LIMITS = st.sampled_from([(2, 9), (7, 9), (7, 40), (7, LONGEST), (1 << 20, LONGEST)])


def limited(patch, limits):
    for module in (lines, compression):
        patch.setattr(module, "CHUNK", limits[0])
    for module in (lines, text, table):
        patch.setattr(module, "LONGEST", limits[1])


@pytest.mark.parametrize("format", PIECES)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_lines_in_parts_are_read_as_in_one(format, data):
    content, size, name = (
        data.draw(contents(format)),
        data.draw(st.integers(1, 30)),
        f"a.{format.replace('text', 'txt')}",
    )
    options = {name: data.draw(values) for name, values in OPTIONS.items()}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        limited(patch, data.draw(LIMITS))
        path = Path(folder) / name
        path.write_bytes(content)
        assert_the_same_in_parts(path, ReadOptions(delimiter="," if format == "csv" else "", **options), size)
        packed = Path(folder) / f"{name}.zst"
        cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=12)))
        packed.write_bytes(in_frames(content, cuts, data))
        assert_the_same_in_parts(packed, ReadOptions(delimiter="," if format == "csv" else "", **options), size)


@settings(max_examples=60, deadline=None)
@given(contents("text"), st.sampled_from(["utf-8", "cp1252"]), LIMITS)
@example(b"abcdef\n\xef\xbb\xbf\nb\nc", "utf-8", (7, LONGEST))  # a byte order mark at the start of a block
def test_many_lines_at_a_time_are_those_that_are_read_one_by_one(content, encoding, limits):
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, limits)
        found = lines.lines_of(lines._byte_blocks(io.BufferedReader(io.BytesIO(content), 5), encoding))
        one_by_one = lines._line_by_line(io.BytesIO(content), encoding)
        assert [(*line[:2], str(line.fault)) for line in found] == [(*line[:2], str(line.fault)) for line in one_by_one]


@settings(max_examples=150, deadline=None)
@given(contents("csv"), LIMITS)
@example(b'a"\nb,"c\nd"\n', (1 << 20, LONGEST))  # pairs of quotation marks that are not those of values
@example(b'5" a\n1,"b\nc"\n2,"d\n\n', (7, LONGEST))
def test_rows_in_pieces_are_those_of_single_lines(content, limits):
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, limits)
        blocks = list(lines._byte_blocks(io.BufferedReader(io.BytesIO(content)), "utf-8"))
        found = [(*row[:3], str(row[3])) for row in table.rows_of(table.Pieces(iter(blocks)), ",")]
        assert found == list(rows_line_by_line(list(lines.lines_of(blocks)), limits[1]))


def rows_line_by_line(left, longest):
    """The rows, with the numbers of their lines and what is wrong with them, taking one line after the other."""
    while left:
        taken, row, fault = [], [], None

        def feed(left=left, taken=taken):
            for line in left:
                taken.append(line)
                if sum(len(further.text) for further in taken[1:]) > longest:
                    raise csv.Error(f"no end of the value within {longest // 1_000_000} MB")
                yield line.text + "\n"

        try:
            row = next(csv.reader(feed(), strict=True))
        except csv.Error as error:
            fault, taken[1:] = f"quotation marks that do not fit ({error})", []
        fault = next((line.fault for line in taken if line.fault), fault)
        if row or fault:
            yield taken[0].number, taken[-1].number, row, str(fault)
        left = left[len(taken) :]


@settings(max_examples=150, deadline=None)
@given(contents("text"), LIMITS, st.sampled_from(["utf-8", "windows-1252"]))
def test_documents_are_the_lines_between_blank_ones(content, limits, encoding):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        limited(patch, limits)
        path = Path(folder) / "a.txt"
        path.write_bytes(content)
        read_options = ReadOptions(format="text", encoding=encoding, on_error="skip", name="a")
        runs = groupby(lines.read_lines(path, read_options, ReadLog()), text_or_fault)
        sound, faults = [], []
        for number, run in enumerate((list(run) for filled, run in runs if filled), 1):
            sizes = accumulate(len(line.text) for line in run)
            wrong = [line.number for line, size in zip(run, sizes, strict=True) if line.fault or size > limits[1]]
            faults += [f"line {wrong[0]}"] if wrong else []
            sound += [] if wrong else [(f"a-{number}", [line.text for line in run])]
        skipped: list[Skipped] = []
        found = text.read_text(path, read_options, ReadLog(skipped.append))
        assert [(document.id, document.lines) for document in found] == sound
        assert [record.place for record in skipped] == faults


@settings(max_examples=150, deadline=None)
@given(contents("text"), LIMITS, st.integers(1, 40))
@example(b"a\n\n\n\nb\n", (1 << 20, LONGEST), 3)
@example(b"a\n\n0123456789\n\nb", (7, 9), 9)
def test_a_text_is_cut_at_blank_lines(content, limits, past):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        limited(patch, limits)
        path = Path(folder) / "a.txt"
        path.write_bytes(content)
        read_options = ReadOptions(format="text", part=Part(1))
        blank, records = [], 0
        for filled, run in groupby(lines.read_lines(path, read_options, ReadLog()), text_or_fault):
            records += filled
            blank += [] if filled else [(line.number, records) for line in run]
        found = []
        try:
            found += (cut[:2] for cut in text.text_cuts(path, read_options, past))
        except InputError:  # a document that is too long, beyond which there is no cut
            assert max(map(len, content.split(b"\n\n"))) > limits[1] // 4 and set(found) <= set(blank)
            return
        assert found[-1] == (None, records) and set(found[:-1]) <= set(blank)
        assert found[:-1][:1] == blank[:1]
        assert [cut for cut in found[:-1] if cut[0] >= past][:1] == [cut for cut in blank if cut[0] >= past][:1]


class Counting:
    """A file that notes how much is read of it."""

    def __init__(self, handle, read):
        self.handle, self.counts = handle, read

    def __getattr__(self, name):
        def call(*given):
            found = getattr(self.handle, name)(*given)
            if isinstance(found, bytes):
                self.counts.append(len(found))
            return found

        return call


@pytest.mark.parametrize("content", [b"a\n" * 3000, b"ab" * 3000 + b"\n"])  # no blank line, one line
def test_a_text_without_a_cut_is_read_to_the_end_by_few_of_its_chunks(content, tmp_path, monkeypatch):
    limited(monkeypatch, (64, 400))
    read_bytes = []

    @contextmanager
    def counted(*given):
        with compression.open_part(*given) as handle:
            yield Counting(handle, read_bytes)

    monkeypatch.setattr(lines, "open_part", counted)
    (tmp_path / "a.txt").write_bytes(content)
    (file,) = files_of(tmp_path / "a.txt", ReadOptions(), ReadLog())
    assert in_parts([file], 100, ALONE, tmp_path) == [[file]]
    assert sum(read_bytes) < 5 * len(content)  # of 60 chunks


def text_or_fault(line):
    return bool(line.fault or line.text.strip())


def in_frames(content, cuts, data):
    found = b""
    for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        checked, sized = data.draw(st.booleans()), data.draw(st.booleans())
        found += zstandard.ZstdCompressor(write_checksum=checked, write_content_size=sized).compress(content[start:end])
        if data.draw(st.booleans()):
            found += b"\x5a\x2a\x4d\x18\x03\0\0\0abc"
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b"", b"b\nc", b"\xff", None]), max_size=12), st.integers(1, 5), st.integers(1, 200),
    OPTIONS["on_error"],
)  # fmt: skip
def test_row_groups_in_parts_are_read_as_in_one(texts, rows, size, on_error):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        table = pyarrow.table({"text": pyarrow.array(texts, pyarrow.binary()), "n": range(len(texts))})
        pyarrow.parquet.write_table(table, path, row_group_size=rows, write_page_checksum=True)
        assert_the_same_in_parts(path, ReadOptions(on_error=on_error), size)


@pytest.mark.parametrize("on_error", ["skip", "stop"])
@pytest.mark.parametrize("damage", ["bits", "cut"])
def test_a_damaged_file_stays_whole(tmp_path, on_error, damage):
    path = tmp_path / "a.jsonl.zst"
    packer = zstandard.ZstdCompressor(write_checksum=True)
    packed = b"".join(packer.compress(b'{"text": "Cas %d."}\n' % number * 9) for number in range(9))
    middle = len(packed) // 2
    path.write_bytes(
        packed[:-5] if damage == "cut" else packed[:middle] + bytes([packed[middle] ^ 1]) + packed[middle + 1 :]
    )
    assert assert_the_same_in_parts(path, ReadOptions(on_error=on_error), 30) == 1
    path.write_bytes(packed)
    assert assert_the_same_in_parts(path, ReadOptions(on_error=on_error), 30) == 9


def test_what_has_no_parts_stays_whole(tmp_path):
    content = b'{"text": "Cas."}\n' * 200
    for name, stored in {
        "a.jsonl.gz": gzip.compress(content), "b.jsonl.zst": zstandard.compress(content), "c.csv": b"\n" * 3000,
        "d.jsonl": b"text " * 600, "e.txt": "Cas.\n\n".encode("utf-16") * 200, "f.txt": b"Cas.\r\r" * 500,
        "g.xml": b"<a/>" * 900, "h.csv": b"no,such,column\n" * 200, "i.txt": b"Cas.\n" * 600,
        "j.parquet": b"PAR1" * 600,
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(stored)
        read_options = ReadOptions(format="xml", record="a") if name == "g.xml" else ReadOptions()
        assert assert_the_same_in_parts(tmp_path / name, read_options, 30) == 1, name


def test_a_table_in_order_is_scanned_once(tmp_path, monkeypatch):
    """Lines in its values look like rows, as they have the delimiter."""
    path, found = tmp_path / "a.csv", []
    rows = (f'{number},"Toux, fièvre.\nRien, sinon.\n\nIl a ""froid"", dit-il.\nVu."\n' for number in range(200))
    path.write_text("id,text\n" + "".join(rows))
    monkeypatch.setattr(parts, "scan", lambda chunk, scan=parts.scan: found.append(chunk) or scan(chunk))
    assert assert_the_same_in_parts(path, ReadOptions(), 1000) == len(found) == 13
