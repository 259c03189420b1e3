"""Parquet files, row group by row group, of which only the columns that are needed are read."""

from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError, reason
from preprocess.documents.document import Document
from preprocess.readers.options import Part, ReadOptions
from preprocess.readers.read_log import CommandError, Fault, ReadLog, readable
from preprocess.readers.records.omop import with_omop_columns
from preprocess.readers.records.record import document_of, own_paths, text_paths
from preprocess.readers.records.table import check_columns

ROWS = 1000  # made Python objects at a time: some MB of articles


def read_parquet(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document a row. Raises CommandError when pyarrow is not installed, InputError for what is no Parquet file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise CommandError("Parquet files are read with pyarrow; install it with `pip install pyarrow`.") from None
    damage: tuple[type[Exception], ...] = (pyarrow.ArrowException, OSError, UnicodeDecodeError)
    if not options.part:
        log.read_through(file)  # for its checksum: Parquet is not read from start to end
    # An open file: of a name, pyarrow takes some for addresses on other machines, and others it cannot read.
    with open(file, "rb") as stored:
        try:
            table = pyarrow.parquet.ParquetFile(stored, page_checksum_verification=True)
            names = table.schema_arrow.names
        except damage as error:
            why = f"damaged, or no Parquet file ({reason(error)[:200]})"
            raise InputError(f"{readable(file)}: {why}; get it again.") from None
        check_columns(readable(file), options, names)
        options = with_omop_columns(options, names)
        yield from _documents(file, table, options, log, damage)


def _documents(
    file: Path, table, options: ReadOptions, log: ReadLog, damage: tuple[type[Exception], ...]
) -> Iterator[Document]:
    wanted = {
        *text_paths(options),
        *own_paths(options).values(),
        *options.metadata.values(),
        *filter(None, [options.patient]),
    }
    wanted |= {name.partition(".")[0] for name in wanted}
    columns = [name for name in table.schema_arrow.names if name in wanted]
    part = options.part or Part(0)
    number = part.records
    for group in range(table.num_row_groups)[part.first : None if part.last is None else part.last + 1]:
        start, end, detail = number, number + table.metadata.row_group(group).num_rows, None
        try:
            for batch in table.iter_batches(ROWS, row_groups=[group], columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    with log.refusing(options, file, f"record {number}"):
                        yield document_of(row, options, number, log)
        except damage as error:
            detail = reason(error)[:200]
        if detail is None and number != end:
            detail = f"{number - start} rows, not {end - start}"
        if detail is not None:
            fault = Fault("a damaged row group", "get the file again", detail)
            log.refuse(options, file, f"records {number + 1} to {end}", fault, records=max(1, end - number))
        number = end


def row_groups(file: Path) -> list[tuple[int, int]]:
    """The rows of each row group, and their bytes; none without pyarrow, and of a damaged file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return []
    try:
        with open(file, "rb") as stored:
            metadata = pyarrow.parquet.read_metadata(stored)
    except (pyarrow.ArrowException, OSError):
        return []
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return [(group.num_rows, group.total_byte_size) for group in groups]
