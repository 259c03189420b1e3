"""BioASQ's task B (Tsatsaronis et al., 2015): json with questions, snippets of abstracts and exact answers.

Files for training and golden files of the test batches have the same form. Questions are of type factoid, list, yesno
or summary; the last have no exact answer.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alibert_common.errors import InputError
from alibert_common.files import files_of
from downstream.data.annotated_text import Labels
from downstream.data.examples import LabelledText, ReadingQuestion
from downstream.data.readers.records import distinct, field, json_of, texts

TYPES = ("factoid", "list", "yesno", "summary")
CONTEXTS = ("snippets", "ideal_answer")
# Not "No evidence", "No-one": there the word is part of the sentence.
LEADING_ANSWER = re.compile(r"\A\s*(?:yes|no)(?:\s*[.,;:!?…–—]+|\s-+(?=\s)|\s*$)\s*", re.IGNORECASE)


@distinct
def read_texts(
    path: Path, labels: Labels, counts: Counter, *, context: str = "snippets"
) -> Iterator[tuple[str, LabelledText]]:
    """The questions of type yesno; the others are counted.

    context: the second text, snippets (a line each) as in the challenge, or ideal_answer as in Bio-ELECTRA, section 3:
    without a yes or no at its beginning, if punctuation or nothing is after that. A question without snippets has no
    second text, and is counted.
    """
    if context not in CONTEXTS:
        raise InputError(f"{path}: the context {context!r} is not known; choose one of {', '.join(CONTEXTS)}.")
    for place, record in _questions(path, ("yesno",), counts):
        label = labels.keep(field(record, "exact_answer", str, place), place, counts, "texts")
        if label is not None:
            if context == "snippets":
                second = _snippets(record, place, counts)
            else:
                ideal = record.get("ideal_answer")
                answers = [ideal] if isinstance(ideal, str) else texts(record, "ideal_answer", place)
                second = tuple(LEADING_ANSWER.sub("", answer) for answer in answers)
            name, question = field(record, "id", str, place), field(record, "body", str, place)
            yield place, LabelledText(name, question, (label,), "\n".join(second) or None)


@distinct
def read_questions(path: Path, counts: Counter) -> Iterator[tuple[str, ReadingQuestion]]:
    """The questions of type factoid and list, with their snippets as contexts; the others are counted.

    places: wherever a form of an answer stands in a snippet as whole words, in upper or lower case. Questions without
    one are kept, since they count in the scores, and are counted.
    """
    for place, record in _questions(path, ("factoid", "list"), counts):
        contexts, answers = _snippets(record, place, counts), _answers(record, place)
        places = _places(contexts, [form for forms in answers for form in forms])
        counts["questions whose answer is in no snippet"] += not places
        name, question = field(record, "id", str, place), field(record, "body", str, place)
        yield place, ReadingQuestion(name, question, contexts, answers, places, record["type"] == "list")


def _questions(path: Path, wanted: tuple[str, ...], counts: Counter) -> Iterator[tuple[str, dict]]:
    for file in files_of(path, ".json"):
        for number, record in enumerate(field(json_of(file), "questions", list, f"{file}"), 1):
            place = f"{file}, question {number}"
            kind = field(record, "type", str, place)
            if kind not in TYPES:
                raise InputError(f"{place}: the type {kind!r} is none of {', '.join(TYPES)}; correct the question.")
            if kind in wanted:
                yield place, record
            else:
                counts[f"questions of type {kind} left out"] += 1


def _snippets(record: dict, place: str, counts: Counter) -> tuple[str, ...]:
    snippets = field(record, "snippets", list, place) if "snippets" in record else []
    counts["questions without snippets"] += not snippets
    return tuple(field(snippet, "text", str, place) for snippet in snippets)


def _answers(record: dict, place: str) -> tuple[tuple[str, ...], ...]:
    """The exact answers, each with its forms.

    A factoid has one answer: a text, a list of forms, or a list of such lists. A list has a list of answers, each a
    text or a list of forms.
    """
    exact = record.get("exact_answer")
    given = exact if isinstance(exact, list) else [exact]
    groups: list[Any] = [[group] if isinstance(group, str) else group for group in given]
    if record["type"] == "factoid" and all(isinstance(group, list) for group in groups):
        groups = [[form for group in groups for form in group]]
    if not all(isinstance(group, list) and all(isinstance(form, str) for form in group) for group in groups):
        raise InputError(
            f"{place}: exact_answer is {exact!r}; texts or lists of texts are needed: a file with answers."
        )
    answers = tuple(tuple(dict.fromkeys(form.strip() for form in group if form.strip())) for group in groups)
    if not answers or not all(answers):
        raise InputError(f"{place}: exact_answer is {exact!r}, in which an answer is empty; correct the question.")
    return answers


def _places(contexts: tuple[str, ...], forms: list[str]) -> tuple[tuple[int, int, int], ...]:
    """Sorted, each once. Letters and digits beside a form make it part of another word."""
    patterns = [re.compile(rf"(?<!\w){re.escape(form)}(?!\w)", re.IGNORECASE) for form in forms]
    places = {
        (number, *match.span())
        for number, context in enumerate(contexts)
        for pattern in patterns
        for match in pattern.finditer(context)
    }
    return tuple(sorted(places))
