"""FrenchMedMCQA (Labrak et al., 2022): questions of pharmacy exams, each with options a to e, one or several right."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from downstream.data.examples import Candidates
from downstream.data.readers.records import distinct, field, json_of, texts


def read(path: Path, counts: Counter) -> list[Candidates]:
    """A question each, its options in the order of their letters.

    Raises InputError for a question without a right option, or with one that it does not have.
    """
    return distinct(_items(path), counts)


def _items(file: Path) -> Iterator[tuple[str, Candidates]]:
    questions = json_of(file)
    if not isinstance(questions, list):
        raise InputError(f"{file}: not a list of questions; give the file as FrenchMedMCQA has it.")
    for number, record in enumerate(questions, 1):
        place = f"{file}, question {number}"
        options = field(record, "answers", dict, place)
        letters = sorted(options)
        right = texts(record, "correct_answers", place)
        if not right or not set(right) <= set(letters):
            raise InputError(f"{place}: correct_answers is {right}; one or several of {', '.join(letters)} are needed.")
        yield (
            place,
            Candidates(
                field(record, "id", str, place),
                field(record, "question", str, place),
                tuple(field(options, letter, str, place) for letter in letters),
                tuple(position for position, letter in enumerate(letters) if letter in right),
            ),
        )
