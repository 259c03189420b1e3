"""The page and the Markdown: well-formed, nothing loaded, nothing of the data taken for markup, the same every time."""

import json
import re
from itertools import pairwise

import pytest
from html_helpers import Page
from report_helpers import output_of, texts, told, without_pictures  # noqa: F401

from downstream.report import main

EVIL = '<script>alert("x")</script> a|b'


@pytest.fixture
def folders(tmp_path, without_pictures):  # noqa: F811
    task, items = texts()
    items = [type(item)(item.id, f"{item.text} {EVIL}", item.labels) for item in items]
    answers = {"<b>mine": [told("ynynynyn")], "other|": [told("yyynynyn")]}
    folders = [output_of(tmp_path / str(number), task, items, one, model=name)
               for number, (name, one) in enumerate(answers.items())]  # fmt: skip
    masked = {"share": 0.5, "low": 0.4, "high": 0.6}
    row = {"words": 10, "top_1": masked, "top_3": masked, "top_5": masked}
    content = {"scores": {"mine": {"theses": row}}, "models": {"mine": {"note": "through its generator"}},
               "measure": "Whole words.", "seed": 1, "candidates": {"number": 1000}}  # fmt: skip
    (tmp_path / "masked").mkdir()
    (tmp_path / "masked" / "masked_words.json").write_text(json.dumps(content), encoding="utf-8")
    return [*folders, tmp_path / "masked"]


@pytest.fixture
def written(folders, tmp_path, capsys):
    main([*map(str, folders), "--output", str(tmp_path / "report")])
    return {name: (tmp_path / "report" / name).read_text(encoding="utf-8") for name in ("report.html", "report.md")}


def test_the_page_is_well_formed_and_loads_nothing(written):
    page = Page(written["report.html"])
    tags = [tag for tag, _ in page.tags]
    assert all(one.startswith(("#s-", "data:image/png;base64,")) for one in page.loads) and len(page.loads) > 5
    assert not {"script", "link", "iframe", "b"} & set(tags)
    style = written["report.html"].split("</style>")[0]
    assert "url(" not in style and "@import" not in style and "default-src 'none'" in style
    anchors = {one["id"] for _, one in page.tags if "id" in one}
    assert {one[1:] for one in page.loads if one.startswith("#")} <= anchors


def test_tables_have_captions_and_headers_and_the_picture_words(written):
    page = Page(written["report.html"])
    tags = [tag for tag, _ in page.tags]
    assert tags.count("caption") == tags.count("table") > 5
    headers = [attributes.get("scope") for tag, attributes in page.tags if tag == "th"]
    assert set(headers) == {"col", "row"}
    assert ("html", {"lang": "en"}) in page.tags
    (alt,) = [attributes["alt"] for tag, attributes in page.tags if tag == "img"]
    assert "tiny, <b>mine: 1.000 [1.000, 1.000]; tiny, other|: 0.875" in alt


def test_what_stands_in_the_data_is_text(written):
    assert "<script" not in written["report.html"] and "&lt;script&gt;alert" in written["report.html"]
    assert "<script" not in written["report.md"] and "&lt;script&gt;" in written["report.md"]
    borders = [len(re.findall(r"(?<!\\)\|", line)) for line in written["report.md"].splitlines()]
    assert all(one == other for one, other in pairwise(borders) if one and other)  # a table's lines have as many


def test_everything_has_its_section(written):
    for title in (
        "Summary",
        "Tasks",
        "Differences",
        "Confusions",
        "Errors",
        "Data sets",
        "Masked words",
        "Contamination",
    ):
        assert f">{title}</h" in written["report.html"] and f"# {title}\n" in written["report.md"]
    assert "mine (through its generator) | theses | 0.500 [0.400, 0.600]" in written["report.md"]
    assert "| AliBERT | 0.72 | 0.83 | 0.87 |" in written["report.md"]


def test_the_same_files_make_the_same_page(written, folders, tmp_path):
    main([*map(str, folders), "--output", str(tmp_path / "again")])
    for name, text in written.items():
        assert (tmp_path / "again" / name).read_text(encoding="utf-8") == text
