"""How files are read: the format, the fields that hold the text, what becomes of a record that cannot be read."""

import codecs
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from alibert_common.errors import InputError

ENCODINGS = ("utf-8", "windows-1252", "latin-1", "utf-16", "utf-32", "auto")  # and other names of them, as cp1252
LONGEST_LIMIT = 86_400  # seconds: a day
RESERVED = frozenset({"id", "source", "licence", "date", "text"})  # what a document is, and no metadata of it


@dataclass(frozen=True)
class Part:
    """Some whole records of a file, which are read by themselves (preprocess.readers.parts).

    `first` and `last` are lines, from 1, or row groups of Parquet, from 0; without `last` it goes to the end. The file
    has `records` before it. From `start`, a stored byte, `skip` line ends are before the first line.
    """

    first: int
    last: int | None = None
    records: int = 0
    start: int = 0
    skip: int = 0


@dataclass(frozen=True)
class ReadOptions:
    """What a reader has to know besides the file. Empty: what the format, or the name of the file, says.

    `text`, `id`, `date` and the values of `metadata` name columns (csv, tsv, parquet), fields (jsonl, json; dots lead
    into nested ones) or XPaths below a record (xml, html; names without their namespace's prefix). Several texts are
    joined as lines, in the order given. Raises InputError for a value that no reader knows.
    """

    format: str = ""  # a name of preprocess.readers.FORMATS
    record: str = ""  # xml: name of the element that is a record
    text: tuple[str, ...] = ()
    id: str = ""
    date: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)  # name in the document: name in the file
    patient: str = ""  # who a document is about, as `id`
    patient_pattern: str = ""  # regular expression whose first group in the id of a document is its patient
    language: str = "fr"  # of texts that say theirs, two letters; "any" takes all
    encoding: str = ""  # one of ENCODINGS
    delimiter: str = ""  # csv: one character
    one_document_per_file: bool = False  # text: blank lines divide nothing
    join_wrapped_lines: bool = False  # text: lines that end at a margin become one
    mesh_descriptors: str = ""  # pubmed: NLM's desc2026.xml, for the tree numbers of MeSH terms
    ocr: str = ""  # pdf: command that reads a PNG image of a page and writes its text
    time_limit: int = 60  # pdf, docx, rtf, odt, email: seconds for a file
    source: str = ""  # of all documents, whatever the files say; so for the licence
    licence: str = ""
    on_error: str = "stop"  # or "skip": list what cannot be read, and continue
    default_source: str = ""  # the source of documents that name none; files_of says it, the name of the file or folder
    part: Part | None = None  # of the file; preprocess.readers.parts says it
    name: str = ""  # what the ids of records without one begin with; files_of says it, from the name of the file
    inside: bool = False  # the user named the folder, in which a file may lack text; files_of says it
    by_name: bool = False  # the format is what the file's name says, and its content may say another; files_of says it

    def __post_init__(self):
        for name, known in (("encoding", ENCODINGS), ("on_error", ("stop", "skip"))):
            if (value := getattr(self, name)) not in (getattr(ReadOptions, name), *known):
                raise InputError(f"{name} '{value}': not known; choose one of {', '.join(known)}.")
        if len(self.delimiter) > 1:
            raise InputError(f"delimiter '{self.delimiter}': give one character, such as ';' or $'\\t'.")
        if not 0 < self.time_limit <= LONGEST_LIMIT:
            raise InputError(f"time limit {self.time_limit}: give 1 to {LONGEST_LIMIT:,} seconds.")
        if self.patient_pattern and not _has_one_group(self.patient_pattern):
            raise InputError(
                f"patient pattern '{self.patient_pattern}': give a regular expression with one group, such as ^(\\d+)_."
            )
        if self.patient_pattern and self.patient:
            raise InputError("patient and patient pattern both say who the patient is; give one of them.")
        if taken := RESERVED & set(self.metadata):
            raise InputError(f"metadata '{min(taken)}': a document has a field of that name; choose another name.")

    @classmethod
    def from_settings(cls, settings: Mapping) -> "ReadOptions":
        """The options in a mapping, as a YAML file holds it. Raises InputError for a name that is no setting."""
        for name, value in settings.items():
            if name not in cls.__dataclass_fields__:
                raise InputError(f"setting '{name}': not known; there are {', '.join(cls.__dataclass_fields__)}.")
            _check_type(name, value)
        text, encoding = settings.get("text", ()), settings.get("encoding", "")
        texts = (text,) if isinstance(text, str) else tuple(text)
        return cls(**{**settings, "text": texts, "encoding": encoding_named(encoding)})

    def named_paths(self) -> list[str]:
        """The columns, fields or XPaths that the user named, each once."""
        own = filter(None, (self.id, self.date, self.patient))
        return list(dict.fromkeys([*self.text, *own, *self.metadata.values()]))

    def with_changes(self, **changes: Any) -> "ReadOptions":
        """A copy with other values."""
        return replace(self, **changes)

    def changed_settings(self) -> dict:
        """The settings that are not the defaults."""
        defaults = vars(ReadOptions())
        return {name: value for name, value in vars(self).items() if value != defaults[name]}

    def decoded_as(self, default: str) -> str:
        """The encoding to read with, under Python's name of it; "auto" stays."""
        name = self.encoding or default
        return name if name == "auto" else codecs.lookup(name).name


def _has_one_group(pattern: str) -> bool:
    try:
        return re.compile(pattern).groups == 1
    except re.error:
        return False


def encoding_named(text: str) -> str:
    """The one of ENCODINGS that it is another name of, as cp1252 of windows-1252; the text itself if there is none."""
    for name in ENCODINGS:
        with suppress(LookupError):
            if codecs.lookup(text).name == codecs.lookup(name).name:
                return name
    return text


def _check_type(name: str, value: object) -> None:
    """Raise InputError for what YAML reads as something else than the setting is: a number, nothing, a list."""
    if name == "metadata":
        fits = isinstance(value, Mapping) and all(isinstance(part, str) for pair in value.items() for part in pair)
        wanted = "`name: path` lines below it"
    elif name == "text":
        fits = all(isinstance(path, str) and path for path in (value if isinstance(value, (list, tuple)) else [value]))
        wanted = "a path or a list of paths"
    elif name in ("one_document_per_file", "join_wrapped_lines"):
        fits, wanted = isinstance(value, bool), "true or false"
    elif name == "time_limit":
        fits, wanted = isinstance(value, int) and not isinstance(value, bool) and value > 0, "a number of seconds"
    else:
        fits, wanted = isinstance(value, str), "a text, in quotes if it looks like a number"
    if not fits:
        raise InputError(f"setting '{name}': {value!r} is not what it takes; give it {wanted}.")
