"""The part of a fairseq dataset that follows from the lengths of its samples."""

import numpy as np


class Sized:
    """Answers fairseq's questions about lengths from `_sizes`, (N,) tokens a sample; to be named before a dataset."""

    _sizes: np.ndarray

    def __len__(self):
        return len(self._sizes)

    @property
    def sizes(self):
        return self._sizes

    def size(self, index):
        return self._sizes[index]

    num_tokens = size
