"""Names of sources: they stand in `name=weight,name=weight` and name folders."""

import re

from alibert_common.errors import InputError

SOURCE_NAME = re.compile(r"[^\s,=]+")  # what `name=weight,name=weight` can spell


def is_source_name(text: str) -> bool:
    """Whether the text can stand in `name=weight,name=weight`, and name a folder."""
    return bool(SOURCE_NAME.fullmatch(text)) and "/" not in text and not text.startswith(".")


def check_source_name(source: str) -> str:
    """The source itself. Raises InputError where it cannot name a folder or a weight."""
    if not is_source_name(source):
        raise InputError(
            f"the source {source!r} cannot name a corpus: it holds a space, a comma, '=' or '/', or starts with a "
            "point; name it with `python -m preprocess.ingest --source`."
        )
    return source


def as_source_name(text: str) -> str:
    """The name of a file or folder as the name of a source: `_` replaces what a name cannot hold."""
    return re.sub(r"[\s,=/]+|^\.", "_", text) or "_"
