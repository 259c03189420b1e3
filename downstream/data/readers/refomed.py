"""RefoMed (Buhnila, 2023): medical terms and their paraphrases, in tables divided by tabs although named .csv."""

from collections import Counter
from pathlib import Path

from downstream.data.examples import Candidates
from downstream.data.readers.columns import Row, rows


def read(path: Path, counts: Counter) -> list[Candidates]:
    """A ranking for each term: the question is the term, the candidates are all paraphrases of the file, its own right.

    Rows of one term (also in other case) make one item, with several right paraphrases; a paraphrase of several terms
    is one candidate. Both are counted. Items share their candidates: ranking.fewer_candidates makes these fewer.
    """
    terms: dict[str, list[Row]] = {}
    candidates: dict[str, int] = {}
    for row in rows(path, {"term": "term", "paraphrase": "paraphrase"}, counts, delimiter="\t", quoted=False):
        terms.setdefault(row.text("term").strip().casefold(), []).append(row)
        candidates.setdefault(row.text("paraphrase").strip(), len(candidates))
    pairs = sum(map(len, terms.values()))
    counts["pairs of a term that has others"] += pairs - len(terms)
    counts["pairs of a paraphrase that has others"] += pairs - len(candidates)
    texts = tuple(candidates)
    return [
        Candidates(group[0].name, group[0].text("term").strip(), texts, _right(group, candidates))
        for group in terms.values()
    ]


def _right(group: list[Row], candidates: dict[str, int]) -> tuple[int, ...]:
    return tuple(sorted({candidates[row.text("paraphrase").strip()] for row in group}))
