"""The documents whose membership is tested: members, which the reference has not read, and held-out ones.

Patients are divided in two halves by their key. The reference trains on the first half, so the second half is known to
the audited model alone. Documents to validate on are known to neither.
Shapes: D documents of a split, T tokens of a row.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.errors import InputError
from alibert_fairseq.lineage.documents import train_prefixes
from preprocess.canaries.canaries import SOURCE
from preprocess.databin.document_records import read_records
from preprocess.databin.split_reader import document_places, token_ids
from preprocess.databin.taken_out import TAKEN_OUT
from preprocess.documents.patients import PatientTally
from preprocess.mixing.reader import VALID

LEAST_MEMBERS, LEAST_HELD_OUT = 100, 20
ROWS = 8  # of a long document at most, spread evenly


@dataclass(frozen=True)
class Split:
    """The documents of a split: where they lie, their patients, and which of them are no real text."""

    prefix: Path
    places: np.ndarray  # (D, 2)
    patients: np.ndarray  # (D,) uint64
    left_out: np.ndarray  # (D,) bool: canaries, and what `retrain` has taken out


@dataclass(frozen=True)
class Text:
    """A document to test."""

    patient: int
    member: bool
    rows: list[np.ndarray]  # (T,) ids each, <s> first


@dataclass(frozen=True)
class Data:
    """The documents of data-bins. `unnamed` of them count as patients of their own."""

    train: list[Split]
    valid: list[Split]
    unnamed: int
    sources: dict[str, int]  # documents of each, training and validation text together

    def patients(self) -> int:
        """How many patients the training text has, without those of canaries."""
        return len(np.unique(np.concatenate([split.patients[~split.left_out] for split in self.train])))

    def documents(self) -> int:
        """How many training documents there are, without canaries."""
        return sum(int((~split.left_out).sum()) for split in self.train)


def read_data(data_bins: Sequence[Path]) -> Data:
    """The documents of data-bins. Raises InputError where some patients are missing, or no document is held out."""
    tally = PatientTally()
    train = [_read_split(prefix, tally) for data_bin in data_bins for prefix in train_prefixes(data_bin)]
    if not Path(f"{data_bins[0] / VALID}.idx").exists():
        raise InputError(
            f"{data_bins[0]}: holds no validation text, so no document is held out; binarize with --valid."
        )
    valid = [_read_split(data_bins[0] / VALID, tally)]
    tally.check(data_bins[0])
    sources = {name: known.known + known.unknown for name, known in tally.sources.items() if name != SOURCE}
    return Data(train, valid, tally.unknown, sources)


def _read_split(prefix: Path, tally: PatientTally) -> Split:
    keys, left_out = array("Q"), bytearray()
    for record in read_records(prefix):
        gone = record == TAKEN_OUT
        keys.append(1 if gone else tally.key(*record))  # 1 is not of the reference
        left_out.append(gone or record.source == SOURCE)
    places = document_places(prefix)
    if len(places) != len(keys):
        raise InputError(f"{prefix}: has {len(places):,} documents and {len(keys):,} records; make the data-bin again.")
    return Split(prefix, places, np.frombuffer(keys, np.uint64), np.frombuffer(left_out, bool))


def of_reference(patients: np.ndarray) -> np.ndarray:
    """(D,) bool: the documents that the reference trains on; about half of the patients."""
    return patients & np.uint64(1) == 0


def choose(data: Data, most: int, length: int, begin: int, seed: int) -> list[Text]:
    """At most `most` members and as many held-out documents, in rows of at most `length` tokens; begin: the id of <s>.

    Patients who are on both sides are left out. Raises InputError where too few are left.
    """
    known, held_out = (np.concatenate([split.patients for split in side]) for side in (data.train, data.valid))
    generator, chosen = np.random.default_rng((seed, 3)), list[Text]()
    for splits, others, member in ((data.train, held_out, True), (data.valid, known, False)):
        fitting = [np.flatnonzero(_fits(split, others, member)) for split in splits]
        ends = np.cumsum([len(numbers) for numbers in fitting])
        several = [split.patients[numbers] for split, numbers in zip(splits, fitting, strict=True)]
        _check(data, int(ends[-1]), len(np.unique(np.concatenate(several))), member)
        drawn = np.arange(ends[-1])
        if len(drawn) > most:
            drawn = np.sort(generator.choice(drawn, most, replace=False))
        for place in drawn.tolist():
            of_split = int(ends.searchsorted(place, side="right"))
            number = fitting[of_split][place - ends[of_split]]  # counted from the end
            chosen.append(_text(splits[of_split], int(number), member, length, begin))
    return chosen


def _fits(split: Split, others: np.ndarray, member: bool) -> np.ndarray:
    """(D,) bool: the documents to test, of patients who are not among the others."""
    fitting = ~split.left_out & ~np.isin(split.patients, others)
    return fitting & ~of_reference(split.patients) if member else fitting


def _check(data: Data, documents: int, patients: int, member: bool) -> None:
    place = data.train[0].prefix.parent
    if member and documents < LEAST_MEMBERS:
        raise InputError(
            f"{place}: only {documents:,} documents can be tested as members, half of the training text, and the audit "
            f"needs {LEAST_MEMBERS}; train on more documents."
        )
    if not member and documents < LEAST_HELD_OUT:
        raise InputError(
            f"{place}: only {documents:,} documents of other patients are held out, and the audit needs "
            f"{LEAST_HELD_OUT}; give mix a larger --valid."
        )
    if patients < LEAST_HELD_OUT:
        side = "tested as members" if member else "held out"
        raise InputError(
            f"{place}: only {patients:,} patients can be {side}, and the audit needs {LEAST_HELD_OUT} on each side; "
            "give text of more patients."
        )


def _text(split: Split, number: int, member: bool, length: int, begin: int) -> Text:
    first, end = split.places[number].tolist()
    starts = np.arange(first, end, length - 1)
    starts = starts[np.unique(np.linspace(0, len(starts) - 1, num=min(ROWS, len(starts)), dtype=int))]
    ids = token_ids(split.prefix)
    rows = [np.concatenate(([begin], ids[start : min(start + length - 1, end)])).astype(np.int64) for start in starts]
    return Text(int(split.patients[number]), member, rows)
