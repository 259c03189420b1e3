"""A tokenizer and a data-bin made from the shipped sample, once for all end-to-end tests."""

import sys
from pathlib import Path

import pytest
from commands import run


@pytest.fixture(scope="session")
def tokenizer_directory(tmp_path_factory, repository) -> Path:
    """A Unigram tokenizer of 600 pieces."""
    place = tmp_path_factory.mktemp("tokenizer")
    corpus = repository / "recipes" / "sample" / "brat"
    run(sys.executable, "-m", "preprocess.ingest", corpus, "--output", "all", cwd=place)
    run(sys.executable, "-m", "preprocess.mix", "all", "--output", "mixed", "--valid", "0.1", cwd=place)
    run(
        sys.executable, "-m", "preprocess.train_tokenizer", "mixed", "--output", "tokenizer",
        "--vocab-size", "600", cwd=place,
    )  # fmt: skip
    return place / "tokenizer"


@pytest.fixture(scope="session")
def data_bin(tokenizer_directory) -> Path:
    """The sample's data-bin."""
    mixed = tokenizer_directory.parent / "mixed"
    run(
        sys.executable, "-m", "preprocess.binarize", "--tokenizer", tokenizer_directory, "--mix", mixed,
        "--output", "data-bin", "--workers", "1", cwd=tokenizer_directory.parent,
    )  # fmt: skip
    return tokenizer_directory.parent / "data-bin"
