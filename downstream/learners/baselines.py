"""Baselines by name."""

from downstream.learners.baseline import Baseline
from downstream.learners.cosine import TfidfCosine
from downstream.learners.crf import Crf
from downstream.learners.dictionary import Dictionary
from downstream.learners.majority import Majority
from downstream.learners.neural import Cnn, OverWords, Rnn
from downstream.learners.tfidf_svm import TfidfSvm

BASELINES: dict[str, type[Baseline] | type[OverWords]] = {
    one.name: one for one in (Majority, Dictionary, Crf, TfidfCosine, TfidfSvm, Cnn, Rnn)
}
