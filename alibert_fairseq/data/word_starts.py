"""Where words start in a dictionary, by the tokenizer's own marks, so that whole words can be masked."""

import numpy as np
from fairseq.data import Dictionary

from alibert_fairseq.data.dictionary import subword_ids
from preprocess.tokenizer.word_starts import starts_by, word_mark


def word_starts(dictionary: Dictionary) -> np.ndarray:
    """(V,) bool: whether a subword starts a word, by its mark.

    Raises InputError for a dictionary of another convention.
    """
    mark = word_mark([dictionary[i] for i in subword_ids(dictionary)])
    return starts_by(mark, [dictionary[i] for i in range(len(dictionary))])
