"""The styles of the OpenDocument letters: paragraphs, runs, lists, columns, cells, frames."""

import random

from odf import style, text
from odf.element import Element
from odf.opendocument import OpenDocumentText

ALIGNED = {"left": "start", "right": "end", "center": "center", "justify": "justify"}
FONTS = ("Liberation Sans", "Liberation Serif", "DejaVu Sans")
BOLD, ITALIC = {"fontweight": "bold"}, {"fontstyle": "italic"}
OF_RUNS = {"b": BOLD, "i": ITALIC, "bi": BOLD | ITALIC, "hidden": {"display": "none"}}


def add_styles(document: OpenDocumentText, draw: random.Random) -> Element:
    """Add all styles, with a drawn font and size; returns that of frames, which odfpy takes as an element."""
    size, font = draw.choice((9, 10, 11)), draw.choice(FONTS)
    document.fontfacedecls.addElement(style.FontFace(name=font, fontfamily=font))
    base = style.Style(name="Standard", family="paragraph")
    base.addElement(style.TextProperties(fontname=font, fontsize=f"{size}pt", language="fr", country="FR"))
    document.styles.addElement(base)
    frame = _frame()
    for made in (*_paragraphs(), *_runs(), *_lists(), _columns(), _cell(), frame):
        document.automaticstyles.addElement(made)
    return frame


def _paragraphs():
    for name, aligned in ALIGNED.items():
        made = style.Style(name=name, family="paragraph", parentstylename="Standard")
        made.addElement(style.ParagraphProperties(margintop="2pt", marginbottom="2pt", textalign=aligned))
        yield made
        made = style.Style(name=f"heading-{name}", family="paragraph", parentstylename="Standard")
        properties = {"textalign": aligned, "keepwithnext": "always"}
        made.addElement(style.ParagraphProperties(margintop="7pt", marginbottom="2pt", **properties))
        made.addElement(style.TextProperties(**BOLD))
        yield made


def _runs():
    for name, options in OF_RUNS.items():
        made = style.Style(name=name, family="text")
        made.addElement(style.TextProperties(**options))
        yield made


def _lists():
    bullet = text.ListLevelStyleBullet(level=1, bulletchar="•")
    number = text.ListLevelStyleNumber(level=1, numformat="1", numsuffix=".")
    for name, level in (("item", bullet), ("number", number)):
        made = text.ListStyle(name=name)
        level.addElement(style.ListLevelProperties(spacebefore="0.4cm", minlabelwidth="0.6cm"))
        made.addElement(level)
        yield made


def _columns() -> Element:
    two = style.Columns(columncount=2, columngap="0.7cm")
    for _ in range(2):
        two.addElement(style.Column(relwidth="1*"))
    properties = style.SectionProperties(dontbalancetextcolumns="false")
    properties.addElement(two)
    made = style.Style(name="Columns", family="section")
    made.addElement(properties)
    return made


def _cell() -> Element:
    made = style.Style(name="lined", family="table-cell")
    made.addElement(style.TableCellProperties(border="0.5pt solid #666666", padding="0.08cm"))
    return made


def _frame() -> Element:
    made = style.Style(name="frame", family="graphic")
    place = {"horizontalpos": "from-left", "horizontalrel": "page", "verticalpos": "from-top", "verticalrel": "page"}
    made.addElement(style.GraphicProperties(wrap="run-through", border="none", fill="none", **place))
    return made
