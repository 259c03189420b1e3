"""The import hook and the repairs, one by one; tests/fairseq_compat/test_fairseq_compat_runs.py trains with them."""

import argparse
import copy
import dataclasses
import importlib
import pickle
import pkgutil
import subprocess
import sys
import zipfile
from types import ModuleType

import numpy as np
import pytest
import torch
from damaged_files import Stranger
from fairseq import utils as fairseq_utils
from omegaconf import OmegaConf
from wheel_helpers import build, copy_project

from fairseq_compat import repairs
from fairseq_compat.__main__ import lines
from fairseq_compat.checkpoints import loading
from fairseq_compat.errors import Refusal
from fairseq_compat.imports import dataclass_defaults, removed_names


def fresh(code: str) -> str:
    """What a new Python prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, text=True, capture_output=True).stdout.strip()


# The hook.


def test_a_python_without_fairseq_loads_nothing_of_ours():
    """The price of the hook is its own line: no module of ours, no file read but the .pth."""
    code = """
import sys
import json, dataclasses, importlib.metadata
print([name for name in sys.modules if name.startswith(("fairseq", "hydra"))])
print([getattr(finder, "__name__", "") for finder in sys.meta_path].count("WaitingFinder"))
"""
    assert fresh(code).splitlines() == ["[]", "1"]


def started_with(hook) -> str:
    """Code that runs this hook in the place of the installed one, as the start of Python does."""
    return f"""
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "WaitingFinder"]
before = set(sys.modules)
exec(open({str(hook)!r}).read(), {{"__name__": "fairseq_compat.import_hook"}})
"""


@pytest.fixture
def hook(repository):
    return repository / "fairseq_compat" / "import_hook.py"


def test_the_hook_itself_loads_nothing(hook):
    code = "print(set(sys.modules) - before, sys.meta_path[0].__name__)"
    assert fresh(started_with(hook) + code) == "set() WaitingFinder"


def test_importing_fairseq_leaves_other_packages_as_they_were():
    code = """
import dataclasses, pkgutil, typing, numpy, torch
before = dataclasses._get_field, pkgutil.walk_packages, torch.load, "typing.io" in __import__("sys").modules
safe = set(torch.serialization.get_safe_globals())
import fairseq.checkpoint_utils, fairseq.options, hydra.core.plugins
after = dataclasses._get_field, pkgutil.walk_packages, torch.load, "typing.io" in __import__("sys").modules
assert set(torch.serialization.get_safe_globals()) == safe
print(before[:3] == after[:3], hasattr(numpy, "compat"), type(fairseq.checkpoint_utils.__loader__).__name__)
"""
    assert fresh(code) == "True False SourceFileLoader"


def test_the_hook_stays_before_a_finder_that_claims_hydra(hook):
    """pytest puts such a finder first, looks for distributions, then imports hydra's test plugin."""
    code = """
from importlib.machinery import PathFinder
class Greedy:
    find_spec = staticmethod(lambda name, path=None, target=None: PathFinder.find_spec(name, path))
sys.meta_path.insert(0, Greedy)
import importlib.metadata
list(importlib.metadata.distributions(name="hydra-core"))
import hydra.conf
print(sys.meta_path.index(Greedy))
"""
    assert fresh(started_with(hook) + code) == "1"


OTHER_TORCH = "def _load_lib(lib):\n    raise OSError('Could not load this library')\n"
OTHER_CUDA = """
def _load_lib(lib):
    return True

def _check_cuda_version():
    raise RuntimeError("compiled with different CUDA versions")
"""


