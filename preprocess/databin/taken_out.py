"""A data-bin without some of its documents: padding stands where their text was, so all else keeps its place.

Training leaves padding out of its sequences, and orders its batches by the sizes of lines alone. So the batches of a
training, and their masks, are the same but for the documents that were taken out.
"""

import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import numpy as np

from alibert_common.files import written_whole
from preprocess.databin.document_records import (
    ENDING,
    DocumentRecord,
    read_records,
    records_path,
    written_lines,
)
from preprocess.databin.split_reader import document_places, token_ids
from preprocess.tokenizer.special_tokens import read_layout

TAKEN_OUT = DocumentRecord("", "", "")  # the record of such a document says nothing of it


def take_out(
    data_bin: Path, output: Path, numbers: Mapping[str, Collection[int]], left_out: Iterable[str] = ()
) -> None:
    """Write the data-bin to the folder `output` without the documents {split: numbers}.

    Files that do not change have a second name there; those of the names in `left_out` are left out. Raises InputError
    as document_places and read_records do.
    """
    pad = read_layout(data_bin).pad
    for file in sorted(path for path in data_bin.iterdir() if path.is_file() and path.name not in left_out):
        split = file.name.partition(".")[0]
        if numbers.get(split) and file.name == f"{split}.bin":
            _blank(data_bin / split, output / file.name, numbers[split], pad)
        elif numbers.get(split) and file.name == f"{split}{ENDING}":
            _write_records(data_bin / split, output / split, numbers[split])
        else:
            second_name(file, output / file.name)


def _blank(prefix: Path, output: Path, numbers: Collection[int], pad: int) -> None:
    places = document_places(prefix)
    with written_whole(output, "wb") as copy:
        with open(f"{prefix}.bin", "rb") as text:
            shutil.copyfileobj(text, copy, 1 << 24)
        dtype = token_ids(prefix).dtype
        for first, end in places[sorted(numbers)].tolist():
            copy.seek(first * dtype.itemsize)
            copy.write(np.full(end - first, pad, dtype).tobytes())


def _write_records(prefix: Path, output: Path, numbers: Collection[int]) -> None:
    chosen = set(numbers)
    with written_lines(records_path(output)) as lines:
        for number, record in enumerate(read_records(prefix)):
            lines.write((TAKEN_OUT if number in chosen else record).line + "\n")


def second_name(file: Path, output: Path) -> None:
    """Have a file under a second name too; a copy where the file system has no hard links."""
    output.unlink(missing_ok=True)
    try:
        os.link(file, output)
    except OSError:  # a file system without hard links
        shutil.copyfile(file, output)
