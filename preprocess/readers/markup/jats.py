"""Articles in JATS, the XML of PubMed Central, SciELO, Érudit and other publishers' archives (NISO Z39.96).

Text: title, abstracts, titles and paragraphs of the body, captions of figures, each a line. Left out: references,
tables, formulas, footnotes, the numbers of citations set as exponents. Of an article in several languages, the parts
in the language asked for: French abstracts of English articles, and French sub-articles.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from preprocess.documents.document import Document
from preprocess.readers.dates import iso_date
from preprocess.readers.markup.xml_records import XML_NAMESPACE, document_of_record, find, records_of, texts
from preprocess.readers.markup.xml_text import Shape, line_of
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import ReadLog

MARK = "citation-mark"  # our name for exponents that cite, and marks of footnotes: "fièvre", not "fièvre3"
ARTICLE = Shape(
    blocks=frozenset(
        "abstract attrib body boxed-text break caption def def-item def-list disp-quote fig list list-item p sec "
        "speech statement subtitle term title trans-abstract verse-group verse-line".split()
    ),
    skipped=frozenset(
        f"{MARK} alternatives disp-formula disp-formula-group ext-link-group fn fn-group graphic inline-formula "
        "inline-graphic label math media object-id ref-list supplementary-material table table-wrap table-wrap-foot "
        "tex-math".split()
    ),
)
PARTS = (
    "front/article-meta/title-group/article-title",
    "front/article-meta/title-group/subtitle",
    "front/article-meta/title-group/trans-title-group/trans-title | front/article-meta/title-group/trans-title",
    "front/article-meta/abstract[not(@abstract-type='graphical')]",
    "front/article-meta/trans-abstract[not(@abstract-type='graphical')]",
    "body",
    "sub-article/front-stub/title-group/article-title | sub-article/front/article-meta/title-group/article-title",
    "sub-article/front-stub/abstract | sub-article/front/article-meta/abstract",
    "sub-article/body",
)
ID = "front/article-meta/article-id[@pub-id-type='%s']"
CITES = ".//sup[xref[@ref-type='bibr']] | .//xref[@ref-type='bibr'][sup] | .//xref[contains(@ref-type, 'fn')]"
METADATA = {
    "doi": ID % "doi",
    "pmid": ID % "pmid",
    "journal": "front/journal-meta//journal-title",
    "subjects": "front/article-meta/article-categories//subject",
    "keywords": "front/article-meta/kwd-group[not(contains(translate(@kwd-group-type, 'mesh', 'MESH'), 'MESH'))]/kwd",
    "mesh_terms": "front/article-meta/kwd-group[contains(translate(@kwd-group-type, 'mesh', 'MESH'), 'MESH')]/kwd",
    "article_type": "@article-type",
}
LISTS = ("subjects", "keywords", "mesh_terms")
LICENCE = re.compile(r"creativecommons\.org/(?:licenses|publicdomain)/([a-z-]+)/(\d\.\d)", re.IGNORECASE)


def read_jats(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """An article is a document: id PMC number or DOI, licence, date of publication, journal, subjects, keywords."""
    paths = options.with_changes(metadata=METADATA | {**options.metadata})
    for number, article in enumerate(records_of(file, options, log, ("article",)), 1):
        for mark in find(article, CITES):
            mark.tag = MARK
        text = texts(article, PARTS, ARTICLE, options.language)
        document = document_of_record(article, paths, number, text, LISTS)
        document.id = _id(article) or document.id
        document.date = document.date or _date(article)
        document.licence = _licence(article)
        if language := article.get(f"{XML_NAMESPACE}lang"):
            document.metadata["language"] = language
        yield document


def _id(article: etree._Element) -> str:
    for kind in ("pmcid", "pmc", "doi", "pmid", "publisher-id"):
        for node in find(article, ID % kind):
            name = line_of(node, ARTICLE)
            return f"PMC{name.removeprefix('PMC')}" if kind.startswith("pmc") else name
    return ""


def _date(article: etree._Element) -> str:
    """The most exact date of publication, and the first of those."""
    dates = []
    for node in find(article, "front/article-meta/pub-date"):
        parts = [node.findtext(name, "").strip() for name in ("year", "month", "day")]
        dates.append(iso_date(" ".join(parts[: parts.index("")] if "" in parts else parts)))
    return max(dates, key=len, default="")


def _licence(article: etree._Element) -> str:
    """CC BY 4.0, from the address of a Creative Commons licence; any other licence by its own first words."""
    for node in find(article, "front/article-meta/permissions"):
        if match := LICENCE.search(etree.tostring(node, encoding="unicode")):
            kind, version = match[1].upper(), match[2]
            return f"CC0 {version}" if kind == "ZERO" else f"CC {kind} {version}"
        for licence in find(node, ".//license"):
            return line_of(licence, ARTICLE)[:200]
    return ""
