"""Notes in a database, read by a SQLAlchemy URL in chunks of rows that lie between two values of the id.

A chunk is a small file that says what to read; so each is read by itself, on any process or node, and a stopped command
resumes. User and password come from the environment and are in no file.
"""

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_plus
from uuid import UUID

from alibert_common.errors import InputError, reason
from alibert_common.files import read_json, write_json
from preprocess.documents.document import Document
from preprocess.documents.shards import shard_name
from preprocess.readers.options import Part, ReadOptions
from preprocess.readers.read_log import CommandError, ReadLog
from preprocess.readers.records.omop import with_omop_columns
from preprocess.readers.records.record import document_of
from preprocess.readers.records.table import check_columns

if TYPE_CHECKING:
    from sqlalchemy import URL, ColumnElement, Connection

USER, PASSWORD = "ALIBERT_DATABASE_USER", "ALIBERT_DATABASE_PASSWORD"
MISSING = "databases are read with SQLAlchemy; install it with `pip install 'alibert_fairseq[sql]'`."
SECRET = re.compile(r"(?:pass(?:word|wd|phrase)?|pwd|secret|token)\s*=", re.IGNORECASE)  # in a URL, also quoted
FILES = re.compile(r"(?:ssl\w*|passfile)=[^&]*", re.IGNORECASE)  # paths of certificates and of a file of passwords
ROWS = 20_000  # of a chunk: some 50 MB of letters
AT_ONCE = 1000  # rows that the server sends in one piece


@dataclass(frozen=True)
class Database:
    """A table or view, or a query, of the database at `url`, which holds no password."""

    url: str
    table: str = "note"
    query: str = ""

    @property
    def name(self) -> str:
        """How messages and the manifest call it: without user and password."""
        url = _url(self.url)
        place = f"{url.host or ''}{f':{url.port}' if url.port else ''}/{url.database or ''}"
        return f"{url.drivername}://{place} ({self.query or self.table})"


@dataclass(frozen=True)
class State:
    """The rows of a table when a command began, and the smallest and the largest id."""

    rows: int
    smallest: str
    largest: str
    file: str = ""  # of SQLite: its size and times, so that every change is seen


def check_database(database: Database) -> None:
    """Raise CommandError without SQLAlchemy, InputError for a URL that is none or that holds a password."""
    url = _url(database.url)
    if url.password is not None or SECRET.search(FILES.sub("", unquote_plus(database.url))):
        raise InputError(f"--database: holds a password; take it out, and give it in the variable {PASSWORD}.")
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise InputError(f"--database: {url.database}: no such file; check the path, with three slashes before it.")


def state_of(database: Database, options: ReadOptions) -> State:
    """What shows, without reading its texts, whether a table has changed. Raises InputError for a table without id."""
    from sqlalchemy import column, func, select

    with _opened(database) as connection:
        key: ColumnElement[Any] = column(_options_for(connection, database, options).id)
        rows, with_id = connection.execute(select(func.count(), func.count(key)).select_from(_table(database))).one()
        # Not min and max, which older PostgreSQL servers lack for the type UUID.
        ends = [select(key).select_from(_table(database)).order_by(order).limit(1) for order in (key, key.desc())]
        smallest, largest = (connection.execute(end).scalar() for end in ends)
    if not rows:
        raise InputError(f"{database.name}: has no row; check --table or --query.")
    if with_id < rows:
        raise InputError(f"{database.name}: {rows - with_id:,} rows have no {key.name}; name another --id-field.")
    return State(rows, str(smallest), str(largest), _file_state(database))


def _file_state(database: Database) -> str:
    """When the file of SQLite and its log of changes were written, and how long they are; "" for a server."""
    url = _url(database.url)
    files = [Path(f"{url.database}{end}") for end in ("", "-wal")] if url.get_backend_name() == "sqlite" else []
    return ", ".join(f"{file.stat().st_size} {file.stat().st_mtime_ns}" for file in files if file.exists())


def write_chunks(database: Database, options: ReadOptions, folder: Path, rows: int = ROWS) -> list[tuple[Path, Part]]:
    """Write a file for each chunk of some `rows`, unless an earlier command wrote them; each with its place."""
    done = folder / "chunks.json"
    if not done.exists():
        with _opened(database) as connection:
            options = _options_for(connection, database, options)
            starts = list(_starts(connection, database, options.id, rows))
        for number, (first, last) in enumerate(pairwise([*starts, None])):
            content = {"database": asdict(database), "first": first, "last": last}
            write_json(folder / f"{shard_name(number)}.json", content)
        write_json(done, {"chunks": len(starts)})
    return [(folder / f"{shard_name(n)}.json", Part(0, 0, n * rows)) for n in range(read_json(done)["chunks"])]


