"""Leaflets (notices) and summaries of product characteristics (RCP) of the French public drug database.

The pages of base-donnees-publique.medicaments.gouv.fr hold both, in the panels `tabpanel-notice-panel` and
`tabpanel-rcp-panel`; ANSM's own files, and the site's older pages, hold one. Headings are paragraphs of the classes
AmmAnnexeTitre1 to 4 and AmmNoticeTitre1, text is AmmCorpsTexte, items AmmListePuces1 to 3, the date DateNotif
("ANSM - Mis à jour le : 14/02/2023"); the anchors of a leaflet begin with Ann3b, those of an RCP with Rcp.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from preprocess.documents.document import Document
from preprocess.readers.dates import iso_date
from preprocess.readers.markup.html_pages import PAGE, read_page
from preprocess.readers.markup.xml_text import line_of, lines_of
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import ReadLog

PANELS = {"notice": "tabpanel-notice-panel", "rcp": "tabpanel-rcp-panel"}
ANCHORS = {"notice": "Ann3b", "rcp": "Rcp"}
# What belongs to the site, and the date, which is metadata.
FURNITURE = (
    ".//*[contains(concat(' ', @class, ' '), ' DateNotif ') or contains(@class, 'fr-sidemenu') or "
    "contains(@class, 'hautdepage')]"
)
TO_THE_TOP = ("Retour en haut de la page", "Retour en haut de page", "Redirection vers le haut de page")
NAME = ".//*[contains(@class, 'AmmDenomination')] | .//*[contains(@class, 'textedeno')] | .//h1"
CIS = re.compile(r"(?:specid=|/medicament/)(\d{8})\b")
DATE = re.compile(r"\d{1,2}/\d{1,2}/\d{4}")


def read_leaflets(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """The leaflet and the RCP of a page, each a document: id CIS-notice or CIS-rcp (the name of the file if the page
    does not tell the drug's CIS code), date of the text, metadata kind, cis, drug."""
    page = read_page(file, options, log)
    if page is None:
        return
    cis = _cis(file, page)
    for kind, part in _parts(page):
        date = " ".join(line_of(node, PAGE) for node in part.xpath(".//*[contains(@class, 'DateNotif')]"))
        drug = next((line for node in [*part.xpath(NAME), *page.xpath(NAME)] if (line := line_of(node, PAGE))), "")
        metadata = {name: value for name, value in (("kind", kind), ("cis", cis), ("drug", drug)) if value}
        name, date = "-".join(filter(None, (cis or options.name, kind))), "".join(DATE.findall(date)[:1])
        yield Document(name, options.default_source, _text(part), "", iso_date(date), metadata)


def _parts(page: etree._Element) -> list[tuple[str, etree._Element]]:
    """(kind, part that holds the text) of each panel; without panels, of the page."""
    parts = [(kind, panel) for kind, name in PANELS.items() for panel in page.xpath(f"//*[@id='{name}']")]
    if not parts:
        counts = {kind: len(page.xpath(f"//a[starts-with(@name, '{start}')]")) for kind, start in ANCHORS.items()}
        parts = [(max(counts, key=counts.__getitem__) if any(counts.values()) else "", page)]
    return [(kind, (part.xpath(".//*[@id='contenu' or @id='textDocument']") or [part])[0]) for kind, part in parts]


def _text(part: etree._Element) -> list[str]:
    for node in part.xpath(FURNITURE):
        node.drop_tree()  # keeps what follows it
    return [line for line in lines_of(part, PAGE) if line not in TO_THE_TOP]


def _cis(file: Path, page: etree._Element) -> str:
    """The drug's code: eight digits, in the name of the file or in the page's links to itself."""
    if code := re.search(r"(?<!\d)\d{8}(?!\d)", file.name):
        return code[0]
    codes = {code for link in page.xpath("//@href") for code in CIS.findall(link)}
    return codes.pop() if len(codes) == 1 else ""
