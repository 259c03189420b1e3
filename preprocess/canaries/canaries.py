"""Canaries: which secrets are planted, how often, in which sentences, and as which documents."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from alibert_common.errors import InputError
from alibert_common.files import read_json, write_json
from preprocess.canaries.secrets import SENTENCES, draw_secret
from preprocess.documents.document import PATIENT, Document

FILE = "canaries.json"  # in a data-bin
SOURCE = "canaries"  # of their documents: a corpus of its own, whose documents are drawn among all others
COPIES = (1, 4, 16, 64)


@dataclass(frozen=True)
class Canary:
    """A secret in a sentence, and in how many documents it stands; each is of another invented patient."""

    id: str
    kind: str  # of SENTENCES
    sentence: str  # with {} in the place of the secret
    secret: str
    copies: int

    @property
    def text(self) -> str:
        """The sentence with its secret."""
        return self.sentence.format(self.secret)


@dataclass(frozen=True)
class CanaryRule:
    """What is planted: `each` canaries for each number of copies."""

    each: int
    copies: tuple[int, ...] = COPIES
    seed: int = 1


def plan_canaries(rule: CanaryRule) -> list[Canary]:
    """The canaries of a rule, of all kinds in turn, all different."""
    generator = np.random.default_rng((rule.seed, 0))
    planned, known = list[Canary](), set[str]()
    for number in rule.copies:
        for place in range(rule.each):
            kind = list(SENTENCES)[place % len(SENTENCES)]
            sentences = SENTENCES[kind]
            sentence = sentences[int(generator.integers(len(sentences)))]
            secret = draw_secret(kind, generator)
            while secret in known:
                secret = draw_secret(kind, generator)
            known.add(secret)
            planned.append(Canary(f"canary-{number}-{place + 1}", kind, sentence, secret, number))
    return planned


def documents_of(canaries: Sequence[Canary]) -> Iterator[Document]:
    """A document for each copy."""
    for canary in canaries:
        for copy in range(1, canary.copies + 1):
            name = f"{canary.id}-copy-{copy}"
            yield Document(name, SOURCE, [canary.text], metadata={PATIENT: name})


def write_canaries(data_bin: Path, rule: CanaryRule) -> None:
    """Write canaries.json of a data-bin."""
    write_json(data_bin / FILE, {"rule": asdict(rule), "canaries": [asdict(one) for one in plan_canaries(rule)]})


def read_canaries(data_bin: Path) -> list[Canary]:
    """The canaries of a data-bin, none where it has none. Raises InputError for a damaged file."""
    file = data_bin / FILE
    if not file.is_file():
        return []
    try:
        return [Canary(**canary) for canary in read_json(file)["canaries"]]
    except (KeyError, TypeError):
        raise InputError(f"{file}: is no list of canaries; make the data-bin again.") from None
