"""The characters of the font Symbol, in which word processors write µ, ≥ and Greek letters."""

# Adobe's Symbol encoding: https://www.unicode.org/Public/MAPPINGS/VENDORS/ADOBE/symbol.txt
LETTERS = (
    (0x41, "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"),
    (0x61, "αβχδεφγηιϕκλµνοπθρστυϖωξψζ"),
    (0xA1, "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…"),
    (0xC5, "⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓"),
    (0xE5, "∑"),
)
SYMBOLS = {start + place: sign for start, signs in LETTERS for place, sign in enumerate(signs)}
PRIVATE = 0xF000  # what word processors add to such a code to store it as Unicode


# Boxes and arrows of Wingdings; its other signs are ornaments.
WINGDINGS = {0x6F: "☐", 0x78: "☒", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑", 0xE0: "→", 0xDF: "←"}


def symbol(code: int, font: str = "Symbol") -> str:
    """The character of a code of a font, which may be stored with PRIVATE added; digits and signs are ASCII's."""
    code -= PRIVATE * (code >= PRIVATE)
    if font.startswith("Wingdings"):
        return WINGDINGS.get(code, "")
    return SYMBOLS.get(code, chr(code) if 0x20 <= code < 0x7F else "")


def with_symbols(text: str, font: str = "Symbol") -> str:
    """The text with the characters of a font in place of private ones."""
    if all(not PRIVATE + 0x20 <= ord(sign) <= PRIVATE + 0xFF for sign in set(text)):
        return text
    return "".join(symbol(ord(sign), font) if PRIVATE + 0x20 <= ord(sign) <= PRIVATE + 0xFF else sign for sign in text)