@pytest.mark.parametrize("utils", [OTHER_TORCH, OTHER_CUDA], ids=["torch", "CUDA"])
def test_a_torchaudio_of_another_torch_is_imported_without_its_library(utils, hook, tmp_path):
    """As the newest one beside a newer torch: `import transformers` imports it, and failed with it."""
    extension = tmp_path / "torchaudio" / "_extension"
    extension.mkdir(parents=True)
    (tmp_path / "torchaudio" / "__init__.py").write_text("from torchaudio._extension import LOADED\n")
    (extension / "__init__.py").write_text(
        "from .utils import _load_lib\nLOADED = _load_lib('_torchaudio')\n"
        "if LOADED:\n    from .utils import _check_cuda_version\n    _check_cuda_version()\n"
    )
    (extension / "utils.py").write_text(utils)
    (tmp_path / "torchaudio-9.0.dist-info").mkdir()
    (tmp_path / "torchaudio-9.0.dist-info" / "METADATA").write_text("Name: torchaudio\nVersion: 9.0\n")
    code = f"sys.path.insert(0, {str(tmp_path)!r})\nimport torchaudio\nprint(torchaudio.LOADED)"
    assert fresh(started_with(hook) + code) == "False"


def test_the_hook_is_started_once_without_a_pth_file(repository):
    """`alibert train` starts it, so that the .pth file can be removed."""
    code = """
import sys
sys.meta_path = [one for one in sys.meta_path if not getattr(one, "__module__", "").startswith("fairseq_compat")]
import fairseq_compat
fairseq_compat.activate()
fairseq_compat.activate()
import fairseq.options
fairseq_compat.activate()
print([getattr(one, "__module__", "") for one in sys.meta_path].count("fairseq_compat.repair_finder"))
"""
    assert fresh(code) == "1"


@pytest.mark.parametrize("kind", ["build_wheel", "build_editable"])
def test_both_kinds_of_install_carry_the_hook(kind, repository, tmp_path):
    """Built from a copy, with the setuptools that is here."""
    pytest.importorskip("setuptools", minversion="70.1", reason="building needs setuptools >= 70.1")
    copy_project(repository, tmp_path)
    with zipfile.ZipFile(build(kind, tmp_path)) as archive:
        names = archive.namelist()
        record = archive.read(next(name for name in names if name.endswith("RECORD"))).decode()
        (tmp_path / "hook.pth").write_bytes(archive.read("fairseq_compat.pth"))
    assert "fairseq_compat.pth,sha256=" in record
    assert [
        name for name in names if "/" not in name and name.endswith(".py")
    ] == []  # no finder: setuptools' own hook is slow to start
    code = (
        f"import sys; del sys.meta_path[0]; exec(open({str(tmp_path / 'hook.pth')!r}).read()); print(sys.meta_path[0])"
    )
    assert fresh(code) == "<class 'fairseq_compat.import_hook.WaitingFinder'>"


# The repairs.


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 accepts such defaults")
def test_only_classes_of_fairseq_and_hydra_may_be_defaults():
    def outer(owner: str, owner_of_default: str):
        inner = dataclasses.dataclass(type("Inner", (), {"__module__": owner_of_default, "__annotations__": {}}))
        names = {"__module__": owner, "__annotations__": {"inner": inner}, "inner": dataclasses.field(default=inner())}
        return dataclasses.dataclass(type("Outer", (), names))

    with dataclass_defaults.hashable_while_imported(None):
        assert outer("fairseq.here", "fairseq.there").__dataclass_fields__["inner"]
        for owners in (("fairseq.here", "elsewhere"), ("elsewhere", "fairseq.there"), ("elsewhere", "elsewhere")):
            with pytest.raises(ValueError, match="mutable default"):
                outer(*owners)
    with pytest.raises(ValueError, match="mutable default"):
        outer("fairseq.here", "fairseq.there")


def test_hydra_finds_modules_with_finders_of_today():
    module = ModuleType("like_hydra_core_plugins")
    module.pkgutil = pkgutil
    with removed_names.finders_with_find_module(module):
        assert module.pkgutil is pkgutil
    package = importlib.import_module("json")
    loaders = {
        name: finder.find_module(name) for finder, name, _ in module.pkgutil.walk_packages(package.__path__, "json.")
    }
    assert loaders["json.tool"].load_module("json.tool").main  # one that nothing else has loaded
    assert module.pkgutil.iter_modules is pkgutil.iter_modules


