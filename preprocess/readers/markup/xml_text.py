"""Trees of XML and HTML as lines: one for each block (heading, paragraph, item of a list, row of a table)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

RAISED = str.maketrans("0123456789+-−–=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾")
LOWERED = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
NUMBER = re.compile(r"[\d+\-−–=()]*\d[\d+\-−–=()]*|[+\-−–]")


@dataclass(frozen=True)
class Shape:
    """Elements by name. `blocks` end a line before and after them; `skipped` are left out with all they hold; line ends
    count inside `verbatim`; a `row` is one line, its cells divided by `|`, unless it holds one of `inner`."""

    blocks: frozenset[str]
    skipped: frozenset[str] = frozenset()
    verbatim: frozenset[str] = frozenset()
    row: str = ""
    inner: frozenset[str] = frozenset()


def lines_of(root: etree._Element, shape: Shape) -> list[str]:
    """The text below `root`, without blank lines. 10<sup>9</sup> becomes 10⁹, for it is not 109."""
    if len(root) or root.tag in shape.verbatim:
        lines = "".join(_parts(root, shape)).split("\n")
    else:  # most elements of a record: an id, a name, a year
        lines = [root.text or ""]
    return [line for line in (single_spaces(line).strip(" ") for line in lines) if line.strip()]


def line_of(root: etree._Element, shape: Shape) -> str:
    """The text below `root` as one line."""
    return " ".join(lines_of(root, shape))


def single_spaces(text: str) -> str:
    """Every run of white space as one space; the no-break spaces that stand before : and % are none. Ten times as fast
    as a regular expression, which would take most of the time of reading."""
    for sign in "\t\r\n\f":
        text = text.replace(sign, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _parts(root: etree._Element, shape: Shape) -> Iterator[str]:
    """Pieces of text, with a line end wherever a line ends. Without recursion: trees are as deep as files make them."""
    verbatim = 0
    stack = [(root, False)]
    while stack:
        node, left = stack.pop()
        tag = node.tag
        is_row = tag == shape.row and not left and not any(below.tag in shape.inner for below in node.iter())
        if left or is_row or tag in shape.skipped or not isinstance(tag, str):
            if not left:
                yield from _whole(node, shape)
            verbatim -= left and tag in shape.verbatim
            yield "\n" if tag in shape.blocks else ""
            tail = node.tail if node is not root else None
        else:
            verbatim += tag in shape.verbatim
            yield "\n" if tag in shape.blocks else ""
            tail = _moved(tag, node.text)
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node))
        if tail:
            yield tail if verbatim else single_spaces(tail)


def _whole(node: etree._Element, shape: Shape) -> Iterator[str]:
    """What stands for a node that is not walked through."""
    if node.tag == shape.row:
        pieces = [node.text, *(piece for cell in node for piece in (_cell(cell, shape), cell.tail))]
        cells = [single_spaces(piece).strip(" ") for piece in pieces if piece]
        yield "\n" + " | ".join(cell for cell in cells if cell) + "\n"
    elif node.tag is etree.Entity:  # one that xml_entities.py left as it is
        yield node.text


def _cell(node: etree._Element, shape: Shape) -> str:
    return "" if node.tag in shape.skipped else line_of(node, shape)


def _moved(tag: str, text: str | None) -> str | None:
    """Digits of sup and sub as the characters that say so."""
    if text and tag in ("sup", "sub") and NUMBER.fullmatch(text.strip()):
        return text.translate(RAISED if tag == "sup" else LOWERED)
    return text
