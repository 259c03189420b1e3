"""Cases of slow tests: some always run, the long ones with `--long`."""

from collections.abc import Iterable

import pytest


def long_except(cases: Iterable, *always) -> list:
    """The cases for `pytest.mark.parametrize`; those that are not in `always` are marked as long."""
    cases = list(cases)
    assert all(case in cases for case in always)

    def marked(case):
        values = case if type(case) is tuple else (case,)
        return case if case in always else pytest.param(*values, marks=pytest.mark.long)

    return [marked(case) for case in cases]
