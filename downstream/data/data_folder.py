"""Where the splits of a recipe are: in its own folder, in the one that --data names, or below that one."""

from pathlib import Path

from alibert_common.errors import InputError
from downstream.data.recipe import FOLD, Recipe
from downstream.data.split_lists import parse

DEPTH = 4  # folders below DIR in which a data set may lie


def data_folder(recipe: Recipe, file: Path, given: Path | None, dev_only: bool = False) -> Path:
    """The folder of the splits; `given` (--data) may hold them, or hold the recipe's `folder` that does.

    file: the recipe's. Raises InputError where there is neither.
    """
    if given is None and recipe.data is None:
        place = f"get them from {recipe.source} and " if recipe.source else ""
        raise InputError(f"{file}: the data are not part of this project; {place}give their folder with --data.")
    root = given or file.parent / str(recipe.data)
    if given and not given.exists():
        raise InputError(f"{given}: no such file or folder; give the folder of the data with --data.")
    if given is None or not recipe.folder or any(path.exists() for path in _paths(recipe, root)):
        return root
    folder = find(recipe, root, dev_only)
    if folder is None:
        raise InputError(
            f"{root}: it holds neither the splits of {file} ({', '.join(recipe.splits.values())}) nor a folder "
            f"{recipe.folder!r} with them; give another --data."
        )
    return folder


def find(recipe: Recipe, root: Path, dev_only: bool = False) -> Path | None:
    """The folder below `root` that the recipe's `folder` names and that holds its splits; the first by path."""
    patterns = ["/".join(["*"] * depth + [recipe.folder]) for depth in range(DEPTH)]
    below = sorted(folder for pattern in patterns for folder in root.glob(pattern))
    folders = [root] * (root.name == recipe.folder) + below
    return next((folder for folder in folders if all(path.exists() for path in _paths(recipe, folder, dev_only))), None)


def _paths(recipe: Recipe, root: Path, dev_only: bool = False) -> list[Path]:
    """The paths of the splits; of official folds, those of the first."""
    splits = [path for name, path in recipe.splits.items() if not (dev_only and name == "test")]
    return [root / parse(split.replace(FOLD, str(recipe.first_fold)), recipe.task).path for split in splits]
