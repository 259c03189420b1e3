"""A tokenizer and a data-bin made from the shipped sample, once for all end-to-end tests in all processes."""

import fcntl
import os
import shutil
import sys
from pathlib import Path

import pytest
from commands import run
from published_models import FAMILIES, untied, write_model


@pytest.fixture(scope="session")
def tokenizer_directory(tmp_path_factory, repository) -> Path:
    """A Unigram tokenizer of 600 pieces."""
    folder = tmp_path_factory.getbasetemp()
    place = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "sample"
    place.mkdir(exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "data-bin").exists():  # the last one, which appears whole
            _make(place, repository)
    return place / "tokenizer"


def _make(place: Path, repository: Path) -> None:
    corpus = repository / "recipes" / "sample" / "brat"
    run(sys.executable, "-m", "preprocess.ingest", corpus, "--output", "all", cwd=place)
    run(sys.executable, "-m", "preprocess.mix", "all", "--output", "mixed", "--valid", "0.1", cwd=place)
    run(
        sys.executable, "-m", "preprocess.train_tokenizer", "mixed", "--output", "tokenizer",
        "--vocab-size", "600", cwd=place,
    )  # fmt: skip
    run(
        sys.executable, "-m", "preprocess.binarize", "--tokenizer", "tokenizer", "--mix", "mixed",
        "--output", "data-bin", "--workers", "1", cwd=place,
    )  # fmt: skip


@pytest.fixture(scope="session")
def data_bin(tokenizer_directory) -> Path:
    """The sample's data-bin."""
    return tokenizer_directory.parent / "data-bin"


@pytest.fixture(scope="session")
def published(tmp_path_factory) -> Path:
    """A folder of every family."""
    place = tmp_path_factory.mktemp("published")
    for family in FAMILIES:
        write_model(place / family, family)
    untied(shutil.copytree(place / "camembert", place / "untied"))
    return place
