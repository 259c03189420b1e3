"""Generated corpora, damaged in every way that files are: what can be read is, unchanged; the rest is told.

tests/campaigns/fuzz_ingest.py runs 500 of them, with lines of 100 MB.
"""

import pytest
from fuzz_corpora import DAMAGES, try_out
from long_cases import long_except


@pytest.mark.parametrize("seed", long_except(range(2), 0))
@pytest.mark.parametrize("damage", DAMAGES)
def test_nothing_is_lost_in_silence(tmp_path, damage, seed):
    outcome = try_out(seed, tmp_path, {damage: DAMAGES[damage]})
    assert not outcome.wrong, outcome
    assert outcome.records or outcome.counted
