"""The runs of text of a PDF page, with their boxes.

The text of a page comes in one call of pdfium, and only the first and the last character of a word are asked for their
boxes: a call for each character would take most of the time.
"""

import ctypes
import re
from bisect import bisect, bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from preprocess.readers.pdf.boxes import NEAR, OpenRun, Run, Word, drawn_once
from preprocess.readers.pdf.characters import Box, Characters, Point

OUTSIDE = "words outside of the page left out"
SLANTED = "pieces of slanted text (watermarks) left out"
INVISIBLE = "pieces of invisible text left out"
UNKNOWN = "characters without a meaning left out (private fonts)"
BULLETS = (0xF0B7, 0xF0A7, 0xF0A8, 0xF0D8, 0xF0FC, 0xF076, 0xF06E, 0xF071, 0xF0E8)  # as Symbol and Wingdings have them
LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
AT_LINE_END = "\x02\ufffe"  # pdfium's characters for a hyphen there
SIGNS: dict[int, str] = LIGATURES | dict.fromkeys(map(ord, AT_LINE_END), "-") | dict.fromkeys(BULLETS, "•")
WORD = re.compile(rf"[^ \r\n\t{AT_LINE_END}]*[{AT_LINE_END}]|[^ \r\n\t{AT_LINE_END}]+")
# What may be above or below the line: the last sign of m2, the digit of H2O.
MAY_HAVE_INDEX = re.compile(r"[\d+−–-](?:(?<=\S.)(?!\S)|(?<=[^\W\d]\d)\d*[^\W\d])")
LEVEL = 0.1  # of the size of the font: baselines of one line differ by less
NARROW = 0.1  # of the size of the font: words are wider, and the spaces between them
UNLIKE_TEXT = re.compile("[^ -~\xa0-\u2fff]")
NO_TEXT = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")
EVEN = 0.12  # of the height: the gaps of a justified line differ by less
WIDE, WIDEST = 1.2, 6.0  # heights: a gap in a justified line is narrower, one between numbers, any other one


