"""Who the patient of a document is, as a key of 64 bits, for all that counts patients.

The patient is whom the document names, whatever its source. A document that names nobody counts as a patient of its own
if no document of its source names one.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from alibert_common.errors import InputError


@dataclass
class Known:
    """How many documents of a source name a patient, how many do not, and the id of one that does not."""

    known: int = 0
    unknown: int = 0
    example: str = ""


@dataclass
class PatientTally:
    """Gives the keys of documents, and counts by source which of them name a patient."""

    sources: dict[str, Known] = field(default_factory=dict)

    def key(self, name: str, source: str, patient: str) -> int:
        """The key of the document `name`. Equal keys of two patients make one of them: too few are counted."""
        counted = self.sources.setdefault(source, Known())
        if patient:
            counted.known += 1
            return _key(patient, b"patient")
        counted.unknown += 1
        counted.example = counted.example or name
        return _key(f"{source}\0{name}", b"document")

    def add(self, sources: Mapping[str, Mapping]) -> None:
        """Add what another tally counted, as `asdict` gives it."""
        for source, other in sources.items():
            counted = self.sources.setdefault(source, Known())
            counted.known += other["known"]
            counted.unknown += other["unknown"]
            counted.example = counted.example or other["example"]

    def check(self, place: object) -> None:
        """Raise InputError, which names `place`, where only some documents of a source name a patient."""
        for source, counted in self.sources.items():
            if counted.known and counted.unknown:
                raise InputError(
                    f"{place}: {counted.unknown:,} of {counted.known + counted.unknown:,} documents of the source "
                    f"{source} have no patient, such as {counted.example}; ingest it again with --patient-field for "
                    "all of them, or leave this source out."
                )

    @property
    def unknown(self) -> int:
        """How many documents count as a patient of their own."""
        return sum(counted.unknown for counted in self.sources.values())


def _key(text: str, kind: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, person=kind).digest(), "little")
