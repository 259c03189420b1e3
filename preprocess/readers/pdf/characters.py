"""The characters of a PDF page as pdfium gives them: their codes, places, sizes and directions."""

import ctypes
import math
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import repeat

SLANT = math.radians(15)  # up to which a page may be askew
INVISIBLE_MODES = (3, 7)  # FPDF_TEXTRENDERMODE_INVISIBLE and _CLIP

Point = tuple[float, float]  # x and y, in points of the PDF, y from below
Box = list[float]  # left, top, right, bottom


class Characters:
    """The characters of an open page by their numbers. `raw` is its FPDF_TEXTPAGE."""

    def __init__(self, raw: ctypes.c_void_p):
        import pypdfium2.raw as pdfium

        self.pdfium, self.raw = pdfium, raw
        self.text = self._text()

    def _text(self) -> str:
        """The characters by their numbers."""
        count = max(0, self.pdfium.FPDFText_CountChars(self.raw))
        buffer = (ctypes.c_ushort * (count + 1))()
        got = self.pdfium.FPDFText_GetText(self.raw, 0, count, buffer) - 1
        if got == count:
            return "".join(map(chr, buffer[:count]))
        codes = map(self.pdfium.FPDFText_GetUnicode, repeat(self.raw), range(count))
        return "".join(chr(code) if code <= 0x10FFFF else "\ufffd" for code in codes)

    def origins(self, numbers: Sequence[int]) -> list[Point]:
        """Where characters begin on their baseline."""
        xs, ys = ((ctypes.c_double * len(numbers))() for _ in range(2))
        if numbers:
            places = [_places(ctypes.c_double.from_buffer(table), len(numbers)) for table in (xs, ys)]
            deque(map(self.pdfium.FPDFText_GetCharOrigin, repeat(self.raw), numbers, *places), 0)
        return list(zip(xs, ys, strict=True))

    def boxes(self, numbers: Sequence[int]) -> list[Box]:
        """The boxes of characters; how high they are depends on the program that made the PDF."""
        table = (self.pdfium.FS_RECTF * len(numbers))()
        if numbers:
            places = _places(self.pdfium.FS_RECTF.from_buffer(table), len(numbers))
            deque(map(self.pdfium.FPDFText_GetLooseCharBox, repeat(self.raw), numbers, places), 0)
        flat: list[float] = list(memoryview(table).cast("B").cast("f"))
        return [flat[n : n + 4] for n in range(0, len(flat), 4)]

    def size(self, number: int) -> float:
        """The size of the font of a character, in points of the page."""
        matrix = self.pdfium.FS_MATRIX()
        self.pdfium.FPDFText_GetMatrix(self.raw, number, ctypes.byref(matrix))
        size = abs(self.pdfium.FPDFText_GetFontSize(self.raw, number)) * math.hypot(matrix.c, matrix.d)
        return size or 1.0

    def is_invisible(self, number: int) -> bool:
        """Whether a character is drawn without ink."""
        drawn = self.pdfium.FPDFText_GetTextObject(self.raw, number)
        return bool(drawn) and self.pdfium.FPDFTextObj_GetTextRenderMode(drawn) in INVISIBLE_MODES

    def turn(self, number: int) -> int:
        """The direction of a character: quarters of a turn from left to right, -1 for one between."""
        angle = -self.pdfium.FPDFText_GetCharAngle(self.raw, number)
        quarters = round(angle / (math.pi / 2))
        return quarters % 4 if abs(angle - quarters * math.pi / 2) < SLANT else -1

    def is_generated(self, number: int) -> bool:
        """Whether pdfium added a space that the file does not have."""
        return bool(self.pdfium.FPDFText_IsGenerated(self.raw, number))


def _places(first: ctypes.Structure | ctypes.c_double, number: int) -> Iterator[object]:
    """Pointers to the items of an array, of which `first` is the first; pdfium writes what it finds there."""
    return map(ctypes.byref, repeat(first), range(0, number * ctypes.sizeof(first), ctypes.sizeof(first)))
