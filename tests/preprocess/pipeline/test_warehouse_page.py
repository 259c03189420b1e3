"""The page "From your warehouse to a model" works as written, and the French one has the same commands."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("sqlalchemy")
PAGES = ("docs/tutorials/warehouse.md", "docs/fr/entrepot.md")


def test_the_commands_up_to_the_data_work_as_written(repository, tmp_path):
    english, french = (
        re.findall(r"^```(\w*)\n(.*?)^```", (repository / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        for page in PAGES
    )
    assert english == french and len(english) == 10
    _, example, corpus_file, _, first, look, remove, whole, *_ = [text for _, text in english]
    (tmp_path / "recipes").symlink_to(repository / "recipes")
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse" / "corpus.yaml").write_text(corpus_file, encoding="utf-8")
    script = "set -e\n" + example + first + "ls runs/warehouse/pseudonymised\n"
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script + remove + whole], cwd=tmp_path, env={**os.environ, "PATH": path}, text=True,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "letters.check.html" in done.stdout and "runs/warehouse/pseudonymised/*/*.zst" in look
    assert (tmp_path / "warehouse/hospital.key").exists() and (tmp_path / "runs/warehouse/data-bin/train.bin").exists()
    assert list((tmp_path / "runs/warehouse").glob("pseudonymised/*/*.zst"))
    assert not list((tmp_path / "runs/warehouse").rglob("*.check.html"))  # the second run makes none anew
