"""Pages, leaflets of medicines and the tables of the French drug database."""

import random
import re
import shutil

import pytest
from reader_helpers import FIXTURES, read

from alibert_common.errors import InputError


def page(path, body, written_in="utf-8", **settings):
    path.write_bytes(body if isinstance(body, bytes) else body.encode(written_in))
    return read(path, **settings)


def test_a_page_is_its_main_text_a_line_for_each_block():
    (document,) = read(FIXTURES / "page.html").documents
    assert document.lines == [
        "La grippe",
        "La grippe est une infection virale\xa0; elle dure",
        "une semaine.",
        "Fièvre > 38,5\xa0°C.",
        "Repos",
        "Eau : 1,5\xa0L/j",
        "Âge | Dose",
        "Adulte | 500\xa0mg",
        "rien",
        "ligne 1",
        "ligne 2",
    ]
    assert (document.id, document.date) == ("page", "2023-02-14")
    assert document.metadata == {"title": "La grippe - Site fictif", "language": "fr"}


def test_paths_choose_other_parts_of_a_page(tmp_path):
    body = '<div class="a"><h2>Titre</h2>un<p>deux</div><p id="doi">10.1/2</p><time datetime="2020-05-01">mai</time>'
    got = page(
        tmp_path / "a.htm", body, text="//div[@class='a']", id="//p[@id='doi']", date="//time/@datetime",
        metadata={"title2": "//h2"},
    )  # fmt: skip
    (document,) = got.documents
    assert (document.id, document.date, document.lines) == ("10.1/2", "2020-05-01", ["Titre", "un", "deux"])
    assert document.metadata == {"title2": "Titre"}


@pytest.mark.parametrize(
    "body, lines",
    [
        ("<p>un</p></body></html><p>deux</p>", ["un", "deux"]),
        ("un<p>deux<div>trois", ["un", "deux", "trois"]),
        ("<table><tr><td><h2>Titre</h2><p>a<p>b</td><td>c</td></tr></table>", ["Titre", "a", "b", "c"]),
        ("<table><tr><td>x<table><tr><td>a<td>b</table></table>", ["x", "a | b"]),
        (
            "<p>10<sup>9</sup>/L, m<sup>2</sup>, CO<sub>2</sub>, Ca<sup>2+</sup>, 1<sup>er</sup></p>",
            ["10⁹/L, m², CO₂, Ca²⁺, 1er"],
        ),
        ("<p>a<!-- non -->b<script>if (a < b) {}</script>c</p>", ["abc"]),
        ("<noscript>x</noscript><button>Envoyer</button><p>a</p>", ["a"]),
        ("&lt;p&gt; &amp; &#233; &eacute; &hellip;", ["<p> & é é …"]),
        ("<p>   </p><!-- rien -->", []),
        ("", []),
    ],
)
def test_broken_and_odd_pages(tmp_path, body, lines):
    got = page(tmp_path / "a.html", body)
    assert (got.lines[0] if got.lines else []) == lines


def test_no_word_of_a_broken_page_is_lost(tmp_path):
    """200 pages of tags in any order: every word that stands outside of a tag is in the lines."""
    draw = random.Random(7)
    tags = "p div span b ul li table tr td th h1 section br body html blockquote form pre em dl dt dd main".split()
    for number in range(200):
        parts = [draw.choice(["<{}>", "</{}>"]).format(draw.choice(tags)) for _ in range(40)]
        words = [f"mot{n}" for n in range(20)]
        for place, word in enumerate(words):
            parts.insert(2 * place, f" {word} ")
        body = "".join(parts)
        if len(re.findall("<main>", body)) == 1:
            body = body.replace("<main>", "")
        got = page(tmp_path / "a.html", body)
        assert sorted(re.findall(r"mot\d+", " ".join(got.lines[0]))) == sorted(words), (number, body)