def _starts(connection: "Connection", database: Database, key: str, rows: int) -> Iterator[Any]:
    """The id of the first row of each chunk. Rows of one id are in one chunk. Raises InputError for another type."""
    from sqlalchemy import column, select

    ids: Any = connection.execution_options(yield_per=AT_ONCE * 10).execute(
        select(column(key)).select_from(_table(database)).order_by(column(key))
    )
    before = None
    for number, (value,) in enumerate(ids):
        if number % rows == 0 and value != before:
            yield _id_in_json(value, f"{database.name}: {key}")
            before = value


def _id_in_json(value: Any, name: str) -> int | str | dict[str, str]:
    """An id as JSON can hold it. Raises InputError for one of another type."""
    if isinstance(value, UUID):
        return {"uuid": str(value)}
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    if isinstance(value, (int, str)):
        return value
    raise InputError(f"{name} is neither a whole number nor text; cast it in a --query.")


def _id_from_json(value: Any) -> int | str | UUID | None:
    return UUID(value["uuid"]) if isinstance(value, dict) else value


def read_database(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document for each row of a chunk, by a cursor on the server. Raises InputError for a lost connection."""
    chunk = read_json(file)
    if not isinstance(chunk, dict) or "database" not in chunk:
        raise CommandError(f"{file}: is no database; give its URL with --database.")
    database = Database(**chunk["database"])
    number = options.part.records if options.part else 0
    with _opened(database) as connection:
        names = _columns(connection, database)
        options = _options_for(connection, database, options)
        rows = _rows(database, options, names, _id_from_json(chunk["first"]), _id_from_json(chunk["last"]))
        found = connection.execution_options(yield_per=AT_ONCE).execute(rows).mappings()
        for row in _in_fixed_order(found, options.id):
            number += 1
            with log.refusing(options, Path(database.name), f"{options.id} {row[options.id]}"):
                yield document_of(dict(row), options, number, log)


def _rows(database: Database, options: ReadOptions, names: list[str], first: Any, last: Any) -> Any:
    """The columns that are named, of the rows with an id from `first` to before `last`, or to the end."""
    from sqlalchemy import column, select

    key: ColumnElement[Any] = column(options.id)
    wanted = dict.fromkeys(name if name in names else name.partition(".")[0] for name in options.named_paths())
    rows: Any = select(*map(column, wanted)).select_from(_table(database)).where(key >= first).order_by(key)
    return rows if last is None else rows.where(key < last)


def _in_fixed_order(rows: Iterable[Any], key: str) -> Iterator[Any]:
    """The rows in the order of their id, and rows of one id in the order of their values: no server promises it."""
    for _, same in groupby(rows, lambda row: row[key]):
        yield from sorted(same, key=lambda row: [str(value) for value in row.values()])


def _options_for(connection: "Connection", database: Database, options: ReadOptions) -> ReadOptions:
    """The options with the columns of the table. Raises InputError for one that is not there, and without an id."""
    names = _columns(connection, database)
    options = with_omop_columns(options, names)
    check_columns(database.name, options, names)
    if not options.id:
        raise InputError(f"{database.name}: say which of {', '.join(names)} is the id of a row with --id-field.")
    return options if options.text else options.with_changes(text=("text",))


def _columns(connection: "Connection", database: Database) -> list[str]:
    from sqlalchemy import select, text

    return list(connection.execute(select(text("*")).select_from(_table(database)).limit(0)).keys())


def _table(database: Database) -> Any:
    from sqlalchemy import table, text

    if database.query:
        query = database.query.rstrip().rstrip(";").replace(":", r"\:")  # a colon begins no parameter
        return text(f"({query}\n) notes")  # without AS, which Oracle does not know here
    schema, _, name = database.table.rpartition(".")
    return table(name, schema=schema or None)


def _url(text: str) -> "URL":
    try:
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError:
        raise CommandError(MISSING) from None
    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        raise InputError("--database: is no URL of SQLAlchemy, such as postgresql+psycopg://host/omop.") from None


@contextmanager
def _opened(database: Database) -> Iterator["Connection"]:
    """A connection that only reads. No error tells a password."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    url, password = _url(database.url), os.environ.get(PASSWORD)
    if url.get_backend_name() != "sqlite":
        url = url.set(username=os.environ.get(USER) or url.username, password=password)
    options = {"creator": partial(_open_sqlite, url.database or "")} if url.get_backend_name() == "sqlite" else {}
    try:
        engine = create_engine(url, **options)
        with engine.connect() as connection:
            yield connection
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise CommandError(f"{database.name}: a setting of the URL is wrong ({reason(error)}); correct it.") from None
    except (NoSuchModuleError, ImportError) as error:
        raise CommandError(f"--database: {reason(error)}; install the driver that the URL names.") from None
    except SQLAlchemyError as error:
        said = reason(getattr(error, "orig", None) or error)
        said = said.replace(password, "***") if password else said
        raise CommandError(
            f"{database.name}: {said}; check the database, its table or query, {USER} and {PASSWORD}."
        ) from None


def _open_sqlite(path: str) -> sqlite3.Connection:
    """A connection that cannot write. Text that is no UTF-8 comes as bytes, which are refused with their row."""
    connection = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
