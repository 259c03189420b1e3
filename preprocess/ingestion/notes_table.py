"""The table of notes that a command reads, or none."""

from dataclasses import asdict, dataclass
from pathlib import Path

from alibert_common.errors import InputError
from preprocess.documents.names import as_source_name
from preprocess.ingestion.groups import Group
from preprocess.readers import InputFile, ReadOptions, check_settings
from preprocess.readers.records.database import Database, State, check_database, state_of, write_chunks


@dataclass(frozen=True)
class NotesTable:
    """A table and its state when the command began; nothing without a database."""

    database: Database | None
    options: ReadOptions
    state: State | None = None

    @classmethod
    def of(cls, database: Database | None, options: ReadOptions) -> "NotesTable":
        """The table of a database. Raises InputError for one that cannot be read."""
        if not database:
            return cls(None, options)
        check_database(database)
        check_settings(options, {"database"})
        return cls(database, options, state_of(database, options))

    @property
    def names(self) -> list[Path]:
        """The name of the table, in a list."""
        return [Path(self.database.name)] if self.database else []

    @property
    def key(self) -> list[dict]:
        """What the output depends on."""
        return [asdict(self.database) | asdict(self.state)] if self.database and self.state else []

    @property
    def manifest(self) -> dict:
        """What the manifest says of it, without user and password."""
        if not self.database or not self.state:
            return {}
        state = asdict(self.state)
        return {"database": {"name": self.database.name, **{name: state[name] for name in state if name != "file"}}}

    def groups(self, folder: Path, before: int, path: int) -> list[Group]:
        """Groups with the numbers after `before`, of a chunk each; they belong to the `path` of this number."""
        if not self.database:
            return []
        name = self.options.name or self.database.table
        named = {"name": name, "default_source": self.options.default_source or as_source_name(name)}
        options = self.options.with_changes(format="database", **named)
        chunks = write_chunks(self.database, self.options, folder)
        return [
            Group(before + number, path, (InputFile(file, options.with_changes(part=part)),))
            for number, (file, part) in enumerate(chunks)
        ]

    def refuse_changed(self) -> None:
        """Raise InputError for a table with other rows than at the start: its chunks were read at different times."""
        if self.database and state_of(self.database, self.options) != self.state:
            raise InputError(f"{self.database.name}: changed while it was read; run the same command again.")
