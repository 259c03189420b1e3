"""Files that cannot be read: a command lists all of them and fails, unless the user leaves them out."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from alibert_common.errors import InputError, readable
from alibert_common.provenance import MANIFEST, read_manifest
from preprocess.readers import InputFile, ReadOptions
from preprocess.readers.read_log import WHOLE, Skipped, write_skipped

SKIPPED = "skipped.tsv"
NAMED = 3  # reasons in a sentence


def listing_unreadable(parts: list[InputFile]) -> list[InputFile]:
    """The parts of a file, read so that what is wrong in it is listed, if it is whole and one of a folder."""
    if len(parts) > 1 or not parts[0].options.inside:
        return parts
    return [file._replace(options=file.options.with_changes(on_error="skip")) for file in parts]


def refuse_unreadable(rows: Sequence[Skipped], files: int, output: Path, options: ReadOptions) -> None:
    """Raise InputError for what cannot be read in folders, unless it is to be left out. A file beside the output lists
    it, if it is more than one thing."""
    listed = output.with_name(f"{output.name}.unreadable.tsv")
    listed.unlink(missing_ok=True)
    if not rows or options.on_error == "skip":
        return
    first = rows[0]
    if len(rows) == 1:
        where = first.file if first.place == WHOLE else f"{first.file}, {first.place}"
        raise InputError(f"{where}: {first.reason.rstrip('.')}, or leave it out with --skip-unreadable.")
    write_skipped(listed, rows)
    reasons = Counter(row.reason.partition(" (")[0].partition(";")[0] for row in rows).most_common(NAMED)
    told = ", ".join(f"{reason}: {count:,}" for reason, count in reasons)
    count = len({row.file for row in rows})
    raise InputError(
        f"{first.file} and others: {count:,} of {files:,} files cannot be read ({told}); correct those that "
        f"{readable(listed)} lists, or leave them out with --skip-unreadable."
    )


def refuse_made_with_skips(output: Path, options: ReadOptions) -> None:
    """Raise InputError for an output that lacks files, where the user does not say that it may."""
    if options.on_error == "stop" and (output / SKIPPED).exists() and read_manifest(output / MANIFEST):
        raise InputError(
            f"{readable(output)}: made with --skip-unreadable, and {SKIPPED} lists what it lacks; give that option "
            "again, or another --output."
        )
