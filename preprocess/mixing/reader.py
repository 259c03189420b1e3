"""The corpora to train on: the output of preprocess.mix, in which each has documents and a weight, or plain files."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from alibert_common.directories import Marker
from alibert_common.errors import InputError
from alibert_common.files import read_json
from preprocess.documents.document import Size
from preprocess.mixing.mix_file import TRAIN, read_mix
from preprocess.mixing.weights import MixWeights

VALID = "valid"
MARKER = Marker.of_command("mix")  # a data-bin has a mix.json too


@dataclass
class Corpus:
    """The training documents of one corpus. The size of their text has 0 documents where it is not known."""

    name: str
    paths: list[Path]
    weight: float = 1.0
    size: Size = field(default_factory=Size)


def read_corpora(paths: list[Path]) -> list[Corpus]:
    """The corpora of a mix, when `paths` is one directory of preprocess.mix; else one corpus of all paths."""
    if not is_mix(paths):
        return [Corpus("text", paths)]
    [directory] = paths
    weights = read_mix(directory)
    if weights is None:
        raise InputError(f"{directory}: its mix.json is missing; make it again with `python -m preprocess.mix`.")
    manifest = read_json(directory / "manifest.json")
    try:
        sizes = {name: Size(**manifest["corpora"][name]["train"]) for name in weights}
    except (KeyError, TypeError):
        raise InputError(
            f"{directory}: its mix.json and its manifest.json do not fit; make it again with "
            "`python -m preprocess.mix`."
        ) from None
    return [Corpus(name, [directory / TRAIN / name], weight, sizes[name]) for name, weight in weights.items()]


def is_mix(paths: list[Path]) -> bool:
    """Whether `paths` is one directory of preprocess.mix."""
    return len(paths) == 1 and MARKER.is_in(paths[0])


def with_weights(corpora: list[Corpus], mix_weights: MixWeights) -> list[Corpus]:
    """The corpora with the weights that are asked for, in place of their own."""
    weights = mix_weights.of(
        {corpus.name: corpus.size.bytes for corpus in corpora}, {c.name: c.weight for c in corpora}
    )
    return [replace(corpus, weight=weights[corpus.name]) for corpus in corpora]
