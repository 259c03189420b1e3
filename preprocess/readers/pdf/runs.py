"""The runs of text of a PDF page, with their boxes.

The text of a page comes in one call of pdfium, and only the first and the last character of a word are asked for their
boxes: a call for each character would take most of the time.
"""

import ctypes
import math
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, repeat

from preprocess.readers.pdf.boxes import NEAR, OpenRun, Run, Word, drawn_once

OUTSIDE = "words outside of the page left out"
SLANTED = "pieces of slanted text (watermarks) left out"
INVISIBLE = "pieces of invisible text left out"
UNKNOWN = "characters without a meaning left out (private fonts)"
BULLETS = (0xF0B7, 0xF0A7, 0xF0A8, 0xF0D8, 0xF0FC, 0xF076, 0xF06E, 0xF071, 0xF0E8)  # as Symbol and Wingdings have them
LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
AT_LINE_END = "\x02\ufffe"  # pdfium's characters for a hyphen there
SIGNS: dict[int, str] = LIGATURES | dict.fromkeys(map(ord, AT_LINE_END), "-") | dict.fromkeys(BULLETS, "•")
WORD = re.compile(rf"[^ \r\n\t{AT_LINE_END}]*[{AT_LINE_END}]|[^ \r\n\t{AT_LINE_END}]+")
INDEX_SIGNS = frozenset("0123456789+-−–")  # at the end of m2: maybe above the line
INSIDE = re.compile(r"(?<=[^\W\d])\d+[^\W\d]")  # the digit of H2O, maybe below the line
LEVEL = 0.1  # of the size of the font: baselines of one line differ by less
NO_TEXT = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")
SLANT = math.radians(15)  # up to which a page may be askew
EVEN = 0.12  # of the height: the gaps of a justified line differ by less
WIDE, WIDEST = 1.2, 6.0  # heights: a gap in a justified line is narrower, one between numbers, any other one
INVISIBLE_MODES = (3, 7)  # FPDF_TEXTRENDERMODE_INVISIBLE and _CLIP

Point = tuple[float, float]  # x and y, in points of the PDF, y from below
Box = list[float]  # left, top, right, bottom


