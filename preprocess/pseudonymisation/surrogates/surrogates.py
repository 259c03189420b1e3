"""The replacement of each identifier of a patient: plausible text of the same form, or a tag."""

import unicodedata
from collections.abc import Sequence

from preprocess.pseudonymisation.forms.dates import shifted
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.surrogates.names import other_name
from preprocess.pseudonymisation.surrogates.numbers import digits_of, other_nir, other_number, other_phone
from preprocess.pseudonymisation.surrogates.places import (
    other_address,
    other_hospital,
    other_postcode,
    other_town,
)
from preprocess.pseudonymisation.surrogates.secret_key import Draws

FEWEST_DAYS, MOST_DAYS = 183, 548  # by which the dates of a patient move, forward or back: a year alone moves too
NEXT_TO = 3  # characters between a postcode and its town
DOMAIN = "example.org"  # reserved for examples by RFC 2606


class Surrogates:
    """Replacements for the documents of one patient. The same text gives the same one in each of them."""

    def __init__(self, key: bytes, patient: str, first_names: Sequence[str], surnames: Sequence[str]):
        self.draws, self.first_names, self.surnames = Draws(key, patient), first_names, surnames
        days = FEWEST_DAYS + self.draws.number("days", "", MOST_DAYS - FEWEST_DAYS + 1)
        self.days = days if self.draws.number("direction", "", 2) else -days

    def of(self, text: str, span: Span, before: Span | None = None) -> str:
        """The replacement of a span of a text; `before` is the identifier before it."""
        own, label, draws = composed(text[span.start : span.end]), span.label, self.draws
        if label in ("DATE", "DATE_NAISSANCE"):
            return self.date(own) or tag(span)
        if label == "PRENOM":
            return other_name(own, self.first_names, draws, label)
        if label == "NOM":
            return other_name(own, self.surnames, draws, label)
        if label == "VILLE":
            is_near = before is not None and before.label == "ZIP" and span.start - before.end < NEXT_TO
            return other_town(own, draws, digits_of(text[before.start : before.end]) if before and is_near else "")
        made = {"SECU": other_nir, "TEL": other_phone, "ZIP": other_postcode, "ADRESSE": other_address,
                "HOPITAL": other_hospital, "MAIL": self._mail, "URL": self._url}  # fmt: skip
        return made[label](own, draws) if label in made else other_number(own, draws, label)

    def date(self, text: str) -> str | None:
        """A date moved by the days of the patient; None for text that is no date."""
        return shifted(text, self.days)

    def _mail(self, text: str, draws: Draws) -> str:
        return f"{draws.name('MAIL', text.casefold())[:8]}@{DOMAIN}"

    def _url(self, text: str, draws: Draws) -> str:
        start = "www." if text.startswith("www.") else text.partition("://")[0] + "://" if "://" in text else ""
        return f"{start}{DOMAIN}/{draws.name('URL', text)[:8]}"


def composed(text: str) -> str:
    """The text with each accent in its letter: the same name has the same replacement in either form."""
    return unicodedata.normalize("NFC", text)


def tag(span: Span) -> str:
    """The name of an identifier's kind, in place of it."""
    return f"[{span.label}]"
