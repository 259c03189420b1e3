"""sentencepiece's own sampler and ours draw from one law: the exact one of the same pieces and scores."""

import json
from collections import Counter

import numpy as np
import pytest
import sentencepiece
from segmentations import farthest, probabilities
from text_helpers import PAPER, real_lines, trained, trained_on_real_text

from preprocess.databin.line_encoder import LineEncoder
from preprocess.databin.subword_regularization import MOST_ALPHA, Sampling, SubwordSampler
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import read_layout
from tests.parity.test_tokenizer_sentencepiece import as_sentencepiece

DRAWS = 100_000  # each frequency within 5 standard deviations; seeds are fixed
WORDS = ["patients", "douleurs", "traitement", "hépatique", "fièvre", "38"]  # 3 to 153 segmentations


def ours(directory, word, alpha):
    """How often each segmentation is drawn of a word that fills a line, DRAWS lines."""
    encoder = LineEncoder(load_tokenizer(directory), read_layout(directory))
    ((ids, sizes),) = SubwordSampler(encoder, Sampling(1, alpha)).encode([word] * DRAWS, 0, 0)
    items = np.split(ids, np.cumsum(sizes)[:-1])
    drawn = Counter(item[:-1].tobytes() for item in items)
    pieces = {data: np.frombuffer(data, ids.dtype).tolist() for data in drawn}
    return Counter({tuple(map(encoder.tokenizer.id_to_token, pieces[data])): n for data, n in drawn.items()})


def theirs(processor, word, alpha):
    """The same of sentencepiece, which puts the `▁` before the word."""
    sentencepiece.set_random_generator_seed(1)
    sampled = processor.encode(
        [word] * DRAWS, out_type=str, enable_sampling=True, nbest_size=-1, alpha=alpha, num_threads=1
    )
    return Counter(map(tuple, sampled))


@pytest.mark.parametrize("alpha", [0.1, 0.3])
@pytest.mark.parametrize("word", WORDS)
def test_both_samplers_follow_the_exact_law(word, alpha):
    tokenizer = load_tokenizer(trained(PAPER))
    scores = dict(json.loads(tokenizer.to_str())["model"]["vocab"])
    expected = probabilities(f"▁{word}", scores, alpha)
    assert max(expected.values()) < 0.999  # there is something to draw
    for counts in (ours(trained(PAPER), word, alpha), theirs(as_sentencepiece(tokenizer), word, alpha)):
        assert farthest(counts, expected, DRAWS) < 5


def test_with_a_large_alpha_real_text_has_the_tokenizer_s_own_ids(shared_data):
    directory = trained_on_real_text(shared_data)
    encoder, lines = LineEncoder(load_tokenizer(directory), read_layout(directory)), real_lines(shared_data)[::4]
    ((ids, sizes),) = SubwordSampler(encoder, Sampling(1, MOST_ALPHA)).encode(lines, 0, 0)
    expected, expected_sizes = encoder.encode(lines)
    assert len(expected) > 150_000 and np.array_equal(ids, expected) and np.array_equal(sizes, expected_sizes)
