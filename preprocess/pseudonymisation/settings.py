"""What a pseudonymisation is asked to do, and the identifiers that it finds in a text."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

from preprocess.pseudonymisation.find import Rules
from preprocess.pseudonymisation.forms.record_numbers import DEFAULT_IPP, DEFAULT_NDA, compiled
from preprocess.pseudonymisation.persons.name_lists import FIRST_NAMES, SURNAMES, name_lists, read_names
from preprocess.pseudonymisation.spans import Span, merged, trimmed
from preprocess.pseudonymisation.surrogates.names import simple
from preprocess.pseudonymisation.tagger import check_tagger, tagger

FEWEST = 100  # names of a list, so that replacements differ


@dataclass(frozen=True)
class Settings:
    """The settings of the command. Paths are those of files that the user may replace."""

    ipp: tuple[str, ...] = (DEFAULT_IPP,)
    nda: tuple[str, ...] = (DEFAULT_NDA,)
    first_names: str = str(FIRST_NAMES)
    surnames: str = str(SURNAMES)
    tagger: str = ""  # folder of a token-classification model
    eds_pseudo: str = ""  # folder of a pipeline of EDS-pseudo
    known: tuple[str, ...] = ()  # fields that hold names of the patient
    keep: tuple[str, ...] = ()  # fields that are written too
    with_tags: bool = False  # in place of surrogates
    positions: bool = False  # of the replacements are written
    samples: int = field(default=200, compare=False)  # on the page for a person

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Settings":
        """The settings that the options of the command say."""
        return cls(
            tuple(options.ipp or cls.ipp), tuple(options.nda or cls.nda), str(options.first_names),
            str(options.surnames), str(options.tagger or ""), str(options.eds_pseudo or ""), tuple(options.known),
            tuple(options.keep), options.tags, options.positions, options.samples,
        )  # fmt: skip

    def check(self) -> None:
        """Raise InputError for a pattern, a list of names or a model that cannot be used, before any work."""
        for option, patterns in (("--ipp", self.ipp), ("--nda", self.nda)):
            compiled(patterns, option)
        rules_of(self)
        for file in (self.first_names, self.surnames):
            if (few := len(simple(read_names(Path(file))))) < FEWEST:
                print(f"{file}: has {few} names, so that names of INSEE replace others.", file=sys.stderr)
        if self.tagger:
            check_tagger(Path(self.tagger))

    def named(self) -> dict:
        """The settings for the manifest: shipped lists by their name, whatever folder they are in."""
        lists = {"first_names": FIRST_NAMES, "surnames": SURNAMES}
        shipped = {name: file.name for name, file in lists.items() if getattr(self, name) == str(file)}
        return {name: value for name, value in (asdict(self) | shipped).items() if name != "samples"}

    def files(self) -> list[Path]:
        """The files and folders that the result depends on, besides the documents."""
        return [Path(path) for path in (self.first_names, self.surnames, self.tagger, self.eds_pseudo) if path]


@lru_cache(1)
def rules_of(settings: Settings) -> Rules:
    """The rules with the user's patterns and lists, once in a process."""
    return Rules(settings.ipp, settings.nda, name_lists(Path(settings.first_names), Path(settings.surnames)))


@lru_cache(1)
def names_of(settings: Settings) -> tuple[list[str], list[str]]:
    """The first names and the surnames that replace others: those of the lists, or the shipped ones for short lists."""
    first, last = (simple(read_names(Path(file))) for file in (settings.first_names, settings.surnames))
    shipped = simple(read_names(FIRST_NAMES)), simple(read_names(SURNAMES))
    return first if len(first) >= FEWEST else shipped[0], last if len(last) >= FEWEST else shipped[1]


def identifiers(text: str, settings: Settings, known: Sequence[str] = ()) -> list[Span]:
    """The identifiers of a text, sorted, without overlap, none of more than one line.

    Where a rule and a model found the same, the rule tells the kind and the ends: it is right more often.
    """
    ruled = merged(_in_lines(text, rules_of(settings).find(text, known)))
    folders = {settings.tagger: False, settings.eds_pseudo: True}
    models = [tagger(Path(folder), is_eds) for folder, is_eds in folders.items() if folder]
    if not models:
        return ruled
    tagged = [span for find in models for span in find(text)]
    both = trimmed(text, merged(_in_lines(text, tagged), ruled))
    return [span for span in both if any(map(str.isalnum, text[span.start : span.end]))]


def _in_lines(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """The parts of spans in each line."""
    for span in spans:
        start = span.start
        for piece in text[span.start : span.end].split("\n"):
            inside = piece.strip()
            begin = start + len(piece) - len(piece.lstrip())
            if inside:
                yield Span(begin, begin + len(inside), span.label)
            start += len(piece) + 1
