"""The documentation: every link leads somewhere, every page that code names exists, the site builds without network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)\s]*)?\)")
CODE = ("alibert_common", "fairseq_compat", "preprocess", "alibert_fairseq", "downstream", "recipes", "tests")
ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "recipes").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_to_a_file(page):
    targets = LINK.findall(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_that_code_names_exists(repository):
    """Help texts, comments, settings and tests; a protocol's source is on the card of every model that it trained."""
    named = {
        page: file.name
        for folder in CODE
        for file in (repository / folder).rglob("*")
        if file.suffix in (".py", ".sh", ".bash", ".yaml")
        for page in re.findall(r"docs/[\w/]+\.md", file.read_text(encoding="utf-8"))
    }
    assert len(named) >= 12
    assert {page: file for page, file in named.items() if not (repository / page).is_file()} == {}


def test_every_page_stands_in_the_order_of_the_site(repository):
    order = (repository / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = re.findall(r": ([\w/]+\.md)$", order, re.MULTILINE)
    pages = {page.relative_to(repository / "docs").as_posix() for page in (repository / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(pages)


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(repository, tmp_path):
    pytest.importorskip("material", reason="mkdocs-material is not installed (the extra `docs` or `test`)")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed (the extra `docs` or `test`)")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=repository, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES) / 2
    foreign = re.compile(
        r"<(?:script|img|iframe|link rel=\"(?:stylesheet|preconnect)\")[^>]*(?:src|href)=\"(?:https?:)?//"
    )
    assert [page.name for page in pages if foreign.search(page.read_text(encoding="utf-8"))] == []
