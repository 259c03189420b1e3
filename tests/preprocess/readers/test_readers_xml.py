"""XML as a stream of records: JATS articles, PubMed records, theses, any other with paths; nothing unsafe is opened."""

import gzip
import resource
import subprocess
import sys
import time

import pytest
from reader_helpers import FIXTURES, read

from alibert_common.errors import InputError
from preprocess.readers.markup import xml_entities, xml_records
from preprocess.readers.markup.xml_records import is_language


def test_a_jats_article_is_its_title_abstract_and_body():
    """Citations set as exponents, formulas, tables, labels, footnote marks and references are left out."""
    (document,) = read(FIXTURES / "article.nxml").documents
    assert document.lines == [
        "Une fièvre après un voyage",
        "Résumé",
        "Objectif",
        "Décrire une fièvre.",
        "Observation",
        "Un homme de 54 ans consulte pour une fièvre à 39 °C [2]. Leucocytes : 12 × 10⁹/L, CO₂ normal, 1er jour.",
        "Traitement :",
        "repos ;",
        "paracétamol.",
        "Guérison.",
        "Courbe de température",
        "Pic au troisième jour.",
    ]
    assert (document.id, document.date, document.licence) == ("PMC9900001", "2021-03-05", "CC BY-NC 4.0")
    assert document.metadata == {
        "doi": "10.9999/jfm.2021.1", "pmid": "90000001", "journal": "Journal fictif de médecine",
        "subjects": ["Cas clinique"], "keywords": ["fièvre", "voyage"], "mesh_terms": ["Fever"],
        "article_type": "case-report", "language": "fr",
    }  # fmt: skip


def test_of_an_article_in_two_languages_the_parts_in_one_are_kept():
    english = ["A fever after a journey", "We describe a fever.", "A fever", "A man of 54."]
    assert read(FIXTURES / "article.nxml", language="en").lines == [english]
    both = read(FIXTURES / "article.nxml", language="any").lines[0]
    assert set(english) < set(both) and "Objectif" in both
    got = read(FIXTURES / "article.nxml", language="de")
    assert not got.documents and got.counts["records without text (jats)"] == 1


@pytest.mark.parametrize(
    "permissions, licence",
    [
        ('<license xlink:href="http://creativecommons.org/licenses/by/3.0/"/>', "CC BY 3.0"),
        (
            "<license><ali:license_ref>https://creativecommons.org/publicdomain/zero/1.0/</ali:license_ref></license>",
            "CC0 1.0",
        ),
        ("<license><license-p>Tous  droits réservés.</license-p></license>", "Tous droits réservés."),
        ("<copyright-year>2020</copyright-year>", ""),
    ],
)
def test_the_licence_of_an_article_is_read(tmp_path, permissions, licence):
    (tmp_path / "a.nxml").write_text(
        f"<article xmlns:xlink='x' xmlns:ali='y'><front><article-meta><permissions>{permissions}</permissions>"
        f"</article-meta></front><body><p>Texte.</p></body></article>"
    )
    (document,) = read(tmp_path / "a.nxml").documents
    assert (document.licence, document.id, document.lines) == (licence, "a-1", ["Texte."])


def test_pubmed_in_french_is_what_the_record_has_in_french():
    got = read(FIXTURES / "pubmed.xml", format="pubmed")
    (document,) = got.documents
    assert document.lines == ["Cancer du poumon : un cas fictif.", "OBJECTIF: Décrire un cas.", "Le patient va bien."]
    assert (document.id, document.date) == ("90000001", "2023-03-05")
    assert document.metadata == {
        "mesh": ["D008175", "D006801"], "mesh_terms": ["Lung Neoplasms", "Humans"], "keywords": ["Poumon"],
        "types": ["Case Reports"], "journal": "Rev Fict", "language": "fre", "doi": "10.9999/rf.1",
    }  # fmt: skip
    assert got.counts == {"records without text (pubmed)": 1}


