"""Calls of the readers of items, shared by their tests."""

from collections import Counter
from pathlib import Path

import pytest

from alibert_common.errors import InputError
from downstream.data.annotated_text import Labels


def refused(read, path, labels=None, **settings) -> str:
    """The one sentence that `read` refuses `path` with."""
    with pytest.raises(InputError) as error:
        read_items(read, path, labels, **settings)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def read_items(read, path: Path, labels: Labels | None = None, **settings) -> tuple[list, Counter]:
    """Items of a split and what was counted on the way; labels: for readers of texts and relations only."""
    counts: Counter = Counter()
    if labels is None:
        return read(path, counts, **settings), counts
    items = read(path, labels, counts, **settings)
    labels.refuse_unknown()
    return items, counts
