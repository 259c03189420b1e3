"""Choosing documents by what is known of them: the core of a corpus, as ouBioBERT's by MeSH (its Table A1)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from alibert_common.errors import InputError
from preprocess.documents.document import Document


class MetadataFilter(NamedTuple):
    """A condition: some value of `field` matches `pattern`."""

    field: str
    pattern: re.Pattern
    condition: str  # as the user wrote it

    @classmethod
    def parse(cls, argument: str) -> "MetadataFilter":
        """The condition of `FIELD=VALUE`, which is the whole value, or `FIELD~REGEX`, which is found anywhere in it."""
        parts = re.fullmatch(r"([^=~]+)([=~])(.*)", argument, re.DOTALL)
        if not parts:
            raise InputError(f"--where '{argument}': give FIELD=VALUE or FIELD~REGEX, such as mesh_tree~^C04.")
        field, sign, pattern = parts.groups()
        try:
            return cls(field, re.compile(rf"\A{re.escape(pattern)}\Z" if sign == "=" else pattern), argument)
        except re.error as error:
            raise InputError(f"--where '{argument}': no regular expression ({error}); see Python's `re`.") from None

    def __str__(self) -> str:
        return self.condition

    def holds(self, document: Document) -> bool:
        """Whether the document is chosen. A field it lacks is no value."""
        return any(self.pattern.search(value) for value in _values(document, self.field))


def _values(document: Document, field: str) -> Iterator[str]:
    own = field in ("id", "source", "licence", "date")
    waiting = [getattr(document, field) if own else document.metadata.get(field)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (list, dict)):
            waiting += value.values() if isinstance(value, dict) else value
        elif value is not None:
            yield str(value)
