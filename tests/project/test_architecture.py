"""The arrows of docs/architecture.md between the packages, and option names that do not hide one another."""

import ast
import re
import sys
from collections import Counter
from dataclasses import fields
from importlib import import_module
from itertools import combinations
from pathlib import Path

import pytest

PACKAGES = ("alibert_common", "fairseq_compat", "preprocess", "alibert_fairseq", "downstream", "alibert")
FORBIDDEN = {
    "alibert_common": {
        "torch",
        "fairseq",
        "fairseq_cli",
        "fairseq_compat",
        "preprocess",
        "alibert_fairseq",
        "downstream",
    },  # fmt: skip
    "fairseq_compat": {"alibert_common", "preprocess", "alibert_fairseq", "downstream"},
    "preprocess": {"torch", "fairseq", "fairseq_cli", "fairseq_compat", "alibert_fairseq", "downstream"},
    "alibert_fairseq": {"downstream"},
    "downstream": {"fairseq", "fairseq_cli", "fairseq_compat", "alibert_fairseq", "preprocess"},
    "alibert": set(),  # the command and the Python API, above all others
}
FOR_NOBODY = {"recipes", "tests", "alibert"}
# The rooms of a package from the lowest to the highest: a room imports itself and those before it. A room is a folder,
# or a module beside the folders; "*" stands for all modules there that are not named.
ROOMS = {
    "preprocess": (
        "documents",
        "readers",
        "ingestion",
        "cleaning",
        "pseudonymisation",
        "deduplication",
        "mixing",
        "tokenizer",
        "tokenizer_study",
        "databin",
        "anonymity",
        "canaries",
        "pipeline",
        "*",  # the commands
    ),
    "fairseq_compat": ("errors", "module_proxy", "imports", "processes", "checkpoints", "*"),
    "alibert_fairseq": (
        "options",
        "optim",
        "data",
        "layers",
        "models",
        "criterions",
        "callbacks",
        "trainer",
        "tasks",
        "hf",
        "lineage",
        "audit",
        "launch",
        "*",  # __init__.py, which --user-dir loads
    ),
    "alibert_fairseq/hf": ("families", "options", "logit_check", "checkpoint", "published", "*"),
    "alibert_fairseq/hf/families": ("rows", "names", "part", "deberta", "modern", "table"),
    "alibert_common/report": ("document", "templates", "markdown", "html", "plots", "*"),
    "preprocess/readers": (
        "dates",
        "options",
        "read_log",
        "signatures",
        "lines",
        "text",
        "records",
        "markup",
        "content",
        "pdf",
        "conversion",
        "exchange",
        "formats",
        "folders",
        "ids",
        "parts",
        "*",  # the options of commands; __init__.py
    ),
    "preprocess/pseudonymisation": ("spans", "words", "clues", "forms", "persons", "surrogates", "*"),
    "preprocess/tokenizer_study": (
        "candidates",
        "held_out",
        "text_sample",
        "speed",
        "measure",
        "samples",
        "tables",
        "pictures",
        "report",
    ),
    "downstream/report": (
        "answers",
        "read_runs",
        "groups",
        "published",
        "significance",
        "scores",
        "confusion",
        "errors",
        "data_sets",
        "averages",
        "sections",
        "*",  # __init__.py, the command
    ),
    "downstream": (
        "data",
        "metrics",
        "tasks",
        "training",
        "learners",
        "run_config",
        "experiment",
        "tuning",
        "report",
        "masked_words",
        "curves",
        "evaluate",
        "*",  # the commands
    ),
}
MOST_MODULES = 15  # of a folder
MANY_MODULES = {"downstream/data/readers"}  # a module a format


def imported(path: Path) -> set[str]:
    """The top-level packages that a file imports, anywhere in it; of its own package, what it names absolutely."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_every_arrow_is_allowed(package, repository):
    forbidden = FORBIDDEN[package] | (FOR_NOBODY - {package})
    files = sorted((repository / package).rglob("*.py"))
    assert files
    assert {str(path): imported(path) & forbidden for path in files if imported(path) & forbidden} == {}


def imports_inside(path: Path, package: str) -> list[list[str]]:
    """The parts of every module of the package that a file imports, without the package's name."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}, line {node.lineno}: name the package"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [name.removeprefix(f"{package}.").split(".") for name in names if name.startswith(f"{package}.")]
    return found


def imports_upwards(package: Path, rooms: tuple[str, ...], name: str = "") -> list[str]:
    """The imports that lead from a room to a higher one, as "module imports module". name: the full one, with dots."""
    names = rooms if "*" in rooms else (*rooms, "*")

    def level(first: str) -> int:
        return names.index(first if first in names else "*")

    upwards = []
    for path in sorted(package.rglob("*.py")):
        own = path.relative_to(package).with_suffix("").parts
        for other in imports_inside(path, name or package.name):
            if level(other[0]) > level(own[0]):
                upwards.append(f"{'.'.join(own)} imports {'.'.join(other)}")
    return upwards


