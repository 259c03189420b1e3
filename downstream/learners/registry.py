"""The learners by name: which families each serves and which options it uses. Their classes are imported when used."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from downstream.learners.base import Learner

OF_TEXTS = ("classification", "relations", "similarity", "choice", "ranking")  # families of tasks/texts.py
OF_COSINES = ("similarity", "ranking")  # an answer is a number a pair, and only its order or its slope counts
ALL = ("ner", *OF_TEXTS, "extractive_qa")
MACHINE = frozenset(("--bf16", "--device cuda"))
TRAINED = MACHINE | {"--protocol", "--set"}


class Kind(NamedTuple):
    """A kind of learner. place: module and class, below downstream.learners. options: those that change its scores."""

    name: str
    place: str
    families: tuple[str, ...]
    options: frozenset[str] = frozenset()

    @property
    def has_protocol(self) -> bool:
        """Whether a protocol says how it is trained."""
        return "--protocol" in self.options

    def load(self) -> "Callable[..., Learner]":
        """Its class."""
        module, name = self.place.split(":")
        return getattr(import_module(f"downstream.learners.{module}"), name)


ENCODER = Kind("encoder", "encoder:Encoder", ALL, TRAINED | {"--selection", "--random-init", "--frozen"})
FORMED = TRAINED | {"--selection", "--random-init", "--form"}
FORMS = {  # the stronger forms, in place of the plain head
    kind.name: kind
    for kind in (
        Kind("tagger", "tagger:TaggerLearner", ("ner",), FORMED),
        Kind("bi-encoder", "bi_encoder:BiEncoder", ("ranking",), FORMED),
        Kind("label-attention", "label_attention:LabelAttentionLearner", ("classification",), FORMED),
    )
}
COSINE = Kind("cosine", "baselines.cosine:EncoderCosine", OF_COSINES, MACHINE | {"--cosine"})
BASELINES = {
    kind.name: kind
    for kind in (
        Kind("majority", "baselines.majority:Majority", ALL),
        Kind("dictionary", "baselines.dictionary:Dictionary", ("ner",)),
        Kind("crf", "baselines.crf:Crf", ("ner",)),
        Kind("crf_clusters", "baselines.crf:ClusteredCrf", ("ner",), frozenset({"--vectors-text", "--vectors-model"})),
        Kind("tfidf_cosine", "baselines.cosine:TfidfCosine", OF_COSINES),
        Kind("tfidf_svm", "baselines.tfidf_svm:TfidfSvm", OF_TEXTS),
        Kind("cnn", "baselines.neural:Cnn", OF_TEXTS, TRAINED | {"--vectors-text"}),
        Kind("rnn", "baselines.neural:Rnn", (*OF_TEXTS, "ner"), TRAINED | {"--vectors-text"}),
    )
}
# downstream.evaluate compares models with these. random: the first model without its weights. frozen, forms, cosine:
# each model.
EVALUATED = ("random", "frozen", *FORMS, "cosine", *BASELINES)
