"""Folder of the recipes and of the sample corpus, which are installed beside the code."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_INSTALLED = _ROOT / "alibert_recipes"  # in a wheel; beside other packages `recipes` would be too general a name
RECIPES = _INSTALLED if _INSTALLED.is_dir() else _ROOT / "recipes"
