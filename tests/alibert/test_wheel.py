"""What an installed wheel holds beside the code: recipes, the sample, types, a package page."""

import os
import subprocess
import sys
import zipfile
from email.parser import BytesParser

import pytest
from wheel_helpers import build, copy_project

from downstream.evaluate import __main__ as command

PACKAGES = ("alibert", "alibert_common", "fairseq_compat", "preprocess", "alibert_fairseq", "downstream")


@pytest.fixture(scope="module")
def installed(repository, tmp_path_factory):
    """The folder of an unpacked wheel, as in site-packages."""
    pytest.importorskip("setuptools", minversion="70.1", reason="building needs setuptools >= 70.1")
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site-packages")
    copy_project(repository, source)
    with zipfile.ZipFile(build("build_wheel", source)) as archive:
        archive.extractall(target)
    return target


def alibert(installed, cwd, *arguments) -> str:
    command = [sys.executable, "-m", "alibert", *arguments]
    environment = os.environ | {"PYTHONPATH": str(installed)}
    return subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def test_the_wheel_holds_every_recipe_and_the_sample(installed, repository, tmp_path):
    def files(folder):
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    assert files(installed / "alibert_recipes") == files(repository / "recipes")
    assert alibert(installed, tmp_path, "recipes") == str(installed / "alibert_recipes")
    assert alibert(installed, tmp_path, "user-dir") == str(installed / "alibert_fairseq")


def test_a_recipe_of_the_wheel_loads_the_plugin_beside_it(installed, tmp_path):
    """The recipes find the plugin two folders above them, in a checkout and in site-packages."""
    (tmp_path / "fairseq-train").write_text('#!/bin/sh\nfor one in "$@"; do echo "$one"; done\n')
    (tmp_path / "fairseq-train").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DATA_BIN": "bin", "SAVE_DIR": "save"}
    recipe = installed / "alibert_recipes" / "pretrain" / "tiny_mlm.sh"
    done = subprocess.run(["bash", recipe], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    arguments = done.stdout.splitlines()
    assert arguments[arguments.index("--user-dir") + 1] == str(installed / "alibert_fairseq")


def test_evaluate_reads_the_shipped_recipes(repository):
    """The tests run in a checkout; `test_the_wheel_holds_every_recipe_and_the_sample` has the path of a wheel."""
    assert command.RECIPES == repository / "recipes" / "finetune"
    assert "parents" not in (repository / "downstream" / "evaluate" / "__main__.py").read_text(encoding="utf-8")


def test_the_package_page_and_the_types(installed):
    (information,) = installed.glob("*.dist-info")
    page = BytesParser().parsebytes((information / "METADATA").read_bytes())
    assert page["Version"] == alibert(installed, installed, "--version").removeprefix("alibert ")
    assert page["Description-Content-Type"] == "text/markdown" and len(page.get_payload()) > 2000
    assert page["License"] or page["License-Expression"]
    assert len(page.get_all("Classifier")) > 8
    assert all((installed / package / "py.typed").is_file() for package in PACKAGES)
    assert "alibert = alibert.cli:main" in (information / "entry_points.txt").read_text()
