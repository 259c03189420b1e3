"""Terms and sentences as pieces of each tokenizer."""

from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from alibert_common.input_log import InputLog
from preprocess.documents.document import read_lines
from preprocess.tokenizer.normalizer import BOUNDARY
from preprocess.tokenizer_study.candidates import Candidate
from preprocess.tokenizer_study.measure import count


class Term(NamedTuple):
    """A line of a terms file."""

    text: str
    category: str


def read_terms(path: Path, log: InputLog) -> list[Term]:
    """Lines of a term, a tab and its category; blank lines and lines that start with # are skipped.

    Raises InputError for another line, and for a file without terms.
    """
    terms = []
    for number, line in _content(path, log):
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2 or not all(parts):
            raise InputError(f"{path}, line {number}: write a term, a tab and its category.")
        terms.append(Term(*parts))
    if not terms:
        raise InputError(f"{path}: no term in it; write a term, a tab and its category on each line.")
    return terms


def read_sentences(path: Path, log: InputLog) -> list[str]:
    """A sentence per line; blank lines and lines that start with # are skipped."""
    sentences = [line for _, line in _content(path, log)]
    if not sentences:
        raise InputError(f"{path}: no sentence in it; write one on each line.")
    return sentences


def _content(path: Path, log: InputLog) -> list[tuple[int, str]]:
    return [(number, line) for number, line in read_lines(path, log) if line.strip() and not line.startswith("#")]


def segment_term(candidate: Candidate, term: str) -> dict:
    """A term in pieces as in running text: byte-level tokenizers need a space before a word."""
    return segment(candidate, f" {term}" if candidate.convention.byte_level else term)


def segment(candidate: Candidate, text: str) -> dict:
    """A text in pieces, for study.json: {"pieces", "unknown": the numbers of the unknown ones from 0, "whole"}.

    ▁ starts a word; an unknown piece is shown as its text. A text is whole if no word is split and no piece is unknown;
    one without a word of letters is whole if it is one piece.
    """
    encoding = candidate.tokenizer.encode(text, add_special_tokens=False)
    unknown = [place for place, number in enumerate(encoding.ids) if number == candidate.unknown]
    pieces = []
    for place, (token, (start, end)) in enumerate(zip(encoding.tokens, encoding.offsets, strict=True)):
        if place in unknown:
            pieces.append(text[start:end].strip())
        else:
            starts_word, spelled = candidate.convention.spelled(token)
            pieces.append(BOUNDARY * starts_word + spelled)
    counts = count(candidate, text, encoding)
    whole = counts.whole == counts.words if counts.words else len(pieces) == 1
    return {"pieces": pieces, "unknown": unknown, "whole": whole and not counts.unknown}
