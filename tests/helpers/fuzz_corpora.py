"""Folders of files in every format, some of them damaged, of which it is known what can be read.

Each record is a sentence of its own. `Truth` says which of them a reader must give back, unchanged, and how the others
must be told: one by one, or as the rest of a file.
"""

import csv
import gzip
import io
import json
import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pyarrow
import pyarrow.parquet
import zstandard

from alibert_common.errors import InputError
from preprocess.documents.document import read_documents
from preprocess.documents.shards import SHARD_BYTES
from preprocess.ingest import ingest
from preprocess.readers import ReadLog, ReadOptions, Skipped, files_of, read_file

WORDS = "fièvre œdème toux 38,5°C patient(e) l’hôpital ≥2 naïf « oui » 10⁹/L <br> &amp; ; , \t | \" ' \\n".split(" ")
NAMES = ("notes", "deux mots", "été à l’hôpital", "a;b|c", "point.virgule", "-tiret", "ligne\nnouvelle", b"caf\xe9")
PACK = {"": bytes, ".gz": lambda data: gzip.compress(data, 1), ".zst": zstandard.compress}
LONG = 1_000_000  # characters of a long record; the campaign has some of 100 million


@dataclass
class Truth:
    """What must come of a file: the texts that are read; the number of records refused one by one; whether it is `cut`
    (a part of `texts` is right if it is listed that others are missing) or `broken` (that they are missing is listed,
    `texts` are those before); the number of files and links that are counted only."""

    texts: list[str] = field(default_factory=list)
    refused: int = 0
    cut: bool = False
    broken: bool = False
    counted: int = 0


def corpus(seed: int, folder: Path, damages: dict[str, Callable] | None = None, long: int = LONG) -> tuple[str, dict]:
    """Fill `folder` with 2 to 4 files; return the name of the damage that one of them has and the truth by file."""
    draw = random.Random(seed)
    name = draw.choice(sorted(damages or DAMAGES))
    truths = {}
    for number in range(draw.randint(2, 4)):
        stem = draw.choice(NAMES)
        stem = stem if isinstance(stem, bytes) else stem.encode()
        base = os.path.join(os.fsencode(folder), b"%d-%s" % (number, stem))
        damage = (damages or DAMAGES)[name] if number == 0 else none
        path, truth = damage(draw, base, long)
        truths[os.fsdecode(path)] = truth
    return name, truths


def sentence(draw: random.Random, number: int) -> str:
    """A text that no other record has, with signs that formats treat in a way of their own."""
    return " ".join([f"mot{number}", *draw.choices(WORDS, k=draw.randint(1, 8)), "fin"])


def sentences(draw: random.Random) -> list[str]:
    start = draw.randrange(10**9) * 100
    return [sentence(draw, start + number) for number in range(draw.randint(1, 12))]


def as_text(texts: list[str]) -> bytes:
    return "".join(f"{text}\n\n" for text in texts).encode()


def as_json_lines(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts).encode()


def as_json(texts: list[str]) -> bytes:
    return json.dumps([{"text": text} for text in texts]).encode()


def as_csv(texts: list[str]) -> bytes:
    handle = io.StringIO(newline="")
    writer = csv.writer(handle, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([["n", "text"], *enumerate(texts)])
    return handle.getvalue().encode()


def as_xml(texts: list[str]) -> bytes:
    escape = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
    records = "".join(f"<article><body><p>{text.translate(escape)}</p></body></article>\n" for text in texts)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<x>{records}</x>'.encode()


def as_parquet(texts: list[str]) -> bytes:
    handle = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), handle, row_group_size=3, write_page_checksum=True)
    return handle.getvalue()


WRITE = {".jsonl": as_json_lines, ".json": as_json, ".csv": as_csv, ".nxml": as_xml, ".parquet": as_parquet}
LINES = {".jsonl": as_json_lines, ".csv": as_csv}
Written = tuple[bytes, Truth]


def put(base: bytes, suffix: str, data: bytes) -> bytes:
    path = base + suffix.encode()
    with open(path, "wb") as handle:
        handle.write(data)
    return path


def spaced(texts: list[str], suffix: str) -> list[str]:
    """What XML makes of the texts: white space is a space."""
    return [re.sub("[ \t]+", " ", text) for text in texts] if suffix == ".nxml" else texts


def none(draw: random.Random, base: bytes, long: int) -> Written:
    """No damage, in any format and compression."""
    suffix, texts = draw.choice(sorted(WRITE)), sentences(draw)
    packing = "" if suffix == ".parquet" else draw.choice(sorted(PACK))
    return put(base, suffix + packing, PACK[packing](WRITE[suffix](texts))), Truth(spaced(texts, suffix))


