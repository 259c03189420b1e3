"""The patient of each document of a data-bin."""

from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from preprocess.databin.document_records import read_records
from preprocess.documents.patients import PatientTally


def patient_keys(prefixes: Sequence[Path], tally: PatientTally | None = None, place: object = None) -> list[np.ndarray]:
    """For each split, (documents,) uint64: the patient of each document. `tally`, when given, counts them.

    The splits belong together: a patient of two of them has one key. Memory: 8 bytes a document.
    Raises InputError for a data-bin without records, and where only some documents of a source name a patient. It then
    names `place`, or the data-bin.
    """
    tally = tally or PatientTally()
    keys = [array("Q", (tally.key(*record) for record in read_records(prefix))) for prefix in prefixes]
    tally.check(place or prefixes[0].parent)
    return [np.frombuffer(some, np.uint64) for some in keys]
