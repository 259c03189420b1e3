"""The page and the Markdown: well-formed, nothing loaded, nothing of the data taken for markup, the same every time."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from report_helpers import output_of, texts, told, without_pictures  # noqa: F401

from alibert_common.report import html, markdown
from alibert_common.report.document import Picture, Section, Strong, Table, Text
from downstream.report import main

VOID = {"meta", "img"}
PLAIN = ["quaero_emea", "[0.510, 0.620]", "a_b", "-"]
EVIL = '<script>alert("x")</script> a|b'


class Balanced(HTMLParser):
    """Every tag is closed, in order; keeps what may load something, and tags with their attributes."""

    def __init__(self, page: str):
        super().__init__()
        self.open, self.seen, self.loads = [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


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
    page = Balanced(written["report.html"])
    tags = [tag for tag, _ in page.seen]
    assert all(one.startswith(("#s-", "data:image/png;base64,")) for one in page.loads) and len(page.loads) > 5
    assert not {"script", "link", "iframe", "b"} & set(tags)
    style = written["report.html"].split("</style>")[0]
    assert "url(" not in style and "@import" not in style and "default-src 'none'" in style
    anchors = {attributes["id"] for _, attributes in page.seen if "id" in attributes}
    assert {one[1:] for one in page.loads if one.startswith("#")} <= anchors


def test_tables_have_captions_and_headers_and_the_picture_words(written):
    page = Balanced(written["report.html"])
    tags = [tag for tag, _ in page.seen]
    assert tags.count("caption") == tags.count("table") > 5
    headers = [attributes.get("scope") for tag, attributes in page.seen if tag == "th"]
    assert set(headers) == {"col", "row"}
    assert ("html", {"lang": "en"}) in page.seen
    (alt,) = [attributes["alt"] for tag, attributes in page.seen if tag == "img"]
    assert "tiny, <b>mine: 1.000 [1.000, 1.000]; tiny, other|: 0.875" in alt


def test_what_stands_in_the_data_is_text(written):
    assert "<script" not in written["report.html"] and "&lt;script&gt;alert" in written["report.html"]
    assert "<script" not in written["report.md"] and "&lt;script&gt;" in written["report.md"]
    borders = [len(re.findall(r"(?<!\\)\|", line)) for line in written["report.md"].splitlines()]
    assert all(one == other for one, other in pairwise(borders) if one and other)  # a table's lines have as many


def test_everything_has_its_section(written):
    for title in ("Summary", "Tasks", "Differences", "Confusions", "Errors", "Data sets", "Masked words", "Leakage"):
        assert f">{title}</h" in written["report.html"] and f"# {title}\n" in written["report.md"]
    assert "mine (through its generator) | theses | 0.500 [0.400, 0.600]" in written["report.md"]
    assert "| AliBERT | 0.72 | 0.83 | 0.87 |" in written["report.md"]


def test_the_same_files_make_the_same_page(written, folders, tmp_path):
    main([*map(str, folders), "--output", str(tmp_path / "again")])
    for name, text in written.items():
        assert (tmp_path / "again" / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text, wanted", [
    ("_mot_", r"\_mot\_"), ("__mot__", r"\_\_mot\_\_"), ("~~x~~ ~y~", r"\~\~x\~\~ \~y\~"), ("*a*", r"\*a\*"),
    ("[foie|ANAT](gauche)", r"[foie\|ANAT\](gauche)"), ("[a][b]", r"[a\][b]"), ("[a]: b", r"[a\]: b"),
    ("`a` <b>", r"\`a\` &lt;b&gt;"), ("a\\*", r"a\\\*"), ("a_", r"a\_"), ("(_a)", r"(\_a)"),
    *((one, one) for one in PLAIN),
])  # fmt: skip
def test_nothing_is_taken_for_markdown_and_plain_words_stay(text, wanted):
    assert markdown.escaped(text) == wanted


def test_blocks_as_html_and_as_markdown():
    report = Section("a", [Text("x & y"), Table("c", ["n", "v"], [["r", Strong("1")]]), Picture(b"p", '"alt"')])
    page = html.render(report)
    assert "<p>x &amp; y</p>" in page and '<th scope="row">r</th><td><strong>1</strong></td>' in page
    assert 'src="data:image/png;base64,cA==" alt="&quot;alt&quot;"' in page
    assert markdown.render(report) == (
        '# a\n\nx &amp; y\n\n**c**\n\n| n | v |\n|:---|---:|\n| r | **1** |\n\n(In report.html, a picture: "alt")\n'
    )
