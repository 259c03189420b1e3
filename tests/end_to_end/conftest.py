"""What all end-to-end tests share: a data-bin of the shipped sample and published models, made once for all."""

import fcntl
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run
from published_models import FAMILIES, untied, write_model


def made_once(tmp_path_factory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that one process of the tests makes. The others wait for it. Nothing may write into it later."""
    folder = tmp_path_factory.getbasetemp()
    place = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / name
    with open(place.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "whole").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            make(place)
            (place / "whole").touch()
    return place


@pytest.fixture(scope="session")
def tokenizer_directory(tmp_path_factory) -> Path:
    """A Unigram tokenizer of 600 pieces."""
    return made_once(tmp_path_factory, "sample", _make_data_bin) / "tokenizer"


def _make_data_bin(place: Path) -> None:
    corpus = Path(__file__).resolve().parents[2] / "recipes" / "sample" / "brat"
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
    return made_once(tmp_path_factory, "published", _write_models)


def _write_models(place: Path) -> None:
    for family in FAMILIES:
        write_model(place / family, family)
    untied(shutil.copytree(place / "camembert", place / "untied"))


@pytest.fixture(scope="module")
def without_pictures():
    """Fine-tuning in the process of the tests draws nothing."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("draw_scores", "draw_curves"):
            patch.setattr(f"downstream.experiment.results.{name}", lambda *_: None)
        yield
