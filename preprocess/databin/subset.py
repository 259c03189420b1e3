"""A data-bin with some of the documents of another one, written anew."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from preprocess.databin.document_records import ENDING as RECORDS
from preprocess.databin.document_records import read_records, records_path, written_lines
from preprocess.databin.fairseq_writer import Writer
from preprocess.databin.predictable import ENDING as PREDICTABLE
from preprocess.databin.predictable import Predictable, predictable_path, written_bits
from preprocess.databin.split_reader import documents_in, line_sizes, token_ids
from preprocess.databin.taken_out import second_names
from preprocess.tokenizer.special_tokens import read_layout


def write_subset(data_bin: Path, output: Path, kept: Mapping[str, np.ndarray]) -> None:
    """Write the data-bin to the folder `output` with the documents {split: (D,) bool}; what may be learned stays."""
    end, endings = read_layout(data_bin).end, (".bin", ".idx", RECORDS, PREDICTABLE)
    for split, chosen in kept.items():
        _write_split(data_bin / split, output / split, chosen, end)
    second_names(data_bin, output, {f"{split}{ending}" for split in kept for ending in endings})


def _write_split(prefix: Path, output: Path, chosen: np.ndarray, end: int) -> None:
    sizes, ids = line_sizes(prefix), token_ids(prefix)
    before = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    lines = documents_in(sizes)[chosen]
    with Writer(output, ids.dtype) as writer:
        for number, (first, last) in enumerate(lines.tolist()):
            if number:
                writer.add(np.array([end]), np.ones(1, np.int32))
            writer.add(ids[before[first] : before[last]], sizes[first:last])
    if predictable_path(prefix).is_file():
        marks = Predictable(prefix)
        with written_bits(output) as bits:
            for number, (first, last) in enumerate(lines.tolist()):
                if number:
                    bits.add(np.ones(1, bool))
                bits.add(marks.between(before[first], before[last]))
    with written_lines(records_path(output)) as records:
        for record, is_chosen in zip(read_records(prefix), chosen.tolist(), strict=True):
            if is_chosen:
                records.write(record.line + "\n")
