"""Shapes of capitalised words, and texts compared without regard to case and accents."""

import unicodedata

UPPER = "A-ZÀ-ÖØ-ÞŒŠŽŸ"
LETTER = r"[^\W\d_]"
SPACE = "[ \u00a0\u202f]"
# Dupont, DUPONT-MARTIN, D'Almeida, N'Guyen, Jean-Pierre
CAPITALISED = rf"[{UPPER}](?:['’](?={LETTER}))?{LETTER}*(?:[-'’]{LETTER}+)*"
# Lower-case words inside the names of places: Bourg-en-Bresse, Saint-Rémy de Provence
LINKS = r"(?:de la|de l['’]|de|du|des|d['’]|la|le|les|l['’]|sur|sous|en|lès|lez|aux|au|et|à|saint|sainte)"
_CODES = (*range(ord("A"), ord("Z") + 1), *range(0xC0, 0x250), *range(0x1E00, 0x1F00))
_SIGNS = {"’": "'", "œ": "o", "Œ": "o", "–": "-", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d"}  # that Latin-1 has not
_FOLDED = {code: unicodedata.normalize("NFD", chr(code))[0].lower()[0] for code in _CODES} | {
    ord(sign): other for sign, other in _SIGNS.items()
}
_FOLDED_BYTES = bytes(ord(_FOLDED.get(code, chr(code))) for code in range(256))


def folded(text: str) -> str:
    """The text in lower case and without accents, character by character: places in it stay the same."""
    simple = text
    for sign, other in _SIGNS.items():
        simple = simple.replace(sign, other)
    try:  # in a tenth of the time
        return simple.encode("latin-1").translate(_FOLDED_BYTES).decode("latin-1")
    except UnicodeEncodeError:
        return simple.translate(_FOLDED)
