"""Calls of the readers of items, shared by their tests."""

import pytest

from downstream.files import InputError
from downstream.readers import read_items


def refused(read, path, labels=None, **settings) -> str:
    """The one sentence that `read` refuses `path` with."""
    with pytest.raises(InputError) as error:
        read_items(read, path, labels, **settings)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence
