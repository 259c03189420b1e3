"""The columns of OMOP's table `note`, for tables that have them: https://ohdsi.github.io/CommonDataModel/."""

from collections.abc import Iterable

from preprocess.readers.options import ReadOptions

TEXT, ID, DATE, PATIENT = "note_text", "note_id", "note_date", "person_id"


def with_omop_columns(options: ReadOptions, columns: Iterable[str]) -> ReadOptions:
    """The options, with OMOP's columns in place of those that the user does not name, if the table is one of notes."""
    named = {name.lower(): name for name in columns}
    if options.text or "text" in named or TEXT not in named:
        return options
    return options.with_changes(
        text=(named[TEXT],), id=options.id or named.get(ID, ""), date=options.date or named.get(DATE, ""),
        patient=options.patient or named.get(PATIENT, ""),
    )  # fmt: skip
