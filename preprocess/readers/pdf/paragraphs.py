"""The paragraphs of a PDF: its lines without headers and footers, joined where a line ends for want of space only."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from preprocess.readers.pdf.boxes import Line
from preprocess.readers.pdf.hyphenation import LineJoiner, divides_word
from preprocess.readers.text import ITEM

END_OF_SENTENCE = re.compile(r"[.!?:;…][»”\")\]]*\s*\Z")
GOES_ON = re.compile(r"[^\W_A-ZÀ-ÖØ-ÞŒ]|[%(]")  # how a column begins in the middle of a sentence
OTHER_SIZE = 0.12  # of the height: lines of a paragraph differ by less
INDENT, FIRST_INDENT = 0.7, 5  # heights: of a paragraph's lines, and of its first line
LOOSE = 0.35  # of the height, more than the usual space between two lines
ASIDE = 0.25  # of the width of a column: an address or a signature begins further right
LONG = 45  # characters of a line of prose
NEAR_EDGE = 0.12  # of the width of a column


@dataclass
class Paragraph:
    """Lines that follow each other, the pages of the first and the last, the right edge of their column."""

    lines: list[Line]
    page: int
    last_page: int
    edge: float

    def text(self, joiner: LineJoiner) -> str:
        """The lines as one; of a table row, those of each cell."""
        if self.lines[0].is_row:
            return " | ".join(joiner.join(cell.split("\n")) for cell in self.lines[0].text.split(" | "))
        return joiner.join([line.text for line in self.lines])


def paragraphs(pages: Sequence[Sequence[list[Line]]]) -> list[Paragraph]:
    """The paragraphs of a document, of which `pages` are the columns in reading order."""
    edges = _Edges([flow for page in pages for flow in page])
    found: list[Paragraph] = []
    for number, page in enumerate(pages):
        for flow in page:
            new = list(_of_flow(flow, number, edges))
            before = _unfinished(found, new[0], number) if new else None
            if before:
                going_on = new.pop(0)
                before.lines += going_on.lines
                before.last_page, before.edge = number, going_on.edge
            found += new
    return found


def _unfinished(found: Sequence[Paragraph], new: Paragraph, page: int) -> Paragraph | None:
    """The paragraph that `new` goes on, in the column before; notes below it have smaller letters."""
    first = new.lines[0]
    if first.is_row or not GOES_ON.match(first.text) or ITEM.match(first.text):
        return None
    for paragraph in reversed(found):
        last = paragraph.lines[-1]
        if paragraph.last_page < page - 1:
            return None
        if last.is_row or last.height < (1 - OTHER_SIZE) * first.height:
            continue
        same_size = last.height < (1 + OTHER_SIZE) * first.height
        full = last.right > paragraph.edge - 0.3 * (paragraph.edge - last.left)
        return paragraph if same_size and full and not END_OF_SENTENCE.search(last.text) else None
    return None


def _of_flow(flow: Sequence[Line], page: int, edges: "_Edges") -> Iterator[Paragraph]:
    edge_of = edges.within(flow)
    for block in _blocks(flow, _usual_space(flow)):
        edge, sure = edge_of(block)
        lines = [block[0]]
        for line in block[1:]:
            if _goes_on(lines, line, edge, sure):
                lines.append(line)
            else:
                yield Paragraph(lines, page, page, edge)
                lines = [line]
        yield Paragraph(lines, page, page, edge)


def _usual_space(flow: Sequence[Line]) -> float:
    """The space between two lines of a paragraph: smaller than most between paragraphs."""
    spaces = sorted(below.top - above.bottom for above, below in pairwise(flow) if not above.is_row)
    spaces = [space for space in spaces if space > -0.5 * flow[0].height]
    return spaces[len(spaces) // 4] if spaces else 0.0


def _blocks(flow: Sequence[Line], usual: float) -> Iterator[list[Line]]:
    """Lines of one size that stand near each other."""
    block = [flow[0]]
    for above, line in pairwise(flow):
        height = min(above.height, line.height)
        apart = line.top - above.bottom > usual + LOOSE * height or line.top < above.top
        other_size = abs(above.height - line.height) > OTHER_SIZE * height
        if apart or other_size or above.is_row or line.is_row:
            yield block
            block = []
        block.append(line)
    yield block


def _goes_on(lines: Sequence[Line], line: Line, edge: float, sure: bool) -> bool:
    """Whether the first word of `line` had no space left on the last of `lines`."""
    last = lines[-1]
    if ITEM.match(line.text):
        return False
    indent = line.left - last.left
    begins_item = len(lines) == 1 and ITEM.match(last.text)
    if indent > INDENT * line.height and not begins_item:
        return False
    if indent < -(INDENT if len(lines) > 1 else FIRST_INDENT) * line.height:
        return False
    letter = (line.right - line.left) / len(line.text)
    first = len(line.text.split(maxsplit=1)[0])
    small = line.text[0].islower() and not END_OF_SENTENCE.search(last.text)
    if last.right + letter * (first + (3 if small else 1)) < edge:
        return False
    return sure or small or divides_word(last.text)


class _Edges:
    """Where the lines of columns end at the right, as far as their text shows it."""

    def __init__(self, flows: Iterable[Sequence[Line]]):
        self.known: dict[int, list[float]] = defaultdict(list)
        for flow in flows:
            if flow and _shows_edge(flow):
                self.known[round(min(line.left for line in flow) / 10)].append(_edge(flow))

    def within(self, flow: Sequence[Line]) -> Callable[[Sequence[Line]], tuple[float, bool]]:
        """What tells the right edge of a block of a column, and whether it is sure."""
        far_left, far_right, is_shown = min(line.left for line in flow), _edge(flow), _shows_edge(flow)
        place = round(far_left / 10)
        known = [edge for near in (place - 1, place, place + 1) for edge in self.known.get(near, ())]

        def edge(block: Sequence[Line]) -> tuple[float, bool]:
            own = _edge(block)
            if _shows_edge(block):
                return own, True
            if min(line.left for line in block) > far_left + ASIDE * (far_right - far_left):
                return own, False
            if is_shown:
                return far_right, True
            wider = [edge for edge in known if edge > own - 2]
            return (min(wider), True) if wider else (own, False)

        return edge


def _edge(lines: Sequence[Line]) -> float:
    return max(line.right for line in lines)


def _shows_edge(lines: Sequence[Line]) -> bool:
    """Whether lines end at the same place (justified text), or most of them near it (ragged text)."""
    lines = [line for line in lines if not line.is_row]
    if not lines:
        return False
    edge, left = _edge(lines), min(line.left for line in lines)
    if any(below.right > edge - 2 and abs(above.right - below.right) < 0.1 * above.height and len(above.text) > 30
           for above, below in pairwise(lines)):  # fmt: skip
        return True
    near = [len(line.text) for line in lines if line.right > edge - NEAR_EDGE * (edge - left)]
    enough = len(near) > 1 and sum(near) > LONG * len(near) or len(near) > 2 and sum(near) > 0.7 * LONG * len(near)
    return enough and len(near) >= 0.5 * len(lines)
