"""Parquet files, row group by row group, of which only the columns that are needed are read."""

from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from preprocess.documents.document import Document
from preprocess.readers.lines import CHUNK
from preprocess.readers.options import How
from preprocess.readers.read_log import Misuse, ReadLog, readable
from preprocess.readers.record import Unfit, document_of
from preprocess.readers.table import check_columns

ROWS = 1000  # made Python objects at a time: some MB of articles


def read_parquet(file: Path, how: How, log: ReadLog) -> Iterator[Document]:
    """A document a row. Raises Misuse when pyarrow is not installed, InputError for what is no Parquet file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Misuse("Parquet files are read with pyarrow; install it with `pip install pyarrow`.") from None
    damage: tuple[type[Exception], ...] = (pyarrow.ArrowException, OSError, UnicodeDecodeError)
    with log.open(file) as handle:  # for its checksum: Parquet is not read from start to end
        while handle.read(CHUNK):
            pass
    # An open file: of a name, pyarrow takes some for addresses on other machines, and others it cannot read.
    with open(file, "rb") as stored:
        try:
            table = pyarrow.parquet.ParquetFile(stored, page_checksum_verification=True)
            names = table.schema_arrow.names
        except damage as error:
            reason = f"damaged, or no Parquet file ({_first_line(error)})"
            raise InputError(f"{readable(file)}: {reason}; get it again.") from None
        check_columns(readable(file), how, names)
        yield from _documents(file, table, how, log, damage)


def _documents(file: Path, table, how: How, log: ReadLog, damage: tuple[type[Exception], ...]) -> Iterator[Document]:
    number = 0
    for group in range(table.num_row_groups):
        start, end = number, number + table.metadata.row_group(group).num_rows
        try:
            for row in _rows(table, group, _columns(table, how)):
                number += 1
                yield from _document(file, row, how, number, log)
        except damage as error:
            _refuse(file, how, log, number, end, _first_line(error))
        else:
            if number != end:
                _refuse(file, how, log, number, end, f"{number - start} rows, not {end - start}")
        number = end


def _refuse(file: Path, how: How, log: ReadLog, number: int, end: int, detail: str) -> None:
    log.refuse(
        how, file, f"records {number + 1} to {end}", "a damaged row group", "get the file again", detail,
        records=max(1, end - number),
    )  # fmt: skip


def _rows(table, group: int, columns: list[str]) -> Iterator[dict]:
    for batch in table.iter_batches(ROWS, row_groups=[group], columns=columns):
        yield from batch.to_pylist()


def _columns(table, how: How) -> list[str]:
    """Those that `how` names, and those that documents have under their own names."""
    wanted = {*(how.text or ("text",)), how.id or "id", how.date or "date", "source", "licence", *how.metadata.values()}
    wanted |= {name.partition(".")[0] for name in wanted}
    return [name for name in table.schema_arrow.names if name in wanted]


def _document(file: Path, row: dict, how: How, number: int, log: ReadLog) -> Iterator[Document]:
    try:
        yield document_of(row, how, number, keep_rest=False, log=log)
    except Unfit as unfit:
        log.refuse(how, file, f"record {number}", unfit.fault.reason, unfit.fault.remedy, unfit.fault.detail)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
