"""Answers read in texts: exact match and F1 as in SQuAD's scripts, factoid and list questions as in BioASQ's tool."""

import re
import statistics
import string
from collections import Counter
from collections.abc import Sequence

from downstream.metrics.rows import plain_row, rates

# "en" is SQuAD's, for figures that are compared with published ones. French has no official script: du and des are here
# because they hold an article, and an elided article is made a whole one before punctuation goes.
ARTICLES = {"en": re.compile(r"\b(?:a|an|the)\b"), "fr": re.compile(r"\b(?:le|la|les|un|une|du|des)\b")}
ELIDED = re.compile(r"\bl['\N{RIGHT SINGLE QUOTATION MARK}]")
TYPOGRAPHIC = "«»“”‘…–—\N{RIGHT SINGLE QUOTATION MARK}"
PUNCTUATION = {
    "en": str.maketrans("", "", string.punctuation),
    "fr": str.maketrans("", "", string.punctuation + TYPOGRAPHIC),
}
FACTOID_ANSWERS = 5  # as many as BioASQ takes to a question


def normalise(text: str, language: str = "en") -> str:
    """Lower case; without punctuation, then without articles; words parted by one space. SQuAD's rule, in its order."""
    text = text.lower()
    if language == "fr":
        text = ELIDED.sub("le ", text)
    return " ".join(ARTICLES[language].sub(" ", text.translate(PUNCTUATION[language])).split())


def reading(gold: Sequence[Sequence[str]], predicted: Sequence[str], language: str = "en") -> dict:
    """Exact match and token F1 over all questions, and over those with and without an answer (None if there are none).

    gold: the accepted forms of each answer, the best of which counts; none where the text has no answer.
    predicted: one answer a question, "" for no answer.
    """
    pairs = [
        (bool(forms), exact_match(forms, answer, language), token_f1(forms, answer, language))
        for forms, answer in zip(gold, predicted, strict=True)
    ]
    return {
        **_means([pair[1:] for pair in pairs]),
        "answerable": _means([pair[1:] for pair in pairs if pair[0]]),
        "unanswerable": _means([pair[1:] for pair in pairs if not pair[0]]),
    }


def _means(pairs: list[tuple[float, float]]) -> dict:
    matches, f1 = (statistics.fmean(column) for column in zip(*pairs, strict=True)) if pairs else (None, None)
    return {"exact_match": matches, "f1": f1, "support": len(pairs)}


def exact_match(forms: Sequence[str], answer: str, language: str = "en") -> float:
    """1 if the answer, normalised, is one of the accepted forms; no form: if it is empty."""
    return float(normalise(answer, language) in _accepted(forms, language))


def _accepted(forms: Sequence[str], language: str) -> list[str]:
    """The forms, normalised; as in SQuAD 2.0's script those that are empty then do not count, unless all are."""
    return [kept for form in forms if (kept := normalise(form, language))] or [""]


def token_f1(forms: Sequence[str], answer: str, language: str = "en") -> float:
    """F1 of the words shared with the accepted form that shares most.

    SQuAD 2.0's rule where one side has no word left: 1 if neither has, else 0. Version 1.1 gives 0 then; both give the
    same on all other answers.
    """
    mine = normalise(answer, language).split()
    return max(_shared_f1(form.split(), mine) for form in _accepted(forms, language))


def _shared_f1(theirs: list[str], mine: list[str]) -> float:
    if not theirs and not mine:
        return 1.0
    return 2 * (Counter(theirs) & Counter(mine)).total() / (len(theirs) + len(mine))


def factoids(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict:
    """BioASQ's strict accuracy (first answer), lenient accuracy (any of five) and mean reciprocal rank.

    gold: the accepted forms of each answer. predicted: answers, the likeliest first; from the sixth on they are passed
    over. A question without an answer counts as wrong; BioASQ's tool leaves out those that a system does not hand in.
    """
    ranks = [factoid_reciprocal_rank(*pair) for pair in zip(gold, predicted, strict=True)]
    return {
        "strict_accuracy": statistics.fmean(rank == 1 for rank in ranks),
        "lenient_accuracy": statistics.fmean(rank > 0 for rank in ranks),
        "mean_reciprocal_rank": statistics.fmean(ranks),
        "support": len(ranks),
    }


def factoid_reciprocal_rank(forms: Sequence[str], answers: Sequence[str]) -> float:
    """1 / the rank of the first of five answers that is an accepted form, else 0; only case is passed over."""
    accepted = {form.lower() for form in forms}
    first = enumerate(answers[:FACTOID_ANSWERS], start=1)
    return next((1 / rank for rank, answer in first if answer.lower() in accepted), 0.0)


def lists(gold: Sequence[Sequence[Sequence[str]]], predicted: Sequence[Sequence[str]]) -> dict:
    """BioASQ's mean precision, recall and F1 of list questions: means of each question's, the F1 too.

    gold: the answers of each question, each with its accepted forms. predicted: one form of each answer.
    """
    of_questions = [list_rates(*pair) for pair in zip(gold, predicted, strict=True)]
    precision, recall, f1 = map(statistics.fmean, zip(*of_questions, strict=True))
    return plain_row(precision, recall, f1, len(of_questions))


def list_rates(answers: Sequence[Sequence[str]], predicted: Sequence[str]) -> tuple[float, float, float]:
    """Precision, recall and F1 of one list question; an answer given twice, also in two forms, is right once."""
    open_answers = [{form.lower() for form in forms} for forms in answers]
    for given in predicted:
        match = next((forms for forms in open_answers if given.lower() in forms), None)
        if match is not None:
            open_answers.remove(match)
    return rates(len(answers) - len(open_answers), len(predicted), len(answers))
