"""Records that are tables of named values (a JSON object, a row of a table) made documents."""

import re

from preprocess.documents.document import PATIENT, Document, as_patient
from preprocess.readers.dates import iso_date
from preprocess.readers.options import RESERVED, ReadOptions
from preprocess.readers.read_log import Fault, ReadLog, without_field

LINE_END = re.compile(r"\r\n|\r|\n")
SCALARS = (str, int, float, bool)


def document_of(
    record: object, options: ReadOptions, number: int, log: ReadLog, *, keep_rest: bool = False
) -> Document:
    """The document of a record, of which `number` is told in its id if it has none; `keep_rest` keeps as metadata what
    was not asked for. What was asked for and is not there is counted. Raises Fault for a record that is no JSON object
    or has no text field, and for text that is none."""
    if not isinstance(record, dict):
        raise Fault("not a JSON object", 'every record must be one, such as {"text": "..."}')
    texts, paths = text_paths(options), own_paths(options)
    if not any(_has(record, path) for path in texts):
        names = ", ".join(list(map(str, record))[:12]) or "none"
        remedy = f"name the field that holds the text with --text-field (of {names})"
        raise Fault("no field '" + "' and no field '".join(texts) + "'", remedy)
    text = [line for path in texts for line in _lines(record, path)]
    own = {name: _first(record, path) for name, path in paths.items()}
    if options.metadata:
        metadata: dict = {name: plain(_value(record, path)) for name, path in options.metadata.items()}
    else:
        named = (*texts, *paths.values(), *filter(None, [options.patient]))
        used = {path if path in record else path.partition(".")[0] for path in named}
        rest = {name: plain(value) for name, value in record.items() if keep_rest and name not in used}
        metadata = {f"other_{name}" if name in RESERVED else name: value for name, value in rest.items()}
    for path in options.named_paths():
        if not _has(record, path):
            log.note(without_field(path))
    name, source = own["id"] or f"{options.name}-{number}", own["source"] or options.default_source
    if options.patient:
        metadata[PATIENT] = as_patient(_first(record, options.patient))
    metadata = {name: value for name, value in metadata.items() if value not in (None, "", [])}
    return Document(name, source, text, own["licence"], iso_date(own["date"]), metadata)


def text_paths(options: ReadOptions) -> tuple[str, ...]:
    """The paths of the text."""
    return options.text or ("text",)


def own_paths(options: ReadOptions) -> dict[str, str]:
    """The path of each of a document's own values but the text."""
    return {"id": options.id or "id", "source": "source", "licence": "licence", "date": options.date or "date"}


def lines_of_text(text: str) -> list[str]:
    """The lines of a text that are not blank."""
    return [line for line in LINE_END.split(text) if line.strip()]


def values_at(record: dict, path: str) -> list:
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
    for part in _items(values_at(record, path)):
        text = _decoded(part) if isinstance(part, bytes) else part
        if text is not None and not isinstance(text, str):
            raise Fault(f"field '{path}' is not text", "name the field that holds the text with --text-field")
        lines += lines_of_text(text or "")
    return lines


def _has(record: dict, path: str) -> bool:
    """Whether the record has the field, or of a nested one the outermost."""
    return path in record or path.partition(".")[0] in record


def _items(values: list) -> list:
    """The values, and of those that are lists their items."""
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def _first(record: dict, path: str) -> str:
    value = _value(record, path)
    return "" if value is None else str(plain(value)).strip()


def _value(record: dict, path: str) -> object:
    values = values_at(record, path)
    return values[0] if len(values) == 1 else values or None


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Fault("not UTF-8", "convert the text of this record to UTF-8", str(error)) from None