def empty(draw: random.Random, base: bytes, long: int) -> Written:
    """An empty file, compressed or not: an empty shard. Of XML and Parquet it is a damaged one."""
    suffix, packing = draw.choice([".jsonl", ".csv", ".txt", ".html"]), draw.choice(sorted(PACK))
    return put(base, suffix + packing, PACK[packing](draw.choice([b"", b"\n", b" \n\n"]))), Truth(counted=1)


def brat(draw: random.Random, base: bytes, long: int) -> Written:
    """A .txt with its .ann; the text has blank lines."""
    put(base, ".ann", b"T1\tx 0 1\ta\n")
    texts = sentences(draw)
    return put(base, ".txt", as_text(texts)), Truth(["\n".join(texts)], counted=1)


def lines_of(draw: random.Random) -> tuple[str, list[str], list[bytes]]:
    """A suffix, texts, and their records as lines of a file, the header apart."""
    suffix, texts = draw.choice(sorted(LINES)), sentences(draw)
    lines = LINES[suffix](texts).splitlines(keepends=True)
    return suffix, texts, lines


def some(draw: random.Random, number: int) -> set[int]:
    return set(draw.sample(range(number), draw.randint(1, number)))


def spoil(draw: random.Random, base: bytes, spoiled: Callable[[bytes], bytes]) -> Written:
    """Records of jsonl or csv, some of which `spoiled` makes unreadable."""
    suffix, texts, lines = lines_of(draw)
    header = len(lines) - len(texts)
    bad = some(draw, len(texts))
    lines = [spoiled(line) if at - header in bad else line for at, line in enumerate(lines)]
    packing = draw.choice(sorted(PACK))
    path = put(base, suffix + packing, PACK[packing](b"".join(lines)))
    return path, Truth([text for at, text in enumerate(texts) if at not in bad], refused=len(bad))