@pytest.mark.parametrize(
    "body, encoding",
    [
        ("<p>l’œdème</p>", "utf-8"),
        ("<p>l’œdème</p>", "cp1252"),
        ("<meta charset=iso-8859-1><p>l’œdème</p>", "cp1252"),
        ('<META http-equiv="Content-Type" content="text/html; charset=ISO-8859-15"><p>l’œdème</p>', "utf-8-sig"),
        ('<?xml version="1.0" encoding="windows-1252"?><p>l’œdème</p>', "cp1252"),
        ("<meta charset=utf-16><p>l’œdème</p>", "utf-8"),
        ("<meta charset=klingon><p>l’œdème</p>", "cp1252"),
        ("<meta charset=undefined><p>l’œdème</p>", "utf-8"),
        ("<meta charset=hex><p>l’œdème</p>", "utf-8"),
        ("<meta charset=punycode><p>l’œdème</p>", "utf-8"),
        ("<p>l’œdème</p>", "utf-16"),
    ],
)
def test_a_page_is_decoded_as_it_says(tmp_path, body, encoding):
    assert page(tmp_path / "a.html", body, encoding).lines == [["l’œdème"]]


def test_a_row_of_a_table_has_no_script(tmp_path):
    body = "<table><tr><script>var x=1;</script><td>a</td><style>td {}</style><td>b</td></tr></table>"
    assert page(tmp_path / "a.html", body).lines == [["a | b"]]


def test_the_option_counts_more_than_what_the_page_says(tmp_path):
    assert page(tmp_path / "a.html", b"<meta charset=utf-8>\xe9", encoding="windows-1252").lines == [["é"]]


@pytest.mark.parametrize(
    "body, reason",
    [
        (b"<meta charset=utf-8><p>\xe9</p>", "not UTF-8 (byte 24 is 0xe9)"),
        (b"<meta charset=shift_jis><p>\x81</p>", "not shift_jis (byte 28 is 0x81)"),
        ("<div>" * 5000 + "perdu", "HTML that the parser gives up (Excessive depth"),
    ],
)
def test_a_page_that_cannot_be_read_is_refused(tmp_path, body, reason):
    with pytest.raises(InputError, match=rf"a.html, the page: {re.escape(reason)}"):
        page(tmp_path / "a.html", body)
    got = page(tmp_path / "a.html", body, on_error="skip")
    assert not got.documents and len(got.skipped) == 1


def test_nul_characters_at_which_a_parser_might_stop_are_removed_and_counted(tmp_path):
    got = page(tmp_path / "a.html", b"<p>a\0b</p>\0<p>c</p>")
    assert got.lines == [["ab", "c"]] and got.notes == {"NUL characters removed from HTML": 2}


def test_a_page_of_the_drug_database_is_a_leaflet_and_an_rcp():
    leaflet, rcp = read(FIXTURES / "extrait-60000001.html", format="leaflet").documents
    assert (leaflet.id, leaflet.date, rcp.id, rcp.date) == (
        "60000001-notice",
        "2023-01-03",
        "60000001-rcp",
        "2023-02-14",
    )
    assert leaflet.metadata == {"kind": "notice", "cis": "60000001", "drug": "FICTOL 500 mg, comprimé"}
    assert leaflet.lines == [
        "Dénomination du médicament", "FICTOL 500 mg, comprimé", "Veuillez lire attentivement cette notice.",
    ]  # fmt: skip
    assert rcp.lines == [
        "1. DENOMINATION DU MEDICAMENT", "FICTOL 500 mg, comprimé", "4.1. Indications thérapeutiques",
        "Fièvre de l’adulte.", "· Douleur.", "Âge | Dose par jour",
    ]  # fmt: skip


def test_a_file_of_ansm_is_one_document_whose_kind_its_anchors_tell():
    (document,) = read(FIXTURES / "N0000001.htm", format="leaflet").documents
    assert document.lines == ["NOTICE", "Dénomination du médicament", "FICTINE 1 mg, gélule", "L’œdème n’est pas rare."]
    assert (document.id, document.date) == ("N0000001-notice", "2022-07-16")
    assert document.metadata == {"kind": "notice", "drug": "FICTINE 1 mg, gélule"}


