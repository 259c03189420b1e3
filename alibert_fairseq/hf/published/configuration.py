"""Reading the JSON files of a published folder that say how to read the others."""

from pathlib import Path
from typing import Any

from alibert_common.errors import InputError
from alibert_common.json_value import parse_json


def read_configuration(file: Path, of: str) -> dict[str, Any]:
    """The content of config.json or tokenizer_config.json. Raise InputError if it is damaged or names code to run.

    of: "model" or "tokenizer".
    """
    try:
        found = parse_json(file.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
    except ValueError as error:
        raise InputError(f"{file}: not a {of}'s configuration ({error}); copy the published file again.") from None
    if found.get("auto_map"):
        raise InputError(
            f"{file}: the {of} needs code of its own (auto_map), which is never run; give a {of} of transformers' own "
            "classes."
        )
    return found