def test_pubmed_in_english_and_in_all_languages():
    got = read(FIXTURES / "pubmed.xml", format="pubmed", language="en")
    assert got.lines == [
        ["[Lung cancer: a fictitious case].", "English abstract with IL-²."],
        ["Influenza in summer.", "AIMS: To see.", "RESULTS: Nothing."],
    ]
    assert [(d.date, d.metadata["journal"]) for d in got.documents] == [
        ("2023-03-05", "Rev Fict"), ("2019-11", "Fictitious Journal"),
    ]  # fmt: skip
    assert "Un caso." in read(FIXTURES / "pubmed.xml", format="pubmed", language="any").lines[0]


def test_mesh_terms_get_their_tree_numbers_from_nlms_file(tmp_path):
    got = read(FIXTURES / "pubmed.xml", format="pubmed", mesh_descriptors=str(FIXTURES / "desc.xml"))
    assert got.documents[0].metadata["mesh_tree"] == ["C04.588.894.797.520", "C08.381.540"]
    (tmp_path / "cut.xml").write_text("<DescriptorRecordSet><DescriptorRecord>")
    broken = str(tmp_path / "cut.xml"), "broken XML"
    for name, words in (("absent.xml", "no such file"), ("novel.xml", "no MeSH descriptor"), broken):
        with pytest.raises(InputError, match=words):
            read(FIXTURES / "pubmed.xml", format="pubmed", mesh_descriptors=str(FIXTURES / name), on_error="skip")


def test_a_thesis_in_tef_has_its_french_title_and_abstract():
    (document,) = read(FIXTURES / "theses_tef.xml", format="theses").documents
    assert document.lines == ["Étude fictive du foie", "Le foie est étudié. Il va bien."]
    assert (document.id, document.date) == ("2022FICT0001", "2022-07-03")
    assert document.metadata == {
        "subjects": ["Foie", "Cirrhose"], "rameau": ["Foie -- Maladies"], "dewey": "610",
        "discipline": "Médecine. Hépatologie", "institution": "Université fictive", "language": "fr",
    }  # fmt: skip
    english = ["A fictitious study of the liver", "The liver is studied."]
    assert read(FIXTURES / "theses_tef.xml", format="theses", language="en").lines == [english]


def test_a_thesis_in_dublin_core():
    (document,) = read(FIXTURES / "theses_dc.xml", format="theses").documents
    assert document.lines == ["Étude fictive du rein", "Le rein est étudié."] and document.date == "2021"
    assert document.id == "http://www.theses.fr/2021FICT0009" and document.metadata["subjects"] == ["Rein"]


NOVEL = dict(format="xml", record="TEI", text=["text//head", "text//p"], id="@xml:id", date=".//sourceDesc//date")


def test_any_other_xml_is_read_with_paths_without_prefixes():
    got = read(FIXTURES / "novel.xml", **NOVEL, metadata={"author": ".//titleStmt/author", "absent": "x"})
    (document,) = got.documents
    assert document.lines == ["I", "Il pleuvait sur Nantes.", "Elle dormait."]
    assert (document.id, document.date) == ("FRA99999", "1882")
    assert document.metadata == {"author": "Personne (1850-1900)"}


def test_a_text_in_an_attribute_has_lines_too(tmp_path):
    """E3C's files hold their text in one: UIMA's XMI."""
    (tmp_path / "a.xml").write_text(
        '<xmi:XMI xmlns:xmi="u" xmlns:cas="v"><cas:Sofa sofaString="Motif :&#13;&#10;&#10;fièvre"/></xmi:XMI>'
    )
    assert read(tmp_path / "a.xml", format="xml", record="XMI", text="Sofa/@sofaString").lines == [
        ["Motif :", "fièvre"]
    ]


def test_attributes_lose_their_prefix_too_and_records_without_an_id_are_numbered(tmp_path):
    (tmp_path / "a.xml").write_text(
        '<x xmlns:a="u"><a:r a:n="7"><t>un</t><t>deux</t></a:r><a:r><t>trois</t></a:r></x>', encoding="utf-8"
    )
    got = read(tmp_path / "a.xml", format="xml", record="r", text="t", id="@n", metadata={"count": "count(t)"})
    assert got.lines == [["un", "deux"], ["trois"]] and got.ids == ["7", "a-2"]
    assert [d.metadata for d in got.documents] == [{"count": "2.0"}, {"count": "1.0"}]


