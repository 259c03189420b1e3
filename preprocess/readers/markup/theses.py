"""Records of theses: TEF, the format of theses.fr (ABES, in METS), and the Dublin Core of OAI-PMH.

Text: title and abstract in the language asked for, each a line.
"""

from collections.abc import Iterator
from pathlib import Path

from preprocess.documents.document import Document
from preprocess.readers.markup.xml_records import ANY, document_of_record, records_of, texts
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import ReadLog

PARTS = (
    ".//thesisRecord/title | .//thesisRecord/alternative | self::dc/title",
    ".//thesisRecord/abstract | self::dc/description",
)
ID = ".//thesisAdmin/identifier[@type='tef:NNT'] | self::dc/identifier"
DATE = ".//thesisAdmin/dateAccepted | self::dc/date"
METADATA = {
    "subjects": ".//thesisRecord/subject[@xml:lang='fr'] | self::dc/subject[not(@xml:lang) or @xml:lang='fr']",
    "rameau": ".//thesisRecord/sujetRameau//elementdEntree",
    "dewey": ".//thesisRecord/subject[@type='dcterms:DDC']",
    "discipline": ".//thesisAdmin/thesis.degree/thesis.degree.discipline",
    "institution": ".//thesisAdmin/thesis.degree/thesis.degree.grantor/nom",
    "language": ".//thesisRecord/language | self::dc/language",
}
LISTS = ("subjects", "rameau")


def read_theses(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A thesis is a document: id the national number (NNT), date of the defence, subjects, discipline."""
    metadata = METADATA | {**options.metadata}
    paths = options.with_changes(id=options.id or ID, date=options.date or DATE, metadata=metadata)
    for number, thesis in enumerate(records_of(file, options, log, ("mets", "dc")), 1):
        text = texts(thesis, PARTS, ANY, options.language)
        yield document_of_record(thesis, paths, number, text, LISTS)