def test_antlr_finds_typing_io(monkeypatch):
    monkeypatch.delitem(sys.modules, removed_names.TYPING_IO, raising=False)
    with removed_names.typing_io_while_imported(None):
        with removed_names.typing_io_while_imported(None):  # imports nest
            pass
        assert importlib.import_module(removed_names.TYPING_IO).TextIO
    assert removed_names.TYPING_IO not in sys.modules


def test_numpy_names_are_back_for_fairseq_only():
    from fairseq.data import TokenBlockDataset, data_utils

    blocks = TokenBlockDataset([torch.tensor([4, 5, 2])], np.array([3]), block_size=8, pad=1, eos=2, break_mode="eos")
    assert blocks[0].tolist() == [4, 5, 2]
    assert data_utils.np.int is int and not hasattr(np, "int")


def load_checkpoint(path):
    from fairseq import checkpoint_utils

    return checkpoint_utils.load_checkpoint_to_cpu(str(path))


def test_what_fairseq_saves_is_loaded(tmp_path):
    """The options of a model without a dataclass are a Namespace; a real checkpoint is loaded in the runs."""
    torch.save({"cfg": {"model": argparse.Namespace(arch="x")}, "model": {"weight": torch.ones(2)}}, tmp_path / "c.pt")
    before = set(torch.serialization.get_safe_globals())
    with open(tmp_path / "c.pt", "rb") as file:
        assert loading.load(file, map_location="cpu")["cfg"]["model"].arch == "x"
    assert set(torch.serialization.get_safe_globals()) == before


@pytest.mark.parametrize("save", [torch.save, lambda thing, path: path.write_bytes(pickle.dumps(thing, protocol=2))])
def test_a_foreign_pickle_is_refused_and_not_run(save, tmp_path):
    path, trace = tmp_path / "checkpoint.pt", tmp_path / "was_here"
    save({"model": {"weight": Stranger(trace)}}, path)
    with pytest.raises(Refusal) as refusal:
        load_checkpoint(path)
    assert str(path) in str(refusal.value) and "open" in str(refusal.value) and "\n" not in str(refusal.value)
    assert not trace.exists()


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "checkpoint.pt"
    torch.save({"model": {"weight": torch.ones(1000)}}, path)
    whole = path.read_bytes()
    for damaged in (whole[:2000], b"", b"not a checkpoint"):
        path.write_bytes(damaged)
        with pytest.raises(Refusal, match="not a whole checkpoint") as refusal:
            load_checkpoint(path)
        assert "\n" not in str(refusal.value)


def test_a_refusal_leaves_the_allow_list_as_it_was(tmp_path):
    before = set(torch.serialization.get_safe_globals())
    (tmp_path / "empty.pt").touch()
    with pytest.raises(Refusal), open(tmp_path / "empty.pt", "rb") as file:
        loading.load(file)
    assert set(torch.serialization.get_safe_globals()) == before


def test_what_another_rank_sent_is_opened():
    """The message of `broadcast_object`: a configuration and place holders for tensors."""
    import io

    from fairseq.dataclass.configs import CommonConfig
    from fairseq.distributed import utils

    buffer = io.BytesIO()
    torch.save({"cfg": CommonConfig(seed=5), "tensor": utils._TensorPlaceholder(0)}, buffer)
    buffer.seek(0)
    assert utils.torch.load(buffer, map_location="cpu")["cfg"].seed == 5
    buffer.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        torch.load(buffer, weights_only=True)


THIRD_PARTY = """
from dataclasses import dataclass, field
from fairseq.dataclass import FairseqDataclass

@dataclass
class Inner(FairseqDataclass):
    size: int = 3

@dataclass
class Outer(FairseqDataclass):
    inner: Inner = field(default=Inner())

print(Outer().inner.size)
"""


