"""Baselines by name."""

from downstream.learners.baselines.base import Baseline
from downstream.learners.baselines.cosine import TfidfCosine
from downstream.learners.baselines.crf import Crf
from downstream.learners.baselines.dictionary import Dictionary
from downstream.learners.baselines.majority import Majority
from downstream.learners.baselines.neural import Cnn, OverWords, Rnn
from downstream.learners.baselines.tfidf_svm import TfidfSvm

BASELINES: dict[str, type[Baseline] | type[OverWords]] = {
    one.name: one for one in (Majority, Dictionary, Crf, TfidfCosine, TfidfSvm, Cnn, Rnn)
}
