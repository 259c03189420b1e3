"""Generated corpora, damaged in every way that files are: what can be read is, unchanged; the rest is told.

tests/campaigns/fuzz_ingest.py runs 500 of them, with lines of 100 MB.
"""

import pytest
from fuzz_corpora import DAMAGES, try_out


@pytest.mark.parametrize("damage", DAMAGES)
def test_nothing_is_lost_in_silence(tmp_path, damage):
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        outcome = try_out(seed, folder, {damage: DAMAGES[damage]})
        assert not outcome.wrong, (seed, outcome)
        assert outcome.records or outcome.counted