@pytest.mark.parametrize("package", ROOMS)
def test_no_import_leads_to_a_higher_room(package, repository):
    rooms = {path.name for path in (repository / package).iterdir() if (path / "__init__.py").is_file()}
    assert rooms <= set(ROOMS[package])
    assert imports_upwards(repository / package, ROOMS[package], package.replace("/", ".")) == []


def test_an_import_upwards_is_found(tmp_path):
    package = tmp_path / "house"
    for name, text in {
        "cellar/wine.py": "from house.roof import tile\n",
        "roof/tile.py": "import house.cellar\n",
    }.items():
        (package / name).parent.mkdir(parents=True)
        (package / name).write_text(text)
    (package / "door.py").write_text("import house.roof.tile\n")
    assert imports_upwards(package, ("cellar", "roof", "*")) == ["cellar.wine imports roof.tile"]
    assert imports_upwards(package, ("door", "cellar", "roof")) == [
        "cellar.wine imports roof.tile",
        "door imports roof.tile",
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_holds_too_many_modules(package, repository):
    counts = {
        folder.relative_to(repository).as_posix(): len(list(folder.glob("*.py"))) - 1  # __init__.py
        for folder in {path.parent for path in (repository / package).rglob("*.py")}
    }
    too_many = {name: count for name, count in counts.items() if count > MOST_MODULES}
    assert too_many.keys() <= MANY_MODULES


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_with_code_is_installed(package, repository):
    """A folder without __init__.py works in a checkout and is missing from a wheel."""
    folders = {path.parent for path in (repository / package).rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_every_library_that_is_imported_is_asked_for(repository):
    """What a package imports by name is in setup.py by name, not there by luck of another's needs."""
    imported_as = {"pyyaml": "yaml", "scikit-learn": "sklearn", "python-crfsuite": "pycrfsuite"}
    needs = next(
        ast.literal_eval(node.value)
        for node in ast.parse((repository / "setup.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "NEEDS"
    )
    asked = {imported_as.get(name, name) for name in (re.split(r"[<>=]", need)[0] for need in needs)}
    with_fairseq = {"fairseq", "fairseq_cli", "omegaconf"}  # the extra `fairseq`
    known = asked | with_fairseq | {"apex"} | set(sys.stdlib_module_names) | set(PACKAGES)
    files = [path for package in PACKAGES for path in (repository / package).rglob("*.py")]
    others = {path.stem: imported(path) - known for path in files if imported(path) - known}
    # the extras of these names, each for its reader alone
    assert others == {
        "parquet": {"pyarrow"},
        "hl7_message": {"hl7"},
        "database": {"sqlalchemy"},
        "tagger": {"edsnlp"},
        "read": {"pypdfium2"},
        "characters": {"pypdfium2"},
    }


def registered_options() -> dict[tuple[str, str], set[str]]:
    """(kind, name) -> option names, of every class this plugin registers, every stock schedule and the common groups.

    Options that follow another group's (`II("optimization.lr")`) are not options of their own.
    """
    import fairseq.models
    import fairseq.registry
    import fairseq.tasks
    from fairseq.dataclass.configs import FairseqConfig

    import alibert_fairseq  # noqa: F401  registers

    kinds = {"task": fairseq.tasks.TASK_DATACLASS_REGISTRY, "model": fairseq.models.MODEL_DATACLASS_REGISTRY}
    kinds |= {kind: registry["dataclass_registry"] for kind, registry in fairseq.registry.REGISTRIES.items()}
    found = {(kind, name): config for kind, registry in kinds.items() for name, config in registry.items()}
    ours = {key: own_options(config) for key, config in found.items() if is_relevant(key[0], config)}
    groups = {(field.name, ""): field.default for field in fields(FairseqConfig) if hasattr(field.default, "_get_type")}
    return ours | {key: own_options(type(group)) for key, group in groups.items()}


def is_relevant(kind: str, config) -> bool:
    return config is not None and (config.__module__.startswith("alibert_fairseq") or kind == "lr_scheduler")


def own_options(config) -> set[str]:
    return {
        field.name
        for field in fields(config)
        if not field.name.startswith("_") and not str(field.default).startswith("${")
    }


def test_no_option_hides_another():
    """fairseq drops the second of two options of one name in silence; only one class of a kind is used in a run."""
    options = registered_options()
    assert {kind for kind, _ in options} >= {"task", "model", "criterion", "optimizer", "lr_scheduler", "common"}
    clashes = {
        (first, second): options[first] & options[second]
        for first, second in combinations(options, 2)
        if first[0] != second[0] and options[first] & options[second]
    }
    assert clashes == {}


def test_no_two_files_of_tests_have_one_name(repository):
    """pytest imports them by their name alone, and ends with the second of a name."""
    names = Counter(path.name for path in (repository / "tests").rglob("*.py") if path.name != "conftest.py")
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_the_version_of_the_changelog(package, repository):
    top = re.search(r"^## (?:Unreleased \()?([\d.]+)(\)?)", (repository / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert import_module(package).__version__ == top[1] + ".dev0" * bool(top[2])
