"""ZIP archives that no library writes: parts of many gigabytes, shared parts, and any number of them."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

WHOLE = 0xFFFFFFFF


def archive(parts: Mapping[str, bytes | str], stored: Iterable[str] = ("mimetype",)) -> bytes:
    """An ordinary archive of these parts, dated 1980."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name, content in parts.items():
            kind = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            opened.writestr(zipfile.ZipInfo(name), content, kind)
    return file.getvalue()


class Part(NamedTuple):
    """A part whose bytes are compressed already."""

    name: str
    size: int
    checksum: int
    packed: bytes


def packed(name: str, content: bytes) -> Part:
    """A part of any content."""
    return Part(name, len(content), zlib.crc32(content), zlib.compress(content, 9, -15))


def repeated(name: str, before: bytes, block: bytes, times: int, after: bytes) -> Part:
    """A part that holds a block many times over, compressed by repeating what one block of it gives."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(before) + packer.flush(zlib.Z_FULL_FLUSH)
    once = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = zlib.crc32(before)
    for _ in range(times):
        checksum = zlib.crc32(block, checksum)
    end = packer.compress(after) + packer.flush()
    size = len(before) + len(block) * times + len(after)
    return Part(name, size, zlib.crc32(after, checksum), start + once * times + end)


def write_parts(path: Path, parts: Iterable[Part], shared: int = 0) -> None:
    """Write an archive; the directory lists its last part under `shared` more names."""
    with open(path, "wb") as file:
        directory = list[bytes]()
        for part in parts:
            start = file.tell()
            file.write(_local(part) + part.packed)
            directory.append(_central(part, start))
        directory += [_central(part._replace(name=f"word/part{number}.xml"), start) for number in range(shared)]
        begin = file.tell()
        file.writelines(directory)
        size, count = file.tell() - begin, len(directory)
        ends = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, begin)
        file.write(ends + struct.pack("<IIQI", 0x07064B50, 0, begin + size, 1))
        file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), size, begin, 0))


def _local(part: Part) -> bytes:
    name, extra = part.name.encode(), struct.pack("<HHQQ", 1, 16, part.size, len(part.packed))
    sizes = (part.checksum, WHOLE, WHOLE, len(name), len(extra))
    return struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 8, 0, 33, *sizes) + name + extra


def _central(part: Part, start: int) -> bytes:
    name, extra = part.name.encode(), struct.pack("<HHQQ", 1, 16, part.size, len(part.packed))
    sizes = (part.checksum, WHOLE, WHOLE, len(name), len(extra), 0, 0, 0, 0, start)
    return struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 8, 0, 33, *sizes) + name + extra


def compound(streams: Mapping[str, bytes]) -> bytes:
    """An OLE compound file of streams of 4,096 bytes or more, as Word makes of a document with a password."""
    sectors, directory, table = list[bytes](), list[bytes](), list[int]()
    for name, content in streams.items():
        content += bytes(-len(content) % 512)
        first, count = len(sectors), len(content) // 512
        sectors += [content[at : at + 512] for at in range(0, len(content), 512)]
        table += [*range(first + 1, first + count), 0xFFFFFFFE]
        directory.append(_entry(name, 2, first, len(content), len(directory) + 2))
    names = b"".join([_entry("Root Entry", 5, 0xFFFFFFFE, 0, 0, child=1), *directory])
    names += bytes(-len(names) % 512)
    first_name = len(sectors)
    sectors += [names[at : at + 512] for at in range(0, len(names), 512)]
    table += [*range(first_name + 1, len(sectors)), 0xFFFFFFFE]
    of_table = len(sectors)
    table.append(0xFFFFFFFD)
    sectors.append(struct.pack(f"<{len(table)}I", *table).ljust(512, b"\xff"))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 62, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, 1, first_name, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    return header + struct.pack("<I", of_table).ljust(436, b"\xff") + b"".join(sectors)


def _entry(name: str, kind: int, first: int, size: int, following: int, child: int = 0) -> bytes:
    text = (name + "\0").encode("utf-16-le")
    links = (WHOLE, following if kind == 2 and following < 3 else WHOLE, child or WHOLE)
    head = text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text), kind, 1, *links)
    return head + bytes(36) + struct.pack("<IQ", first, size)
