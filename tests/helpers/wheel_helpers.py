"""Building the project as its users do."""

import shutil
import subprocess
import sys
from pathlib import Path

FILES = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")
FOLDERS = ("alibert", "alibert_common", "fairseq_compat", "preprocess", "alibert_fairseq", "downstream", "recipes")


def copy_project(repository: Path, target: Path) -> None:
    """Copy what a wheel is built from."""
    for name in FILES:
        shutil.copy(repository / name, target)
    for name in FOLDERS:
        shutil.copytree(repository / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))


def build(kind: str, source: Path) -> Path:
    """Build a copy of the project with the setuptools that is here; `kind` is build_wheel or build_editable."""
    (source / "out").mkdir()
    code = f"import setuptools.build_meta as build; build.{kind}('out')"
    subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True)
    (wheel,) = (source / "out").glob("*.whl")
    return wheel
