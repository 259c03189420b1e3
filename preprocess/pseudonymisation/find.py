"""All rules together: the identifiers of a text."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from preprocess.pseudonymisation.clues import Clues
from preprocess.pseudonymisation.forms.addresses import find_addresses
from preprocess.pseudonymisation.forms.dates import find_dates
from preprocess.pseudonymisation.forms.nir import find_nir
from preprocess.pseudonymisation.forms.phones import find_phones
from preprocess.pseudonymisation.forms.places import find_hospitals, find_towns
from preprocess.pseudonymisation.forms.record_numbers import DEFAULT_IPP, DEFAULT_NDA, find_numbers
from preprocess.pseudonymisation.forms.web import find_web
from preprocess.pseudonymisation.persons.listed_names import listed
from preprocess.pseudonymisation.persons.name_lists import NameLists, name_lists
from preprocess.pseudonymisation.persons.names import announced
from preprocess.pseudonymisation.persons.repeated_names import known_names, repeated
from preprocess.pseudonymisation.spans import Span, merged, trimmed


@dataclass(frozen=True)
class Rules:
    """The settings of the rules: a hospital's own patterns of its numbers, and lists of names."""

    ipp: Sequence[str] = (DEFAULT_IPP,)
    nda: Sequence[str] = (DEFAULT_NDA,)
    lists: NameLists = field(default_factory=name_lists)

    def find(self, text: str, known: Sequence[str] = ()) -> list[Span]:
        """The identifiers of a text, sorted and without overlap. `known` are names of the patient."""
        if not unicodedata.is_normalized("NFC", text):
            composed, places = _composed(text)
            return [Span(places[start], places[end], label) for start, end, label in self._find(composed, known)]
        return self._find(text, known)

    def _find(self, text: str, known: Sequence[str]) -> list[Span]:
        clues = Clues(text)
        return merged(trimmed(text, (*self.forms(clues), *self.names(clues, known))))

    def forms(self, clues: Clues) -> Iterator[Span]:
        """What has a form: numbers, dates, addresses, hospitals."""
        yield from find_nir(clues)
        yield from find_numbers(clues, self.ipp, "IPP")
        yield from find_numbers(clues, self.nda, "NDA")
        yield from find_phones(clues)
        yield from find_web(clues)
        yield from (date.span for date in find_dates(clues))
        towns = list(find_towns(clues))
        yield from towns
        yield from find_addresses(clues, towns)
        yield from find_hospitals(clues)

    def names(self, clues: Clues, known: Sequence[str] = ()) -> Iterator[Span]:
        """Names of persons: announced, in the lists, known to the caller, and the same ones elsewhere in the text."""
        sure = list(announced(clues, self.lists))
        there = {(start, end) for start, end, _ in sure}  # the words that announce a name tell its kind better
        sure += [span for span in listed(clues, self.lists) if (span.start, span.end) not in there]
        yield from sure
        yield from repeated(clues, sure)
        yield from known_names(clues, known, sure, self.lists)


def _composed(text: str) -> tuple[str, list[int]]:
    """The text with each accent in its letter (NFC), and the place in the text of each of its characters."""
    pieces, places = [], []
    for cluster in re.finditer(r"[\s\S][\u0300-\u036f]*", text):
        piece = unicodedata.normalize("NFC", cluster[0])
        pieces.append(piece)
        places += [cluster.start()] * len(piece)
    return "".join(pieces), [*places, len(text)]
