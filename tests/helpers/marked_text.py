"""Sentences whose identifiers are marked, to say what a rule must find: "vu le {DATE|3 mars}"."""

import re

from preprocess.pseudonymisation.spans import Span

MARK = re.compile(r"\{(?P<label>[A-Z_]+)\|(?P<text>[^{}]*)\}")


def marked(sentence: str) -> tuple[str, list[Span]]:
    """The sentence without marks, and the identifiers that they mark."""
    text, place, spans = "", 0, []
    for found in MARK.finditer(sentence):
        text += sentence[place : found.start()]
        spans.append(Span(len(text), len(text) + len(found["text"]), found["label"]))
        text, place = text + found["text"], found.end()
    return text + sentence[place:], spans
