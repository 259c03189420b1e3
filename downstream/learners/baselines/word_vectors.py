"""fastText vectors: sums over the n-grams of letters in a word, so that one never met in training has a vector, too."""

import sys
from collections import Counter
from collections.abc import Iterable

import numpy as np

from alibert_common.errors import InputError
from downstream.data.spans import words_of

SIZE = 100  # fastText's default; its published French vectors have 300, which these small texts would not fill
# Skip-grams over 5 words, n-grams of 3 to 6 letters, 5 drawn negatives: fastText's defaults. Theirs are also words met
# 5 times, 5 epochs and 2,000,000 places for n-grams, for corpora of billions of words; training splits have some
# 100,000 words, in which half of the vocabulary is met less often.
SETTINGS = {
    "sg": 1,
    "vector_size": SIZE,
    "window": 5,
    "min_n": 3,
    "max_n": 6,
    "negative": 5,
    "min_count": 2,
    "epochs": 10,
    "bucket": 100_000,
    "seed": 1,  # of vectors; runs draw networks and batches, as runs of an encoder have the same encoder
}
SMALLEST = 1e-8  # deviation: there may be a single word


class WordIds:
    """Tells words by numbers, letters' case apart, in the manner of a tokenizer of transformers.

    Numbers are given in the order in which words are met, in training or later: they say nothing of a word.
    """

    PADDING, EDGE = 0, 1  # beside and between texts

    def __init__(self):
        self.numbers: dict[str, int] = {"": self.PADDING, "\n": self.EDGE}  # neither can be a word

    def __len__(self) -> int:
        return len(self.numbers)

    def __call__(self, texts: list[str], **options) -> dict[str, list]:
        """input_ids and offset_mapping of each text; `options` of other tokenizers have no meaning here."""
        offsets = [words_of(text) for text in texts]
        pairs = zip(texts, offsets, strict=True)
        lowered = ([text[start:end].lower() for start, end in ranges] for text, ranges in pairs)
        ids = [[self.numbers.setdefault(word, len(self.numbers)) for word in words] for words in lowered]
        return {"input_ids": ids, "offset_mapping": offsets}


class Vectors:
    """Learned from lines of text."""

    def __init__(self, lines: Iterable[str]):
        """Raises InputError for texts that hold no word twice."""
        from gensim.models import FastText  # here: it takes seconds, and only these baselines need it

        words = [[sys.intern(line[start:end].lower()) for start, end in words_of(line)] for line in lines]
        if max(Counter(word for own in words for word in own).values(), default=0) < SETTINGS["min_count"]:
            raise InputError("the text that word vectors are learned from has no word twice; give more of it.")
        self.vectors = FastText(sentences=words, workers=1, **SETTINGS).wv  # several workers would race
        known = self.vectors.vectors  # (words met in training, SIZE)
        self.mean, self.deviation = known.mean(axis=0), known.std(axis=0) + SMALLEST

    def rows(self, words: WordIds) -> np.ndarray:
        """(words, SIZE), float32; zeros beside and between texts.

        Every coordinate has mean 0 and deviation 1 over the words of training: what few texts teach leaves vectors
        small and much alike, and networks begin with weights that are made for such inputs.
        """
        table = np.zeros((len(words), SIZE), dtype=np.float32)
        for word, number in words.numbers.items():
            if number > words.EDGE:
                table[number] = (self.vectors[word] - self.mean) / self.deviation
        return table

    @property
    def num_parameters(self) -> int:
        """Of words met in training and of n-grams."""
        return self.vectors.vectors_vocab.size + self.vectors.vectors_ngrams.size
