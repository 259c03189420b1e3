"""The training documents of a run, numbered through its data-bins and their corpora, and found by id or patient."""

import os
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import NamedTuple

from fairseq import utils

from alibert_common.errors import InputError
from alibert_fairseq.data.token_view import DocumentNumbers
from preprocess.databin.document_records import DocumentRecord, read_records
from preprocess.databin.split_reader import document_places
from preprocess.documents.document import as_patient
from preprocess.mixing.mix_file import TRAIN, split_name
from preprocess.mixing.reader import VALID
from preprocess.pseudonymisation.documents import other_patient
from preprocess.pseudonymisation.surrogates.secret_key import read_key


def as_in_data_bin(patients: Iterable[str], key: Path | None) -> list[str]:
    """The patients, with the names that `pseudonymise` gave them with this key."""
    if key is None:
        return list(patients)
    secret = read_key(key)
    return [other_patient(secret, as_patient(patient)) for patient in patients]


class Found(NamedTuple):
    """A document of a split; `number` counts the documents of the split."""

    prefix: Path
    number: int
    record: DocumentRecord


class TrainingDocuments:
    """The training documents of data-bins, `a:b:c`."""

    def __init__(self, data: str):
        self.data_bins = [Path(path) for path in utils.split_paths(data)]
        self.prefixes = [prefix for data_bin in self.data_bins for prefix in train_prefixes(data_bin)]
        self.places = {str(prefix): document_places(prefix) for prefix in self.prefixes}
        self.first: dict[str, int] = {}  # the number of the first document of a split
        self.total = 0
        for prefix, places in self.places.items():
            self.first[prefix] = self.total
            self.total += len(places)

    def reading(self, path: str) -> DocumentNumbers | None:
        """How a task reads a split: each token as its document."""
        prefix = str(Path(path))  # ./data-bin is data-bin
        return DocumentNumbers(self.places[prefix], self.first[prefix]) if prefix in self.places else None

    def number(self, found: Found) -> int | None:
        """The number of a document through all data-bins, None for one of the validation text."""
        first = self.first.get(str(found.prefix))
        return None if first is None else first + found.number

    def find(self, ids: Iterable[str] = (), patients: Iterable[str] = ()) -> dict[tuple[str, str], list[Found]]:
        """{("document" or "patient", name): its documents}, training text and validation text.

        Raises InputError for a name that no document has, and for a data-bin whose records do not fit its text.
        """
        names = {("document", name): list[Found]() for name in ids}
        names |= {("patient", as_patient(patient)): list[Found]() for patient in patients}
        valid = [data_bin / VALID for data_bin in self.data_bins if os.path.exists(f"{data_bin / VALID}.idx")]
        for prefix in [*self.prefixes, *valid]:
            number = -1
            for number, record in enumerate(read_records(prefix)):
                for name in (("document", record.id), ("patient", record.patient or None)):
                    if name in names:
                        names[name].append(Found(prefix, number, record))
            expected = len(self.places[str(prefix)] if str(prefix) in self.places else document_places(prefix))
            if number + 1 != expected:
                raise InputError(
                    f"{prefix}: has {expected:,} documents and {number + 1:,} records; make the data-bin again."
                )
        if missing := [name for name, found in names.items() if not found]:
            raise InputError(
                f"{self.data_bins[0]}: no {missing[0][0]} {missing[0][1]!r} ({len(missing):,} in all are missing); "
                "check the name in the records, `zstdcat train.documents.jsonl.zst`."
            )
        return names


def train_prefixes(data_bin: Path) -> list[Path]:
    """The splits to train on, `train`, `train1`, ..., without ending."""
    prefixes = list[Path]()
    for number in count():
        prefix = data_bin / split_name(number)
        if not os.path.exists(f"{prefix}.idx"):
            break
        prefixes.append(prefix)
    if not prefixes:
        raise InputError(f"{data_bin / TRAIN}.idx: no such file; give the data-bin of a training.")
    return prefixes
