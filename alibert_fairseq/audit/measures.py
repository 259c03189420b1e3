"""The measurements of an audit, in steps that each leave a file, so that a stopped audit resumes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import torch
from fairseq.data import Dictionary

from alibert_common.executors.base import ALONE
from alibert_common.files import read_json, write_json
from alibert_fairseq.audit.exposure import Probe, exposures, probes_of
from alibert_fairseq.audit.extraction import Case, cases_of, filled_in
from alibert_fairseq.audit.membership import losses
from alibert_fairseq.audit.texts import Data, Text
from alibert_fairseq.audit.vocabulary import Vocabulary, patients_of_pieces, patients_of_words
from alibert_fairseq.audit.word_scores import WordScorer
from alibert_fairseq.data.dictionary import load_dictionary
from alibert_fairseq.hf.checkpoint import read_checkpoint
from alibert_fairseq.lineage.run import Run
from preprocess.canaries.canaries import read_canaries
from preprocess.tokenizer.load import load_tokenizer

AT_ONCE = 100  # documents of a step
MOST_MASKINGS = 20  # Mireshghallah et al.'s code
# Tokens that all models read, at most, as a share of those of the training. Without a gradient a token costs a third.
SHARE_OF_TOKENS = 0.15
MODELS = ("audited", "reference")


@dataclass(frozen=True)
class Subject:
    """What is audited: a run, its data, a reference model, and what is drawn of them with the seed."""

    run: Run
    data_bin: Path
    data: Data
    checkpoints: dict[str, Path]  # of MODELS
    texts: list[Text]  # to test
    seed: int

    @cached_property
    def dictionary(self) -> Dictionary:
        """The dictionary of the data-bin."""
        return load_dictionary(self.data_bin)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Its words."""
        return Vocabulary.of(self.dictionary)

    @cached_property
    def probes(self) -> list[Probe]:
        """The canaries with their candidates."""
        tokenizer, dictionary = load_tokenizer(self.data_bin), self.dictionary
        canaries = read_canaries(self.data_bin)
        return probes_of(canaries, tokenizer, dictionary.bos(), dictionary.eos(), self.seed) if canaries else []

    @cached_property
    def cases(self) -> list[Case]:
        """The names and numbers to fill in."""
        return cases_of(self.texts, self.vocabulary, load_tokenizer(self.data_bin), self.seed)

    @cached_property
    def maskings(self) -> int:
        """Maskings of each document, as many as the share of tokens allows."""
        tokens = len(MODELS) * sum(len(row) for text in self.texts for row in text.rows)
        return int(np.clip(SHARE_OF_TOKENS * self.run.tokens / tokens, 1, MOST_MASKINGS))

    def scorer(self, path: Path) -> WordScorer:
        """The model of a checkpoint; the last one stays in memory."""
        return _scorer(path, self.data_bin)


@lru_cache(1)
def _scorer(path: Path, data_bin: Path) -> WordScorer:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return WordScorer(read_checkpoint(path, load_dictionary(data_bin)), device)


@dataclass(frozen=True)
class Measure:
    """The task of an audit; an item is the name of a step with its numbers."""

    subject: Subject
    folder: Path

    def done(self, step: tuple) -> Path:
        """The result of a step."""
        return self.folder / ("-".join(map(str, step)) + ".json")

    def result(self, *step: object) -> list:
        """The values that a step has left."""
        return read_json(self.done(step))["values"]

    def __call__(self, step: tuple) -> None:
        name, *rest = step
        began = time.monotonic()
        values = getattr(self, f"_{name}")(*rest)
        write_json(self.done(step), {"values": values, "seconds": time.monotonic() - began})

    def steps(self) -> list[tuple]:
        """All steps, those of one model side by side."""
        subject = self.subject
        found: list[tuple] = [("exposure", updates) for updates in subject.run.checkpoints if subject.probes]
        for model in MODELS:
            found += [("losses", model, first) for first in range(0, len(subject.texts), AT_ONCE)]
            found.append(("filled", model))
        return [*found, ("words",), ("pieces",)]

    def run(self) -> float:
        """Take all steps that are not done; returns the seconds of all, also of those of an earlier command."""
        ALONE.run("auditing", self, self.steps(), self.folder)
        return sum(read_json(self.done(step))["seconds"] for step in self.steps())

    def losses(self, model: str) -> np.ndarray:
        """(N, 2) of all documents."""
        firsts = range(0, len(self.subject.texts), AT_ONCE)
        return np.concatenate([np.array(self.result("losses", model, first)) for first in firsts])

    def _exposure(self, updates: int) -> list:
        subject = self.subject
        return exposures(subject.scorer(subject.run.checkpoints[updates]), subject.probes).tolist()

    def _losses(self, model: str, first: int) -> list:
        subject, special = self.subject, self.subject.vocabulary.special
        some: Sequence[Text] = subject.texts[first : first + AT_ONCE]
        scorer = subject.scorer(subject.checkpoints[model])
        return losses(scorer, some, special, subject.maskings, subject.seed, first).tolist()

    def _filled(self, model: str) -> list:
        return filled_in(self.subject.scorer(self.subject.checkpoints[model]), self.subject.cases).tolist()

    def _words(self) -> list:
        wanted = {case.word for case in self.subject.cases}
        return list(patients_of_words(self.subject.data.train, self.subject.vocabulary, wanted).items())

    def _pieces(self) -> list:
        return patients_of_pieces(self.subject.data.train, len(self.subject.dictionary)).tolist()
