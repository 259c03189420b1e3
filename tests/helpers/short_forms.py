"""Cases of slow tests: some always run, the others with `--long`."""

from collections.abc import Iterable

import pytest


def short_form(cases: Iterable, *always) -> list:
    """The cases for `pytest.mark.parametrize`; those that are not in `always` are marked as long."""
    cases = list(cases)
    assert all(case in cases for case in always)

    def marked(case):
        values = case if isinstance(case, tuple) and type(case) is tuple else (case,)
        return case if case in always else pytest.param(*values, marks=pytest.mark.long)

    return [marked(case) for case in cases]
