"""Where the recipes and the sample corpus lie, which come with the project beside its code."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_INSTALLED = _ROOT / "alibert_recipes"  # in a wheel; beside other packages `recipes` would be too general a name
RECIPES = _INSTALLED if _INSTALLED.is_dir() else _ROOT / "recipes"
