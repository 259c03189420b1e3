"""Fixtures every test may use."""

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent

# How fast an example is depends on the machine and on what else it does.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


if "TOKENIZERS_OF_TESTS" not in os.environ:  # of text_helpers.py; the processes of the tests inherit it
    os.environ["TOKENIZERS_OF_TESTS"] = tempfile.mkdtemp(prefix="tokenizers-")
    atexit.register(shutil.rmtree, os.environ["TOKENIZERS_OF_TESTS"], ignore_errors=True)

# The files that take longest, from the longest on; several processes then end together.
LONG_FILES = (
    "slurm/test_requeue",
    "slurm/test_two_nodes",
    "slurm/test_corpus_stages",
    "end_to_end/test_kill_training",
    "end_to_end/test_pretraining",
    "end_to_end/test_faults",
    "end_to_end/test_evaluate",
    "end_to_end/test_load",
    "end_to_end/test_recipes_toy",
    "preprocess/tokenizer/test_tokenizer_training",
    "alibert_fairseq/launch/test_launch.py",
    "fairseq_compat/",
    "end_to_end/",
    "parity/",
    "golden/",
    "preprocess/pipeline/",
    "alibert",
)
# The tests of these share only what every process of the tests makes once; each may run in another process.
SEPARATE_TESTS = (
    "end_to_end/test_faults.py",
    "end_to_end/test_pretraining.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--long`: the cases beside those that CI runs."""
    parser.addoption("--long", action="store_true", help="run the long cases too (default: skipped)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip long cases. Long files first: no process begins one when the others have nothing left."""
    for item in items if not config.getoption("--long") else ():
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="a long case (--long)"))

    def place(item: pytest.Item) -> int:
        name = item.path.relative_to(REPOSITORY / "tests").as_posix()
        return next((number for number, start in enumerate(LONG_FILES) if name.startswith(start)), len(LONG_FILES))

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """The tests of a file share what they train, so a file runs in one process, except those of SEPARATE_TESTS."""
    from xdist.scheduler import LoadFileScheduling

    class FilesAndTests(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return nodeid if file.endswith(SEPARATE_TESTS) else file

    return FilesAndTests(config, log)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(autouse=True)
def signal_handlers():
    """A trainer in the process of the tests takes the signals; the next test has the handlers of before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


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