@pytest.fixture
def import_user_dir(tmp_path, monkeypatch):
    """Import a --user-dir as fairseq does, from another working directory. In the end the import is undone."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "path", [*sys.path])
    modules, owners = set(sys.modules), set(dataclass_defaults.OWNERS)
    yield lambda user_dir: fairseq_utils.import_user_module(argparse.Namespace(user_dir=str(user_dir)))
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] in ("third_party", "installed_plugin"):
            del sys.modules[name]
    dataclass_defaults.OWNERS.intersection_update(owners)


def test_a_plugin_of_a_third_party_may_have_configurations_as_defaults(import_user_dir, tmp_path, capsys):
    """fairseq's own style, in the package and in the tasks and models that fairseq imports after it."""
    for folder in ("third_party", "third_party/tasks", "third_party/models"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(THIRD_PARTY)
    (tmp_path / "third_party" / "tasks" / "own.py").write_text(THIRD_PARTY)
    import_user_dir(tmp_path / "third_party")
    assert capsys.readouterr().out.split() == ["3"] * 3


def test_a_plugin_is_found_by_the_name_of_its_installed_package(import_user_dir, tmp_path, capsys):
    (tmp_path / "site" / "installed_plugin").mkdir(parents=True)
    (tmp_path / "site" / "installed_plugin" / "__init__.py").write_text("print(__file__)")
    sys.path.append(str(tmp_path / "site"))
    import_user_dir("installed_plugin")
    assert capsys.readouterr().out.strip() == str(tmp_path / "site" / "installed_plugin" / "__init__.py")
    with pytest.raises(Refusal, match="--user-dir no_such_plugin: no such folder or installed package; give"):
        import_user_dir("no_such_plugin")


def test_a_copy_of_a_part_of_a_configuration_keeps_its_parent():
    """It is another object, its parts have it as their parent, and a copy of the whole is whole."""
    whole = OmegaConf.create({"a": {"b": [1, {"c": "${d}"}]}, "d": 2})
    part = copy.deepcopy(whole.a)
    part.b[0] = 3
    assert (whole.a.b[0], part.b[0], part.b[1].c) == (1, 3, 2)
    assert part._get_parent() is whole and part.b._get_parent() is part and part.b[1]._get_parent() is part.b
    node = copy.deepcopy(whole._get_node("d"))
    assert node._get_parent() is whole and node._value() == 2
    both = copy.deepcopy([whole.a, whole])
    assert both[1] is not whole and both[1].a.b == whole.a.b and both[1].a._get_parent() is both[1]
    both[1].d = 4
    assert (both[1].a.b[1].c, whole.a.b[1].c) == (4, 2)


def test_no_name_of_fairseq_is_replaced_twice():
    pairs = [(module, name) for repair in repairs.REPAIRS for module in repair.modules for name in repair.replaces]
    assert len(pairs) == len(set(pairs))


def test_the_table_has_the_names_that_the_repairs_replace():
    code = """
import importlib
from contextlib import suppress
from fairseq_compat.repairs import REPAIRS

def names(module):
    found = dict(vars(module))
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__.partition(".")[0] == module.__name__.partition(".")[0]:
            found |= {f"{name}.{key}": each for key, each in vars(value).items()}
    return found

for repair in REPAIRS:
    if repair.state() != "repaired" or not repair.replaces or repair.modules == ("fairseq_cli.*",):
        continue
    for name in repair.modules:
        module = importlib.import_module(name)
        before = names(module)
        with repair.around(module):
            pass
        after = names(module)
        replaced = {key for key in after if after[key] is not before.get(key)}
        assert replaced == set(repair.replaces), (name, replaced)
print("equal")
"""
    assert fresh(code) == "equal"


# The report.


def test_the_report_names_every_repair_and_limit():
    report = lines()
    assert "found: the import hook is active" in report
    assert all("\n" not in line for line in report)
    assert len([line for line in report if line.startswith(("repaired: ", "not needed: ", "not installed: "))]) == len(
        repairs.REPAIRS
    )
    assert len([line for line in report if line.startswith("cannot repair: ")]) == len(repairs.LIMITS)


def test_the_report_says_when_a_release_is_not_the_one_repaired(monkeypatch):
    monkeypatch.setattr(repairs, "installed", lambda name: {"fairseq": "0.13.0"}.get(name))
    states = {repair.state() for repair in repairs.REPAIRS if repair.distribution == "fairseq"}
    assert "repaired" not in states and "cannot repair" in states
    assert {repair.state() for repair in repairs.REPAIRS if repair.distribution == "hydra-core"} == {"not installed"}