class PageText(Characters):
    """The text of an open page. `raw` is its FPDF_TEXTPAGE, `bounds` are left, bottom, right, top of what is seen."""

    def __init__(self, raw: ctypes.c_void_p, bounds: Sequence[float], notes: Counter[str]):
        super().__init__(raw)
        self.bounds, self.notes = bounds, notes

    def runs(self, shows_a_scan: Callable[[], bool]) -> list[list[Run]]:
        """The runs in the order in which they are drawn, those of the most usual direction first. Invisible text is
        left out, unless it is what a program read on a scan."""
        groups: dict[int, list[Run]] = defaultdict(list)
        for turn, run in self._runs():
            groups[turn].append(run)
        self._note(SLANTED, len(groups.pop(-1, ())))
        hidden = {run.order for runs in groups.values() for run in runs if self.is_invisible(run.order)}
        if hidden and not shows_a_scan():
            self._note(INVISIBLE, len(hidden))
            groups = {turn: [run for run in runs if run.order not in hidden] for turn, runs in groups.items()}
        found = [drawn_once(runs) for runs in groups.values() if runs]
        return sorted(found, key=lambda runs: -sum(len(run.text) for run in runs))

    def _note(self, kind: str, number: int) -> None:
        if number:
            self.notes[kind] += number

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
        height = words[0].bottom - words[0].top
        gaps = [(after.left - word.right, after.order) for word, after in pairwise(words) if after.spaced]
        widths = sorted(gap for gap, _ in gaps)
        numbers = any(map(str.isdecimal, "".join(word.text for word in words)))
        for gap, order in sorted((gap for gap in gaps if gap[0] > NEAR * height), reverse=True):
            even = bisect_left(widths, gap + EVEN * height) - bisect(widths, gap - EVEN * height)
            justified = not numbers or not self.is_generated(order - 1)
            if even >= min(3, max(2, len(gaps))) and gap < (WIDEST if justified else WIDE) * height:
                return gap + EVEN * height
        return NEAR * height

    def _lines(self) -> Iterator[tuple[int, list[Word]]]:
        """The direction and the words of each line that pdfium sees; those of most lines as one word."""
        matches = list(WORD.finditer(self.text))
        firsts = self.origins([match.start() for match in matches])
        lasts = self.boxes([match.end() - 1 for match in matches])
        for begin, end in pairwise(self._line_begins(matches)):
            line = matches[begin:end], firsts[begin:end], lasts[begin:end]
            start = line[0][0].start()
            turn, size = self.turn(start), self.size(start)
            words = [] if turn else self._misplaced(*line, size) or self._whole(*line, size)
            if words := words or list(self._words(*line, turn, size)):
                yield turn, words

    def _line_begins(self, matches: Sequence[re.Match]) -> Iterator[int]:
        """The numbers of the first words of all lines, and behind the last."""
        end = line_end = -1
        for number, match in enumerate(matches):
            start = match.start()
            if start > line_end or start == end:
                yield number
                line_end = self.text.find("\n", start) % (len(self.text) + 1)
            end = match.end()
        if matches:
            yield len(matches)

    def _misplaced(
        self, words: Sequence[re.Match], firsts: Sequence[Point], lasts: Sequence[Box], size: float
    ) -> list[Word]:
        """The words by the places of their signs, if one is behind a word and was drawn inside it: 10⁹/L, of which
        another font has the ⁹."""
        base = firsts[0][1]
        if all([box[2] - x > NARROW * size for (x, _), box in zip(firsts, lasts, strict=True)]):
            return []
        numbers = [n for word in words for n in range(*word.span())]
        signs = sorted(zip(self.origins(numbers), numbers, self.boxes(numbers), strict=True))
        if any(y != base or self._is_outside((x, y), box) for (x, y), _, box in signs):
            return []
        begins = [n for n in range(1, len(signs)) if signs[n][0][0] - signs[n - 1][2][2] > NARROW * size]
        groups = [signs[begin:end] for begin, end in pairwise([0, *begins, len(signs)])]
        texts = [self._readable("".join(self.text[n] for _, n, _ in group)) for group in groups]
        return [
            Word(text, *_upright(group[0][0], group[-1][2], size, 0), min(n for _, n, _ in group), number > 0)
            for number, (text, group) in enumerate(zip(texts, groups, strict=True)) if text
        ]  # fmt: skip

    def _whole(
        self, words: Sequence[re.Match], firsts: Sequence[Point], lasts: Sequence[Box], size: float
    ) -> list[Word]:
        """The words as one, if they stand on one baseline, near each other, on the page and without an index."""
        base = firsts[0][1]
        if any([y != base for _, y in firsts]) or self._is_outside(firsts[0], lasts[-1]):
            return []
        if not all(-0.5 * size < x - box[2] < NEAR * size for (x, _), box in zip(firsts[1:], lasts, strict=False)):
            return []
        digits = [found.start() for found in MAY_HAVE_INDEX.finditer(self.text, words[0].start(), words[-1].end())]
        if any(abs(y - base) > LEVEL * size for _, y in self.origins(digits)):
            return []
        text = self._readable(" ".join([word[0] for word in words]))
        return [Word(text, *_upright(firsts[0], lasts[-1], size, 0), words[0].start(), False)] if text.strip() else []

    def _words(
        self, words: Sequence[re.Match], firsts: Sequence[Point], lasts: Sequence[Box], turn: int, size: float
    ) -> Iterator[Word]:
        """The words of a line one by one, and their parts of different heights."""
        right = firsts[0][0]
        for number, (match, first, last) in enumerate(zip(words, firsts, lasts, strict=True)):
            start = match.start()
            if first[0] - right > NEAR * size:  # maybe another column
                size = self.size(start)
            right = last[2]
            if self._is_outside(first, last):
                self._note(OUTSIDE, 1)
            elif turn == 0 and MAY_HAVE_INDEX.search(match[0]):
                yield from self._parts(match, size, number > 0)
            elif text := self._readable(match[0]):
                yield Word(text, *_upright(first, last, size, turn), start, number > 0)

    def _is_outside(self, first: Point, last: Box) -> bool:
        left, bottom, right, top = self.bounds
        return max(first[0], last[2]) <= left or min(first[0], last[0]) >= right or not bottom < first[1] < top

    def _parts(self, match: re.Match, size: float, spaced: bool) -> Iterator[Word]:
        """A word that may have an index, as 10⁹ and m² have: its parts by their baselines."""
        numbers = range(*match.span())
        origins, boxes = self.origins(numbers), self.boxes(numbers)
        begins = [n for n in range(1, len(origins)) if abs(origins[n][1] - origins[n - 1][1]) > LEVEL * size]
        for begin, end in pairwise([0, *begins, len(origins)]):
            if text := self._readable(match[0][begin:end]):
                own = self.size(numbers[begin]) if begins else size
                box = _upright(origins[begin], boxes[end - 1], own, 0)
                yield Word(text, *box, numbers[begin], spaced and begin == 0)

    def _readable(self, text: str) -> str:
        if not UNLIKE_TEXT.search(text):
            return text
        text, unknown = NO_TEXT.subn("", text.translate(SIGNS))
        self._note(UNKNOWN, unknown)
        return text


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
