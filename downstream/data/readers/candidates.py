"""Questions with candidates, in French: FrenchMedMCQA's json, RefoMed's tables; and fewer candidates of a question."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from alibert_common.errors import InputError
from downstream.data.examples import Candidates
from downstream.data.readers.columns import Row, rows
from downstream.data.readers.records import distinct, field, json_of, texts


@distinct
def read_frenchmedmcqa(path: Path, counts: Counter) -> Iterator[tuple[str, Candidates]]:
    """Questions of pharmacy exams (Labrak et al., 2022), their options in the order of their letters a to e.

    Raises InputError for a question without a right option, or with one that it does not have.
    """
    questions = json_of(path)
    if not isinstance(questions, list):
        raise InputError(f"{path}: not a list of questions; give the file as FrenchMedMCQA has it.")
    for number, record in enumerate(questions, 1):
        place = f"{path}, question {number}"
        options = field(record, "answers", dict, place)
        letters = sorted(options)
        right = texts(record, "correct_answers", place)
        if not right or not set(right) <= set(letters):
            raise InputError(f"{place}: correct_answers is {right}; one or several of {', '.join(letters)} are needed.")
        name, question = field(record, "id", str, place), field(record, "question", str, place)
        answers = tuple(field(options, letter, str, place) for letter in letters)
        places = tuple(position for position, letter in enumerate(letters) if letter in right)
        yield place, Candidates(name, question, answers, places)


def read_refomed(path: Path, counts: Counter) -> list[Candidates]:
    """Medical terms and their paraphrases (Buhnila, 2023), in tables divided by tabs although named .csv.

    A ranking for each term: the question is the term, the candidates are all paraphrases of the file, its own right.
    Rows of one term (also in other case) make one item, with several right paraphrases; a paraphrase of several terms
    is one candidate. Both are counted. Items share their candidates: fewer_candidates makes these fewer.
    """
    terms: dict[str, list[Row]] = {}
    candidates: dict[str, int] = {}
    for row in rows(path, {"term": "term", "paraphrase": "paraphrase"}, counts, delimiter="\t", quoted=False):
        terms.setdefault(row.text("term").strip().casefold(), []).append(row)
        candidates.setdefault(row.text("paraphrase").strip(), len(candidates))
    pairs = sum(map(len, terms.values()))
    counts["pairs of a term that has others"] += pairs - len(terms)
    counts["pairs of a paraphrase that has others"] += pairs - len(candidates)
    paraphrases, items = tuple(candidates), []
    for group in terms.values():
        right = tuple(sorted({candidates[row.text("paraphrase").strip()] for row in group}))
        items.append(Candidates(group[0].name, group[0].text("term").strip(), paraphrases, right))
    return items


def fewer_candidates(items: Iterable[Candidates], wrong: int, seed: int) -> list[Candidates]:
    """Each item with its right candidates and `wrong` of the others, drawn anew for each, in the order they had.

    What is drawn depends on the seed, the item's id and its number of candidates alone, so not on the other items. For
    a model that reads question and candidate together, and could not rank all of them.
    """
    fewer = []
    for item in items:
        others = sorted(set(range(len(item.candidates))) - set(item.right))
        drawn = random.Random(f"{seed} {item.id}").sample(others, min(wrong, len(others)))
        kept = sorted([*item.right, *drawn])
        right = tuple(position for position, candidate in enumerate(kept) if candidate in item.right)
        fewer.append(replace(item, candidates=tuple(item.candidates[number] for number in kept), right=right))
    return fewer
