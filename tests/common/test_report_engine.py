"""The report engine: one page that needs nothing else, Markdown, a table for a terminal, and the marks of pictures."""

import pytest
from html_helpers import Page

from alibert_common.report import html, markdown
from alibert_common.report.document import Code, Picture, Pieces, Section, Strong, Table
from alibert_common.report.plots import COLOURS, MARKS, mark, plt, png

PLAIN = ["quaero_emea", "[0.510, 0.620]", "a_b", "-"]


@pytest.mark.parametrize("text, wanted", [
    ("_mot_", r"\_mot\_"), ("__mot__", r"\_\_mot\_\_"), ("~~x~~ ~y~", r"\~\~x\~\~ \~y\~"), ("*a*", r"\*a\*"),
    ("[foie|ANAT](gauche)", r"[foie\|ANAT\](gauche)"), ("[a][b]", r"[a\][b]"), ("[a]: b", r"[a\]: b"),
    ("`a` <b>", r"\`a\` &lt;b&gt;"), ("a\\*", r"a\\\*"), ("a_", r"a\_"), ("(_a)", r"(\_a)"),
    *((one, one) for one in PLAIN),
])  # fmt: skip
def test_text_is_not_read_as_markdown_and_plain_words_stay(text, wanted):
    assert markdown.escaped(text) == wanted


@pytest.mark.parametrize("text, wanted", [
    ("# a", r"\# a"), ("- a", r"\- a"), ("1. a", r"1\. a"), ("## a", r"\## a"), ("-1 a", "-1 a"), ("1.5 a", "1.5 a"),
])  # fmt: skip
def test_a_paragraph_is_no_list_and_no_heading(text, wanted):
    assert markdown.render(Section("t", [text])) == f"# t\n\n{wanted}\n"


def test_blocks_as_html_and_as_markdown():
    table = Table("c", ["n", "v"], [["r", Strong("1")]], {"v": "a value"})
    below = Section("b", [Picture(b"p", '"alt"'), Picture(b"p", "alt", "seen", "p.png"), Code(["python -m <x>"])])
    report = Section("a", ["x & y", table, below])
    page = html.render(report)
    assert "<p>x &amp; y</p>" in page and '<th scope="row">r</th><td class="number"><strong>1</strong></td>' in page
    assert 'src="data:image/png;base64,cA==" alt="&#34;alt&#34;"' in page and "<figcaption>seen</figcaption>" in page
    assert "<li><strong>v</strong>: a value</li>" in page and "<pre>python -m &lt;x&gt;</pre>" in page
    assert '<a href="#s-1">b</a>' in page and '<section id="s-1">\n<h2>b</h2>' in page
    assert markdown.render(report) == (
        "# a\n\nx &amp; y\n\n**c**\n\n| n | v |\n|:---|---:|\n| r | **1** |\n\n- v: a value\n\n## b\n\n"
        '(The HTML page has a picture here: "alt")\n\n![alt](p.png)\n\n```\npython -m <x>\n```\n'
    )


def test_all_text_of_a_page_is_escaped():
    evil = "<script>alert('x')</script> & \"|`*"
    table = Table(evil, ["a", evil], [[evil, Pieces([("<b>&lt;", True), (evil, False)])]], {evil: evil}, language="fr")
    page = html.render(Section(evil, [evil, table, Section(evil, [Picture(b"", evil, evil), Code([evil])])]))
    read = Page(page)
    assert "<script" not in page and "<b>&lt; (?)" in read.text and read.text.count(evil) == 13
    assert {one["alt"] for one in read.all("img")} == {evil}
    assert "<b>" not in page


def test_a_page_is_printed_on_a4():
    assert "@page { size: A4;" in html.render(Section("a"))


def test_a_page_loads_nothing():
    page = html.render(Section("a", [Picture(b"p", "alt")]))
    assert "url(" not in page and "@import" not in page and "://" not in page and "default-src 'none'" in page


@pytest.mark.parametrize("cells, kind", [
    (["0.512 ± 0.013", "-"], "number"), (["[0.510, 0.620]"], "number"), (["1.33 (100 %)", ""], "number"),
    (["0.39 GiB"], "number"), (["12", "yes"], "words"), (["-", ""], "words"), ([], "words"), (["a" * 41], "long"),
    (["✓", Pieces([("a", False)])], "pieces"),
])  # fmt: skip
def test_numbers_stand_on_the_right(cells, kind):
    assert Table("c", ["n", "v"], [["1", cell] for cell in cells]).kinds == ["words", kind]


def test_pieces_are_code_whatever_signs_they_hold():
    table = Table("t", ["a", "b"], [["x", Pieces([("`", False), ("a``|", True), ("", True)])]])
    assert r"| x | `` ` `` ``` a``\| ```(?) (?) |" in markdown.render(Section("", [table]))


def test_a_table_for_a_terminal_has_one_line_per_row():
    assert markdown.plain(Table("t", ["a", "bcd"], [["xyz", "1"]])) == "  a  bcd\nxyz    1"


def test_models_differ_in_marks_and_colours():
    marks = [mark(number) for number in range(2 * len(MARKS))]
    shapes = [(one["marker"], one["markerfacecolor"] == "white") for one in marks]
    assert len(set(shapes)) == len(shapes)  # without colour, too
    assert len({one["markerfacecolor"] for one in marks[: len(COLOURS)]}) == len(COLOURS) >= 7


def test_the_same_figure_is_the_same_picture():
    def drawn() -> bytes:
        figure, axes = plt.subplots()
        axes.plot(1, 1, **mark(3))
        return png(figure)

    plt.close("all")  # those of other tests of this process
    assert drawn() == drawn() and drawn().startswith(b"\x89PNG")
    assert not plt.get_fignums()