def invalid_utf8(draw: random.Random, base: bytes, long: int) -> Written:
    """Bytes that are no UTF-8 inside of some records."""
    bad = draw.choice([b"\xff", b"\xe9 ", b"\xc3(", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"])
    return spoil(draw, base, lambda line: line.replace(b"mot", b"mot" + bad, 1))


def nul(draw: random.Random, base: bytes, long: int) -> Written:
    """NUL bytes in some records of a table, NUL escapes in some of JSON: they are text, for `clean` to remove."""
    suffix, texts, lines = lines_of(draw)
    header = len(lines) - len(texts)
    bad = some(draw, len(texts))
    sign = b"\\u0000" if suffix == ".jsonl" else b"\0"
    lines = [line.replace(b"mot", b"mot" + sign, 1) if at - header in bad else line for at, line in enumerate(lines)]
    texts = [text.replace("mot", "mot\0", 1) if at in bad else text for at, text in enumerate(texts)]
    return put(base, suffix, b"".join(lines)), Truth(texts)


def raw_nul(draw: random.Random, base: bytes, long: int) -> Written:
    """NUL bytes that no JSON and no XML may have: a bad record of the one, the end of the other."""
    if draw.random() < 0.5:
        texts = sentences(draw)
        bad = some(draw, len(texts))
        lines = as_json_lines(texts).splitlines(keepends=True)
        lines = [line.replace(b"mot", b"mot\0", 1) if at in bad else line for at, line in enumerate(lines)]
        return put(base, ".jsonl", b"".join(lines)), Truth([t for at, t in enumerate(texts) if at not in bad], len(bad))
    return broken_xml(draw, base, long, b"\0")


def not_a_record(draw: random.Random, base: bytes, long: int) -> Written:
    """Lines that are no records: no JSON, half of it, quotation marks and delimiters that do not fit."""
    texts, json_lines = sentences(draw), draw.random() < 0.5
    lines = (as_json_lines(texts) if json_lines else as_csv(texts)).splitlines(keepends=True)
    bad = (
        [b"pas du JSON\n", b'{"text": "a\n', b"[]\n", b'{"texte": "a"}\n', b'{"text": 1}\n', b"[" * 5000 + b"\n"]
        if json_lines
        else [b'1,"a"b\n', b"1,a,b\n", b"seul\n", b'1,"ouvert\n', b"1,a\rb\n"]
    )
    count = draw.randint(1, 4)
    for _ in range(count):
        lines.insert(draw.randint(0 if json_lines else 1, len(lines)), draw.choice(bad))
    return put(base, ".jsonl" if json_lines else ".csv", b"".join(lines)), Truth(texts, refused=count)


def long_line(draw: random.Random, base: bytes, long: int) -> Written:
    """A record as long as a library, among others."""
    suffix, texts, _ = lines_of(draw)
    texts.insert(draw.randint(0, len(texts)), "mot " * (long // 4) + "fin")
    packing = draw.choice([".gz", ".zst"])
    return put(base, suffix + packing, PACK[packing](LINES[suffix](texts))), Truth(texts)


def truncated(draw: random.Random, base: bytes, long: int) -> Written:
    """A compressed file, or a Parquet file, of which the end is missing."""
    suffix, texts = draw.choice(sorted(WRITE)), sentences(draw)
    packing = "" if suffix == ".parquet" else draw.choice([".gz", ".zst"])
    data = PACK[packing](WRITE[suffix](texts))
    data = data[: draw.randint(1, len(data) - 1)]
    return put(base, suffix + packing, data), Truth(spaced(texts, suffix), cut=True)


def flipped(draw: random.Random, base: bytes, long: int) -> Written:
    """A compressed file with a checksum, one byte of which is another."""
    suffix, texts = draw.choice(sorted(LINES)), sentences(draw)
    checked = zstandard.ZstdCompressor(write_checksum=True)
    packing, pack = draw.choice([(".gz", lambda data: gzip.compress(data, 1)), (".zst", checked.compress)])
    data = bytearray(pack(LINES[suffix](texts)))
    data[draw.randint(10, len(data) - 1)] ^= 1 << draw.randrange(8)
    return put(base, suffix + packing, bytes(data)), Truth(texts, cut=True)


def flipped_parquet(draw: random.Random, base: bytes, long: int) -> Written:
    """A Parquet file one byte of which is another: in a page, which has a checksum, or in the footer."""
    texts = sentences(draw)
    data = bytearray(as_parquet(texts))
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return put(base, ".parquet", bytes(data)), Truth(texts, cut=True)


def broken_xml(draw: random.Random, base: bytes, long: int, piece: bytes = b"") -> Written:
    """XML that is not well-formed from some record on."""
    texts = sentences(draw)
    lines = as_xml(texts).split(b"\n")
    at = draw.randrange(len(texts)) + 1
    piece = piece or draw.choice([b"</q>", b"a & b", b"\x01", b"&absente;", b"<p", b"\xff", b"<p a=1>", b"]]>"])
    lines[at] = lines[at].replace(b"mot", b"mot" + piece, 1)
    return put(base, ".nxml", b"\n".join(lines)), Truth(spaced(texts[: at - 1], ".nxml"), broken=True)


def page(draw: random.Random, base: bytes, long: int) -> Written:
    """A page of HTML: whole, not in the encoding it says, or too deep."""
    word = f"mot{draw.randrange(10**9)}"
    kind = draw.choice(["whole", "encoding", "depth", "nul"])
    body = {"whole": word, "encoding": word, "depth": "<div>" * 6000 + word, "nul": f"{word}\0"}[kind].encode()
    head = b"<meta charset=utf-8>" + (b"\xe9" if kind == "encoding" else b"")
    return put(base, draw.choice([".html", ".HTM"]), head + b"<p>" + body), (
        Truth([word]) if kind in ("whole", "nul") else Truth(refused=1)
    )


def dangling(draw: random.Random, base: bytes, long: int) -> Written:
    """A link to nothing, or to itself."""
    path = base + b".jsonl"
    os.symlink(draw.choice([b"/absent/nulle part", path]), path)
    return path, Truth(refused=1)


def loop(draw: random.Random, base: bytes, long: int) -> Written:
    """A folder with links to itself, to what is above it, and to a file beside it."""
    os.makedirs(base + b"-dossier/sous")
    texts = sentences(draw)
    path = put(base + b"-dossier/sous/x", ".jsonl", as_json_lines(texts))
    os.symlink(base + b"-dossier", base + b"-dossier/sous/boucle")
    os.symlink(b".", base + b"-dossier/moi")
    os.symlink(path, base + b"-lien.jsonl")
    return path, Truth(texts, counted=3)


DAMAGES = {
    damage.__name__: damage
    for damage in (
        none, empty, brat, invalid_utf8, nul, raw_nul, not_a_record, long_line, truncated, flipped, flipped_parquet,
        broken_xml, page, dangling, loop,
    )
}  # fmt: skip


@dataclass
class Outcome:
    """What became of a corpus: its damage, how many records and files went in and where they are, what was wrong."""

    damage: str
    files: int = 0
    records: int = 0
    read: int = 0
    listed: int = 0
    counted: int = 0
    stopped: bool = False
    wrong: list[str] = field(default_factory=list)


def try_out(seed: int, folder: Path, damages: dict[str, Callable] | None = None, long: int = LONG) -> Outcome:
    """Make a corpus in `folder`, an empty one, ingest it both ways, and compare with the truth."""
    inside = folder / "corpus"
    inside.mkdir()
    damage, truths = corpus(seed, inside, damages, long)
    records = sum(len(truth.texts) + truth.refused for truth in truths.values())
    outcome = Outcome(damage, len(truths), records)
    read_skipping(inside, truths, outcome)
    with mock.patch("preprocess.ingest.SHARD_BYTES", 1 if seed % 2 else SHARD_BYTES):  # files apart, or together
        ingest_skipping(inside, folder / "skip", outcome)
        ingest_stopping(inside, folder / "stop", truths, outcome)
    return outcome


def read_skipping(folder: Path, truths: dict[str, Truth], outcome: Outcome) -> None:
    skipped: list[Skipped] = []
    log = ReadLog(skipped.append)
    texts: dict[str, list[str]] = {name: [] for name in truths}
    for found in files_of(folder, ReadOptions(on_error="skip"), log):
        texts[str(found.file)] = [document.text for document in read_file(found.file, found.options, log)]
    outcome.read, outcome.listed = sum(map(len, texts.values())), len(skipped)
    in_silence = 0
    for name, truth in truths.items():
        readable = os.fsencode(name).decode("utf-8", "backslashreplace")
        listed = [one for one in skipped if one.file == readable]
        wrong = compare(texts.pop(name), listed, truth)
        outcome.wrong += [f"{name}: {what}" for what in wrong]
        in_silence += not truth.texts and not listed and truth.counted
    outcome.wrong += [f"{name}: not known to be there" for name in texts]
    counted = sum(count for why, count in log.counts.items() if why.startswith(("files beside the texts", "links to")))
    outcome.counted = counted + in_silence
    if outcome.counted != sum(truth.counted for truth in truths.values()):
        outcome.wrong.append(f"counted {dict(log.counts)}")


def compare(texts: list[str], listed: list[Skipped], truth: Truth) -> list[str]:
    """What is not as it must be of one file."""
    left = iter(truth.texts)
    if not all(text in left for text in texts):
        return [f"other texts, or in another order: {texts[:3]}, not {truth.texts[:3]}"]
    missing = len(truth.texts) - len(texts)
    if missing and not (truth.cut and listed):
        return [f"{missing} lost in silence"]
    if truth.broken and len(listed) != 1:
        return [f"broken, but listed {listed}"]
    if not (truth.cut or truth.broken) and len(listed) != truth.refused:
        return [f"{truth.refused} to refuse, but listed {listed}"]
    groups = [re.fullmatch(r"records (\d+) to (\d+)", one.place) for one in listed]
    if (
        groups
        and all(groups)
        and sum(int(end) - int(start) + 1 for start, end in (g.groups() for g in groups)) != missing
    ):
        return [f"{missing} missing, but listed {listed}"]
    return []


def ingest_skipping(folder: Path, output: Path, outcome: Outcome) -> None:
    report = ingest([folder], output, ReadOptions(on_error="skip"))
    rows = output / "skipped.tsv"
    listed = len(list(csv.reader(rows.open(encoding="utf-8", newline=""), delimiter="\t"))) - 1 if rows.exists() else 0
    kept = sum(size["documents"] for size in report["kept"].values())
    ids = [(document.source, document.id) for document in read_documents([output])] if kept else []
    written = len(ids)
    if len(set(ids)) < written:
        outcome.wrong.append("two documents of one id")
    if (written, listed) != (outcome.read, outcome.listed) or kept != written:
        outcome.wrong.append(f"ingest wrote {written} and listed {listed}, not {outcome.read} and {outcome.listed}")


def ingest_stopping(folder: Path, output: Path, truths: dict[str, Truth], outcome: Outcome) -> None:
    try:
        ingest([folder], output)
    except InputError as error:
        outcome.stopped = True
        if "\n" in str(error).replace("ligne\nnouvelle", "") or not str(error).endswith("."):
            outcome.wrong.append(f"no sentence: {error}")
        if not outcome.listed and outcome.read:
            outcome.wrong.append(f"stopped, although nothing is to be skipped: {error}")
        if output.exists():
            outcome.wrong.append("stopped, and left something")
        return
    if outcome.listed or len(list(read_documents([output]))) != outcome.read:
        outcome.wrong.append("not stopped, although something is to be skipped")
