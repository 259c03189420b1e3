"""Fewer candidates a question, where a model that reads question and candidate together could not rank all of them."""

import random
from collections.abc import Iterable
from dataclasses import replace

from downstream.data.examples import Candidates


def fewer_candidates(items: Iterable[Candidates], wrong: int, seed: int) -> list[Candidates]:
    """Each item with its right candidates and `wrong` of the others, drawn anew for each, in the order they had.

    What is drawn depends on the seed, the item's id and its number of candidates alone, so not on the other items.
    """
    return [_fewer(item, wrong, random.Random(f"{seed} {item.id}")) for item in items]


def _fewer(item: Candidates, wrong: int, generator: random.Random) -> Candidates:
    others = sorted(set(range(len(item.candidates))) - set(item.right))
    kept = sorted([*item.right, *generator.sample(others, min(wrong, len(others)))])
    right = tuple(position for position, candidate in enumerate(kept) if candidate in item.right)
    return replace(item, candidates=tuple(item.candidates[one] for one in kept), right=right)
