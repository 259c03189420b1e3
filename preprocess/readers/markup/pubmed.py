"""Records of PubMed, as NLM's baseline, its daily updates and efetch give them (PubmedArticleSet).

In French: the title, if it is (VernacularTitle of a record in French), and the French abstract, if the journal gave one
(OtherAbstract). In English: ArticleTitle and Abstract, which are English whatever the article's language.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from lxml import etree

from alibert_common.errors import InputError
from preprocess.documents.document import Document
from preprocess.readers.dates import iso_date
from preprocess.readers.markup.xml_records import document_of_record, find, is_language, records_of
from preprocess.readers.markup.xml_text import Shape, line_of
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import CommandError, ReadLog

RECORD = Shape(blocks=frozenset(), skipped=frozenset({"math"}))
CITATION = "MedlineCitation/"
DATE = CITATION + "Article/Journal/JournalIssue/PubDate/*[not(self::Season)]"  # Year, Month, Day or MedlineDate
METADATA = {
    "mesh": CITATION + "MeshHeadingList/MeshHeading/DescriptorName/@UI",
    "mesh_terms": CITATION + "MeshHeadingList/MeshHeading/DescriptorName",
    "keywords": CITATION + "KeywordList/Keyword",
    "types": CITATION + "Article/PublicationTypeList/PublicationType",
    "journal": CITATION + "MedlineJournalInfo/MedlineTA | MedlineCitation/Article/Journal[not(ISOAbbreviation)]/Title",
    "language": CITATION + "Article/Language",
    "doi": "PubmedData/ArticleIdList/ArticleId[@IdType='doi']",
}
LISTS = ("mesh", "mesh_terms", "keywords", "types")


def read_pubmed(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A record is a document: id PMID, date of the issue, MeSH descriptors, keywords, types, journal, language.

    With NLM's file of descriptors, `mesh_tree` holds their tree numbers: C04 is neoplasms, and so on.
    """
    trees = tree_numbers(options.mesh_descriptors) if options.mesh_descriptors else {}
    paths = options.with_changes(id=CITATION + "PMID", metadata=METADATA | {**options.metadata})
    for number, record in enumerate(records_of(file, options, log, ("PubmedArticle",)), 1):
        document = document_of_record(record, paths, number, list(_text(record, options.language)), LISTS)
        document.date = iso_date(" ".join(node.text or "" for node in find(record, DATE)))
        if tree := [place for name in document.metadata.get("mesh", ()) for place in trees.get(name, ())]:
            document.metadata["mesh_tree"] = tree
        yield document


def _text(record: etree._Element, language: str) -> Iterator[str]:
    """The texts in the language, each a line, with the label of its part: "OBJECTIF: ..."."""
    parts = [
        ("en", record.iterfind(CITATION + "Article/ArticleTitle")),
        (record.findtext(CITATION + "Article/Language"), record.iterfind(CITATION + "Article/VernacularTitle")),
        ("en", record.iterfind(CITATION + "Article/Abstract/AbstractText")),
    ]
    for abstract in record.iterfind(CITATION + "OtherAbstract"):
        parts.append((abstract.get("Language"), abstract.iterfind("AbstractText")))
    for part in (part for code, nodes in parts if code and is_language(code, language) for part in nodes):
        label, text = part.get("Label", ""), line_of(part, RECORD)
        if text:
            yield f"{label}: {text}" if label and label != "UNLABELLED" else text


@lru_cache(maxsize=1)
def tree_numbers(path: str) -> dict[str, list[str]]:
    """Descriptor: tree numbers, as D009369: [C04], from NLM's desc2026.xml, which may be compressed."""
    file, options = Path(path), ReadOptions()
    if not file.is_file():
        raise CommandError(f"{file}: no such file; get desc2026.xml, NLM's MeSH descriptors, for --mesh-descriptors.")
    records = records_of(file, options, ReadLog(), ("DescriptorRecord",))
    try:
        trees = {
            record.findtext("DescriptorUI"): [node.text for node in record.iterfind("TreeNumberList/TreeNumber")]
            for record in records
        }
    except InputError as error:  # never skipped: without it every record would be
        raise CommandError(str(error)) from None
    if not trees:
        raise CommandError(f"{file}: no MeSH descriptor in it; get desc2026.xml from NLM.")
    return trees
