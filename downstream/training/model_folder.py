"""What a model's folder must hold, checked before torch is imported."""

from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import read_json


def refuse_no_model(folder: Path) -> None:
    """Raise InputError for a folder that holds no Hugging Face model, or an unreadable config.json."""
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such folder. Nothing is downloaded here; of a model of the hub, "
            "`hf download ORGANISATION/NAME --local-dir DIR` makes a folder."
        )
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no config.json in it; give the folder of an exported Hugging Face model.")
    read_json(folder / "config.json")
