"""Fixtures every test may use."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent

# How fast an example is depends on the machine and on what else it does.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture
def double_precision():
    """Models and tensors without a dtype of their own are float64."""
    import torch  # two seconds, which most tests of the text stages do not need

    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real corpora that are not part of the repository; the test is skipped, visibly, where they are absent."""
    path = REPOSITORY.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("real corpora (../shared/data) are not on this machine")
    return path