@pytest.mark.parametrize(
    "settings, words",
    [
        (dict(format="xml"), "--record-path and --text-path"),
        (dict(format="xml", record="TEI", text="p["), r"path 'p\[': Invalid expression"),
        (dict(), "no reader for '.xml' files"),
    ],
)
def test_xml_without_paths_or_with_a_wrong_one_is_a_mistake_of_the_command(settings, words):
    with pytest.raises(InputError, match=words):
        read(FIXTURES / "novel.xml", **settings, on_error="skip")


def records(*texts, head=""):
    return f"{head}<x>{''.join(f'<r><t>{text}</t></r>' for text in texts)}</x>"


def read_records(path, content, **settings):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path, format="xml", record="r", text="t", **settings)


@pytest.mark.parametrize(
    "broken",
    [
        "<t>a</r>",
        "<t>a & b</t>",
        "<t>\x01</t>",
        "<t>\0</t>",
        "<t>&nbsp;</t>",
        "<a b=1></a>",
        "<t>" * 300,
        "&#0;",
        "</x><y>",
    ],
)
def test_broken_xml_keeps_the_records_before_it_and_says_where_it_broke(tmp_path, broken):
    content = records("un", "deux").replace("</x>", f"<r>{broken}</r><r><t>trois</t></r></x>")
    with pytest.raises(InputError, match=r"a.xml, after record 2: broken XML \(.*line 1.*\); get the file again"):
        read_records(tmp_path / "a.xml", content)
    got = read_records(tmp_path / "a.xml", content, on_error="skip")
    assert got.lines == [["un"], ["deux"]] and got.counts == {"skipped: the rest of a file": 1}
    assert got.skipped[0].place == "after record 2" and "broken XML" in got.skipped[0].reason


@pytest.mark.parametrize("content", [b"", b"   ", b"<x><r><t>a</t>", b"<x><r><t>caf\xe9</t></r></x>", b"pas du XML"])
def test_what_is_no_xml_is_refused(tmp_path, content):
    with pytest.raises(InputError, match="a.xml, after record 0: broken XML"):
        read_records(tmp_path / "a.xml", content)


def test_a_text_of_100_mb_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(records("ok", "a" * 100_000_000).encode(), 1))
    with pytest.raises(InputError, match="after record 1: broken XML .*Resource limit"):
        read(tmp_path / "a.xml.gz", format="xml", record="r", text="t")


def test_encodings_are_those_of_the_declaration_or_of_the_option(tmp_path):
    declared = records("l’œdème", head='<?xml version="1.0" encoding="windows-1252"?>').encode("cp1252")
    assert read_records(tmp_path / "a.xml", declared).lines == [["l’œdème"]]
    assert read_records(tmp_path / "a.xml", records("été").encode("utf-16")).lines == [["été"]]
    undeclared = records("l’été").encode("cp1252")
    assert read_records(tmp_path / "a.xml", undeclared, encoding="windows-1252").lines == [["l’été"]]
    assert read_records(tmp_path / "a.xml", undeclared, encoding="auto").lines == [["l’été"]]


def test_entities_that_the_file_declares_become_text_and_nothing_is_fetched(tmp_path):
    (tmp_path / "secret").write_text("mot de passe")
    secret = (tmp_path / "secret").as_uri()
    head = (
        f'<!DOCTYPE x SYSTEM "absent.dtd" [<!ENTITY s SYSTEM "{secret}"><!ENTITY med "m&#233;dicament">'
        '<!ENTITY two "un &med;, un &med;"><!ENTITY bold "<b>gras</b>">]>'
    )
    got = read_records(tmp_path / "a.xml", records("a &s; b", "&eacute;t&eacute; &med;&amp;&two; fin", head=head))
    assert got.lines == [["a &s; b"], ["été médicament&un médicament, un médicament fin"]]
    left = "XML entities left as written, because the file does not declare their text"
    assert got.notes == {left: 1}
    got = read_records(tmp_path / "b.xml", records("le <i>&med;</i> &bold; fin &inconnu;", head=head))
    assert got.lines == [["le médicament &bold; fin &inconnu;"]] and got.notes == {left: 2}


