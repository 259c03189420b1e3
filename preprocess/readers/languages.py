"""Which language a text says it is in: xml:lang, Language of PubMed, codes of two letters and of three."""

from collections.abc import Iterator

from lxml import etree

XML_NAMESPACE = "{http://www.w3.org/XML/1998/namespace}"
LANGUAGES = {"fr": {"fr", "fre", "fra"}, "en": {"en", "eng"}}  # ISO 639: two letters, three in libraries, three


def is_in_language(element: etree._Element, language: str) -> bool:
    """Whether the language that the element says, or else what holds it, is the one asked for; silence is consent."""
    said = next(
        (one.get(f"{XML_NAMESPACE}lang") for one in _with_ancestors(element) if one.get(f"{XML_NAMESPACE}lang")), ""
    )
    return is_language(said, language)


def is_language(code: str, language: str) -> bool:
    """Whether a code such as fr, fre or fr-CA is the language asked for; no code is any."""
    code = code.lower().replace("_", "-").partition("-")[0]
    return language == "any" or not code or code in LANGUAGES.get(language, {language})


def _with_ancestors(element: etree._Element) -> Iterator[etree._Element]:
    yield element
    yield from element.iterancestors()