@pytest.mark.parametrize(
    "name, links, id",
    [
        ("a.html", '<a href="affichageDoc.php?specid=61234567&amp;typedoc=R">RCP</a>', "61234567-rcp"),
        (
            "a.html",
            '<a href="/medicament/61234567/extrait">x</a><a href="/medicament/61234567/x">y</a>',
            "61234567-rcp",
        ),
        ("a.html", '<a href="/medicament/61234567/x">x</a><a href="/medicament/68888888/x">y</a>', "a-rcp"),
        ("60000002_R.html", '<a href="/medicament/61234567/x">x</a>', "60000002-rcp"),
        ("R0000001.htm", "", "R0000001-rcp"),
    ],
)
def test_the_code_of_a_drug_is_in_the_name_of_the_file_or_in_links(tmp_path, name, links, id):
    body = f'{links}<p class="AmmAnnexeTitre1"><a name="RcpDenomination">1. DENOMINATION</a></p>'
    assert page(tmp_path / name, body, format="leaflet").ids == [id]


def test_a_row_without_a_substance_leaves_those_of_other_rows(tmp_path):
    shutil.copytree(FIXTURES / "bdpm", tmp_path / "bdpm")
    table = tmp_path / "bdpm" / "CIS_COMPO_bdpm.txt"
    first = table.read_bytes().splitlines(keepends=True)[0].split(b"\t")
    first[3] = b""
    table.write_bytes(table.read_bytes() + b"\t".join(first))
    documents = read(tmp_path / "bdpm").documents
    assert documents[1].metadata["substances"] == ["AUTRE", "FICTOLUM"]


def test_the_tables_of_the_drug_database():
    """Two encodings, HTML and a line break inside of texts, rows without text, metadata from the tables beside."""
    got = read(FIXTURES / "bdpm")
    drug = {
        "drug": "FICTOL 500 mg, comprimé", "form": "comprimé", "routes": "orale", "holder": "LABO FICTIF",
        "substances": ["AUTRE", "FICTOLUM"], "atc": "N02BE01",
    }  # fmt: skip
    assert [(d.id, d.date, d.lines) for d in got.documents] == [
        (
            "60000001-indications-3400912345678", "",
            ["Ce médicament est remboursé dans les cas suivants :", "- asthme."],
        ),
        (
            "60000001-smr-CT-12345", "2023-02-14",
            ["Le service médical rendu par FICTOL est important :", "• chez l’adulte ;", "• chez l'enfant."],
        ),
        ("60000009-smr-CT-12346", "2015-06-01", ["Le service médical rendu est faible", "dans cette indication."]),
        ("60000002-warning", "2023-02-14", ["Rappel de lots de FICTINE"]),
    ]  # fmt: skip
    assert got.documents[1].metadata == drug | {
        "kind": "smr", "cis": "60000001", "has_file": "CT-12345", "reason": "Inscription (CT)", "value": "Important",
    }  # fmt: skip
    assert got.documents[3].metadata["holder"] == "L’ATELIER"
    assert got.counts == {"records without text (bdpm)": 2, "files without a document": 3}
    assert got.notes == {
        "files read as UTF-8": 2,
        "files read as Windows-1252": 4,
        "lines that go on the row above": 1,
        "tables of the drug database without sentences, read for metadata only": 3,
    }
    assert len(got.log.manifest()) == 6


@pytest.mark.parametrize("row, values", [("60000001\tCT-1\tInscription", 3), ("pas une ligne", 1)])
def test_a_row_of_another_table_is_refused(tmp_path, row, values):
    path = tmp_path / "CIS_HAS_ASMR_bdpm.txt"
    path.write_text(f"{row}\n60000001\tCT-1\tx\t20230214\tV\tTexte\tavec tabulation\n")
    with pytest.raises(InputError, match=rf"line 1: another number of values than the table's \({values}\)"):
        read(path)
    assert read(path, on_error="skip").lines == [["Texte\tavec tabulation"]]


def test_a_table_of_another_name_is_none_of_the_database(tmp_path):
    (tmp_path / "autre.txt").write_text("a\tb\n")
    with pytest.raises(InputError, match="no table of the drug database; keep the names of its files"):
        read(tmp_path / "autre.txt", format="bdpm")