class PageText:
    """The text of an open page. `raw` is its FPDF_TEXTPAGE, `bounds` are left, bottom, right, top of what is seen."""

    def __init__(self, raw: ctypes.c_void_p, bounds: Sequence[float], notes: Counter[str]):
        import pypdfium2.raw as pdfium

        self.pdfium, self.raw, self.bounds, self.notes = pdfium, raw, bounds, notes
        self.text = self._text()

    def runs(self, shows_a_scan: Callable[[], bool]) -> list[list[Run]]:
        """The runs in the order in which they are drawn, those of the most usual direction first. Invisible text is
        left out, unless it is what a program read on a scan."""
        groups: dict[int, list[Run]] = defaultdict(list)
        for turn, run in self._runs():
            groups[turn].append(run)
        self._note(SLANTED, len(groups.pop(-1, ())))
        hidden = {run.order for runs in groups.values() for run in runs if self._is_invisible(run.order)}
        if hidden and not shows_a_scan():
            self._note(INVISIBLE, len(hidden))
            groups = {turn: [run for run in runs if run.order not in hidden] for turn, runs in groups.items()}
        found = [drawn_once(runs) for runs in groups.values() if runs]
        return sorted(found, key=lambda runs: -sum(len(run.text) for run in runs))

    def _note(self, kind: str, number: int) -> None:
        if number:
            self.notes[kind] += number

    def _text(self) -> str:
        """The characters by their numbers."""
        count = max(0, self.pdfium.FPDFText_CountChars(self.raw))
        buffer = (ctypes.c_ushort * (count + 1))()
        got = self.pdfium.FPDFText_GetText(self.raw, 0, count, buffer) - 1
        if got == count:
            return "".join(map(chr, buffer[:count]))
        codes = map(self.pdfium.FPDFText_GetUnicode, repeat(self.raw), range(count))
        return "".join(chr(code) if code <= 0x10FFFF else "\ufffd" for code in codes)

    def _origins(self, numbers: Sequence[int]) -> list[Point]:
        """Where characters begin on their baseline."""
        xs, ys = ((ctypes.c_double * len(numbers))() for _ in range(2))
        if numbers:
            places = (_places(ctypes.c_double.from_buffer(table), len(numbers)) for table in (xs, ys))
            deque(map(self.pdfium.FPDFText_GetCharOrigin, repeat(self.raw), numbers, *places), 0)
        return list(zip(xs, ys, strict=True))

    def _boxes(self, numbers: Sequence[int]) -> list[Box]:
        """The boxes of characters; how high they are depends on the program that made the PDF."""
        table = (self.pdfium.FS_RECTF * len(numbers))()
        if numbers:
            places = _places(self.pdfium.FS_RECTF.from_buffer(table), len(numbers))
            deque(map(self.pdfium.FPDFText_GetLooseCharBox, repeat(self.raw), numbers, places), 0)
        flat: list[float] = list(memoryview(table).cast("B").cast("f"))
        return [flat[n : n + 4] for n in range(0, len(flat), 4)]

    def _size(self, number: int) -> float:
        """The size of the font of a character, in points of the page."""
        matrix = self.pdfium.FS_MATRIX()
        self.pdfium.FPDFText_GetMatrix(self.raw, number, ctypes.byref(matrix))
        size = abs(self.pdfium.FPDFText_GetFontSize(self.raw, number)) * math.hypot(matrix.c, matrix.d)
        return size or 1.0

    def _is_invisible(self, number: int) -> bool:
        drawn = self.pdfium.FPDFText_GetTextObject(self.raw, number)
        return bool(drawn) and self.pdfium.FPDFTextObj_GetTextRenderMode(drawn) in INVISIBLE_MODES

    def _turn(self, number: int) -> int:
        """The direction of a character: quarters of a turn from left to right, -1 for one between."""
        angle = -self.pdfium.FPDFText_GetCharAngle(self.raw, number)
        quarters = round(angle / (math.pi / 2))
        return quarters % 4 if abs(angle - quarters * math.pi / 2) < SLANT else -1

    def _runs(self) -> Iterator[tuple[int, Run]]:
        """The runs with their directions. pdfium ends a line before an index too, a run goes on behind it."""
        run, before = None, 0
        for turn, words in self._lines():
            near = self._near(words)
            for word in words:
                if run and turn == before and run.takes(word, near):
                    run.add(word)
                    continue
                if run:
                    yield before, run.closed()
                run, before = OpenRun(word), turn
        if run:
            yield before, run.closed()

    def _near(self, words: Sequence[Word]) -> float:
        """The gap from which on two words of a line may stand in two columns. The gaps in justified text are wide, but
        there are several of one width; those between the numbers of a table are so too, but have no space drawn in."""
        height = words[0].bottom - words[0].top if words else 0.0
        gaps = [(after.left - word.right, after.order) for word, after in pairwise(words) if after.spaced]
        numbers = any(map(str.isdecimal, "".join(word.text for word in words)))
        for gap, order in sorted((gap for gap in gaps if gap[0] > NEAR * height), reverse=True):
            even = sum(abs(gap - other) < EVEN * height for other, _ in gaps)
            justified = not numbers or not self.pdfium.FPDFText_IsGenerated(self.raw, order - 1)
            if even >= min(3, max(2, len(gaps))) and gap < (WIDEST if justified else WIDE) * height:
                return gap + EVEN * height
        return NEAR * height

    def _lines(self) -> Iterator[tuple[int, list[Word]]]:
        """The direction and the words of each line that pdfium sees."""
        matches = list(WORD.finditer(self.text))
        firsts = self._origins([match.start() for match in matches])
        lasts = self._boxes([match.end() - 1 for match in matches])
        line: list[Word] = []
        end, turn, size, right = -1, 0, 1.0, 0.0
        for match, first, last in zip(matches, firsts, lasts, strict=True):
            start = match.start()
            begins = end < 0 or start == end or "\n" in self.text[end:start]
            if begins:
                if line:
                    yield turn, line
                line, turn, size = [], self._turn(start), self._size(start)
            elif first[0] - right > NEAR * size:  # maybe another column
                size = self._size(start)
            end, right = match.end(), last[2]
            if self._is_outside(first, last):
                self._note(OUTSIDE, 1)
            elif turn == 0 and _may_have_index(match[0]):
                line += self._parts(match, size, not begins)
            elif text := self._readable(match[0]):
                line.append(Word(text, *_upright(first, last, size, turn), start, not begins))
        if line:
            yield turn, line

    def _is_outside(self, first: Point, last: Box) -> bool:
        left, bottom, right, top = self.bounds
        return max(first[0], last[2]) <= left or min(first[0], last[0]) >= right or not bottom < first[1] < top

    def _parts(self, match: re.Match, size: float, spaced: bool) -> Iterator[Word]:
        """A word that may have an index, as 10⁹ and m² have: its parts by their baselines."""
        numbers = range(*match.span())
        origins, boxes = self._origins(numbers), self._boxes(numbers)
        begins = [n for n in range(1, len(origins)) if abs(origins[n][1] - origins[n - 1][1]) > LEVEL * size]
        for begin, end in pairwise([0, *begins, len(origins)]):
            if text := self._readable(match[0][begin:end]):
                own = self._size(numbers[begin]) if begins else size
                box = _upright(origins[begin], boxes[end - 1], own, 0)
                yield Word(text, *box, numbers[begin], spaced and begin == 0)

    def _readable(self, text: str) -> str:
        if text.isascii() and text.isprintable():
            return text
        text, unknown = NO_TEXT.subn("", text.translate(SIGNS))
        self._note(UNKNOWN, unknown)
        return text


def _may_have_index(word: str) -> bool:
    return len(word) > 1 and (word[-1] in INDEX_SIGNS or not word.isalpha() and bool(INSIDE.search(word)))


def _places(first: ctypes.Structure | ctypes.c_double, number: int) -> Iterator[object]:
    """Pointers to the items of an array, of which `first` is the first; pdfium writes what it finds there."""
    return (ctypes.byref(first, at) for at in range(0, number * ctypes.sizeof(first), ctypes.sizeof(first)))


def _upright(first: Point, last: Box, size: float, turn: int) -> tuple[float, float, float, float]:
    """The box of a word on a page that is turned so that one can read it, y from above: as high as its font, and a
    fifth of it below the baseline."""
    (x, y), (left, top, right, bottom) = first, last
    start, end, base = {
        1: (y, max(top, bottom), x),
        2: (-x, -min(left, right), y),
        3: (-y, -min(top, bottom), -x),
    }.get(turn, (x, right, -y))
    return start, base - 0.8 * size, max(start, end), base + 0.2 * size