def test_numbers_of_characters_in_a_declared_text_become_characters(tmp_path):
    """`&#60;` stood in the text, and a text with `&lt;` was left as its reference."""
    head = '<!DOCTYPE x [<!ENTITY less "p &#38;#60; 0,05 &#38;#xB1; 1"><!ENTITY also "p &lt; 0,1">]>'
    got = read_records(tmp_path / "a.xml", records("&less; &also;", head=head))
    assert got.lines == [["p < 0,05 ± 1 p < 0,1"]] and not got.notes


def test_entities_of_one_record_add_a_bounded_amount_of_text(tmp_path, monkeypatch):
    """libxml2 has bounds of its own since 2.11; these hold for every version."""
    monkeypatch.setattr(xml_entities, "LONGEST", 40)
    monkeypatch.setattr(xml_entities, "MOST_ADDED", 100)
    head = f'<!DOCTYPE x [<!ENTITY long "{"mot " * 10}"><!ENTITY longer "{"mot " * 11}">]>'
    got = read_records(tmp_path / "a.xml", records("&longer;" + "&long;" * 5, head=head))
    assert got.lines == [["&longer;" + "mot " * 20 + "&long;&long;&long;"]]
    assert got.notes == {"XML entities left as written, because the file does not declare their text": 4}


def test_an_entity_bomb_takes_neither_time_nor_memory(tmp_path):
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="broken XML .*entity"):
        read_records(tmp_path / "a.xml", records("&e11;", head=f'<!DOCTYPE x [<!ENTITY e0 "boum">{bomb}]>'))
    assert time.monotonic() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_the_memory_is_that_of_one_record(tmp_path):
    """60 MB of records, and as much between them, in a process of its own: less than 40 MB more than for one."""
    with gzip.open(tmp_path / "a.xml.gz", "wb", 1) as handle:
        handle.write(b"<x>")
        for _ in range(60):
            handle.write(
                b"<g><h>%s</h>" % (b"entre " * 170_000) + b"<r><t>%s</t></r>" % (b"mot " * 2500) * 100 + b"</g>"
            )
        handle.write(b"</x>")
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(records("mot").encode()))
    peaks = [peak_of(tmp_path / name) for name in ("a.xml.gz", "b.xml.gz")]
    assert peaks[0] - peaks[1] < 40_000, peaks  # kB


def peak_of(path):
    """kB of memory at most, of a process that reads the records."""
    script = """if True:
        import sys
        from pathlib import Path
        from preprocess.readers import FORMATS, ReadOptions, ReadLog
        options = ReadOptions(format="xml", record="r", text=("t",), name="a")
        for _ in FORMATS["xml"].reader(Path(sys.argv[1]), options, ReadLog()):
            pass
        print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
    """
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, cwd=FIXTURES.parents[2]
    )
    return int(done.stdout)


def test_a_record_in_a_record_takes_no_text_from_it(tmp_path):
    content = "<x><r><t>a</t><r><t>b</t></r><t>c</t></r><r><t>d</t></r></x>"
    assert read_records(tmp_path / "a.xml", content).lines == [["b"], ["a", "c"], ["d"]]


def test_a_wrong_record_name_is_told_before_the_memory_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(xml_records, "LONGEST", 1_000_000)
    content = "<x>" + "<s><t>mot</t></s>" * 200_000 + "</x>"
    with pytest.raises(InputError, match="1 MB without the end of a r; name the element .*--record-path"):
        monkeypatch.setattr(xml_records, "LONGEST", 1_000_000)
        read_records(tmp_path / "a.xml", content)


@pytest.mark.parametrize(
    "code, language, answer",
    [
        ("fr", "fr", True), ("fre", "fr", True), ("fra", "fr", True), ("fr-CA", "fr", True), ("FR_be", "fr", True),
        ("", "fr", True), ("en", "fr", False), ("eng", "en", True), ("es", "any", True), ("es", "es", True),
        ("frp", "fr", False), ("fr", "fre", True), ("fre", "FR", True), ("fr", "fr-CA", True), ("en", "fre", False),
    ],
)  # fmt: skip
def test_codes_of_languages(code, language, answer):
    assert is_language(code, language) is answer
