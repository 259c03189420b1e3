"""The libraries in the key of a stage are those whose version may change its bytes."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest

STAGES = ("ingest", "clean", "deduplicate", "mix", "train_tokenizer", "binarize")
# They read settings or rows, show progress, draw, lock or run jobs. The integers of numpy and the connected components
# of scipy are those of all versions.
NEUTRAL = {"yaml", "tqdm", "matplotlib", "filelock", "submitit", "numpy", "scipy", "sqlalchemy"}
# What a module starts in a process of its own.
STARTED = {"preprocess.readers.conversion.isolated": ["preprocess.readers.conversion.child"]}
DRAWS_WITH_NUMPY = {"train_tokenizer", "binarize"}
ONLY_READS_SHARDS = {"train_tokenizer"}


def imported(path: Path) -> set[str]:
    """The modules that a file names, and what it takes from them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def libraries(root: Path, module: str) -> set[str]:
    """The packages of others that a module imports, or a module of ours that it imports."""
    seen, waiting, found = set(), [module], set()
    while waiting:
        name = waiting.pop()
        path = root / name.replace(".", "/")
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in seen or not file.is_file():
            continue
        seen.add(name)
        waiting += STARTED.get(name, ())
        for other in imported(file):
            top = other.partition(".")[0]
            if top in ("preprocess", "alibert_common"):
                parts = other.split(".")
                waiting += [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
            elif top not in sys.stdlib_module_names:
                found.add(top)
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_the_libraries_of_a_stage_are_those_that_it_imports(repository, stage):
    may_matter = libraries(repository, f"preprocess.{stage}") - NEUTRAL
    if stage in DRAWS_WITH_NUMPY:
        may_matter.add("numpy")
    if stage in ONLY_READS_SHARDS:
        may_matter.discard("zstandard")
    assert set(import_module(f"preprocess.{stage}").STAGE.libraries) == may_matter
