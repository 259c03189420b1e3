"""A document without what identifies its patient: text, id, patient, date and metadata."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from preprocess.documents.document import PATIENT, PSEUDONYMISED, Document, patient_of
from preprocess.pseudonymisation.settings import Settings, identifiers, names_of
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.surrogates.secret_key import Draws
from preprocess.pseudonymisation.surrogates.surrogates import Surrogates, tag

POSITIONS = "replacements"
CONTEXT = 30  # characters on each side of an identifier on the page


@dataclass(frozen=True)
class Replaced:
    """One identifier, what replaces it, and the text on its sides."""

    label: str
    before: str
    text: str
    after: str
    other: str


def other_patient(key: bytes, patient: str) -> str:
    """What stands in the place of a patient's name in all documents: a hash."""
    return Draws(key, "").name(PATIENT, patient)


class Pseudonymiser:
    """Pseudonymises one document after the other."""

    def __init__(self, settings: Settings, key: bytes):
        self.settings, self.key = settings, key
        self.surrogates = lru_cache(1000)(self._surrogates)

    def of(self, document: Document) -> tuple[Document, list[Replaced]]:
        """The document as it may be trained on, and what was replaced in it."""
        text, patient = document.text, patient_of(document) or document.id
        spans = identifiers(text, self.settings, list(self._known(document)))
        replacing = self.surrogates(patient)
        pieces, replaced, places = list[str](), list[Replaced](), list[list]()
        end = size = 0
        before: Span | None = None
        for span in spans:
            other = tag(span) if self.settings.with_tags else replacing.of(text, span, before)
            pieces += [text[end : span.start], other]
            size += span.start - end
            places.append([size, size + len(other), span.label])
            size += len(other)
            sides = text[max(0, span.start - CONTEXT) : span.start], text[span.end : span.end + CONTEXT]
            replaced.append(Replaced(span.label, sides[0], text[span.start : span.end], sides[1], other))
            end, before = span.end, span
        lines = "".join([*pieces, text[end:]]).split("\n") if spans else document.lines
        return self._without_identity(document, patient, lines, places), replaced

    def _surrogates(self, patient: str) -> Surrogates:
        return Surrogates(self.key, patient, *names_of(self.settings))

    def _known(self, document: Document) -> Iterator[str]:
        for name in self.settings.known:
            value = document.metadata.get(name)
            yield from (str(item) for item in (value if isinstance(value, list) else [value]) if item)

    def _without_identity(self, document: Document, patient: str, lines: list[str], places: list[list]) -> Document:
        """The document with other lines, id, patient and date, and with the metadata that is to be kept."""
        metadata = {name: document.metadata[name] for name in self.settings.keep if name in document.metadata}
        if patient_of(document):
            metadata[PATIENT] = other_patient(self.key, patient)
        metadata[PSEUDONYMISED] = True
        if self.settings.positions:
            metadata[POSITIONS] = places
        name = Draws(self.key, "").name("document", f"{document.source}\0{document.id}")
        date = (self.surrogates(patient).date(document.date) or "") if document.date else ""
        return replace(document, id=name, lines=lines, date=date, metadata=metadata)
