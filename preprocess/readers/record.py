"""Records that are tables of named values (a JSON object, a row of a table) made documents."""

from preprocess.documents.document import Document
from preprocess.readers.dates import iso_date
from preprocess.readers.lines import Fault
from preprocess.readers.options import RESERVED, ReadOptions
from preprocess.readers.read_log import ReadLog, without_field

SCALARS = (str, int, float, bool)


class InvalidRecord(Exception):
    """A record that is no document; `fault` says why."""

    def __init__(self, reason: str, remedy: str, detail: str = ""):
        super().__init__(reason)
        self.fault = Fault(reason, remedy, detail)


def document_of(record: dict, options: ReadOptions, number: int, keep_rest: bool, log: ReadLog) -> Document:
    """The document of a record, of which `number` is told in its id if it has none; `keep_rest` keeps as metadata what
    was not asked for. What was asked for and is not there is counted. Raises Unfit for a record without any text
    field, and for text that is none."""
    texts = options.text or ("text",)
    if not any(_has(record, path) for path in texts):
        names = "' and no field '".join(texts)
        remedy = f"name the field that holds the text with --text-field (of {_names(record)})"
        raise InvalidRecord(f"no field '{names}'", remedy)
    paths = {"id": options.id or "id", "source": "source", "licence": "licence", "date": options.date or "date"}
    text = [line for path in texts for line in _lines(record, path)]
    known = {name: _first(record, path) for name, path in paths.items()}
    if options.metadata:
        metadata = {name: plain(_value(record, path)) for name, path in options.metadata.items()}
    else:
        asked = {path if path in record else path.partition(".")[0] for path in (*texts, *paths.values())}
        metadata = {_free(name): plain(value) for name, value in record.items() if keep_rest and name not in asked}
    for path in options.named_paths():
        if not _has(record, path):
            log.note(without_field(path))
    return Document(
        known["id"] or f"{options.name}-{number}",
        known["source"] or options.default_source,
        text,
        known["licence"],
        iso_date(known["date"]),
        {name: value for name, value in metadata.items() if value not in (None, "", [])},
    )


def lines_of_text(text: str) -> list[str]:
    """The lines of a text that are not blank."""
    return [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]


def found(record: dict, path: str) -> list:
    """The values at a path: a name, or names with dots between them; a list on the way gives those of its items."""
    if path in record:
        return [record[path]]
    values = [record]
    for name in path.split("."):
        values = [value[name] for value in _items(values) if isinstance(value, dict) and name in value]
    return values


def plain(value: object) -> object:
    """The value as JSON can hold it: dates and decimal numbers become text."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return _decoded(value)
    return value if value is None or isinstance(value, SCALARS) else str(value)


def _lines(record: dict, path: str) -> list[str]:
    lines = []
    for part in _items(found(record, path)):
        text = _decoded(part) if isinstance(part, bytes) else part
        if text is not None and not isinstance(text, str):
            raise InvalidRecord(f"field '{path}' is not text", "name the field that holds the text with --text-field")
        lines += lines_of_text(text or "")
    return lines


def _has(record: dict, path: str) -> bool:
    """Whether the record has the field, or of a nested one the outermost."""
    return path in record or path.partition(".")[0] in record


def _items(values: list) -> list:
    """The values, and of those that are lists their items."""
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def _names(record: dict) -> str:
    return ", ".join(list(map(str, record))[:12]) or "none"


def _first(record: dict, path: str) -> str:
    value = _value(record, path)
    return "" if value is None else str(plain(value)).strip()


def _value(record: dict, path: str) -> object:
    values = found(record, path)
    return values[0] if len(values) == 1 else values or None


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise InvalidRecord("not UTF-8", "convert the text of this record to UTF-8", str(error)) from None


def _free(name: str) -> str:
    """A name of metadata, which is none of a document's own."""
    return f"other_{name}" if name in RESERVED else name
