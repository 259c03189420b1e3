"""A data-bin without some of its documents: padding stands where their text was, so all else keeps its place.

Training leaves padding out of its sequences, and orders its batches by the sizes of lines alone. So the batches of a
training, and their masks, are the same but for the documents that were taken out.
"""

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from alibert_common.files import read_json, write_json, written_whole
from alibert_common.provenance import MANIFEST
from preprocess.databin.document_records import (
    ENDING,
    DocumentRecord,
    read_records,
    records_path,
    written_lines,
)
from preprocess.databin.predictable import PROOF
from preprocess.databin.split_reader import document_places, token_ids
from preprocess.tokenizer.special_tokens import read_layout

TAKEN_OUT = DocumentRecord("", "", "")  # the record of such a document says nothing of it


def take_out(data_bin: Path, output: Path, numbers: Mapping[str, Collection[int]]) -> None:
    """Write the data-bin to the folder `output` without the documents {split: numbers}; what may be learned stays.

    Raises InputError as document_places and read_records do.
    """
    pad, written = read_layout(data_bin).pad, set[str]()
    for split, chosen in numbers.items():
        _blank(data_bin / split, output / f"{split}.bin", chosen, pad)
        _write_records(data_bin / split, output / split, chosen)
        written |= {f"{split}.bin", f"{split}{ENDING}"}
    second_names(data_bin, output, written)


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


def second_names(data_bin: Path, output: Path, written: Collection[str]) -> None:
    """Have all files of a data-bin in `output` too, but those of the names `written` and its manifest.

    What was counted for the proof remains; the proof itself is about the whole text. Files are copied where the file
    system has no hard links.
    """
    for file in sorted(path for path in data_bin.iterdir() if path.is_file()):
        other = output / file.name
        if file.name in written or file.name == MANIFEST:
            continue
        if file.name == PROOF:
            write_json(other, {"counts": read_json(file)["counts"]})
            continue
        other.unlink(missing_ok=True)
        try:
            os.link(file, other)
        except OSError:
            shutil.copyfile(file, other)
