"""How often each corpus is used beside the others: what a user asks for, and the weights that come of it."""

import argparse
from collections.abc import Collection
from dataclasses import dataclass

from alibert_common.cli import share_or_one
from alibert_common.errors import InputError
from preprocess.mixing.mix_file import equal_weights, parse_weights, temperature_weights


@dataclass(frozen=True)
class MixWeights:
    """Where weights come from: `weights` as given, or the `core`, or `alpha`; nothing asked for is no opinion."""

    weights: str = ""  # name=weight,name=weight
    core: str = ""  # name,name: together as large as the other corpora together
    alpha: float | None = None  # shares proportional to size ** alpha

    def check(self, corpora: Collection[str]) -> None:
        """Raise InputError for a name that is none of these corpora."""
        named = [("--weights", name) for name in (parse_weights(self.weights) if self.weights else ())]
        named += [("--core", name) for name in (self.core.split(",") if self.core else ())]
        for option, name in named:
            if name not in corpora:
                raise InputError(f"{option} names {name}; the documents are of {', '.join(corpora)}.")

    def of(self, sizes: dict[str, int], otherwise: dict[str, float] | None = None) -> dict[str, float]:
        """{name: weight}, by the bytes of each corpus; `otherwise`, or 1, when nothing is asked for.

        Raises InputError for names that are no corpus, and for a corpus that has no weight.
        """
        self.check(sizes)
        if self.weights:
            given = parse_weights(self.weights)
            if left_out := sizes.keys() - given.keys():
                raise InputError(f"--weights leaves out {', '.join(sorted(left_out))}; give each corpus a weight.")
            return {name: given[name] for name in sizes}
        if self.core:
            core = self.core.split(",")
            return dict(zip(sizes, equal_weights(list(sizes.values()), [name in core for name in sizes]), strict=True))
        if self.alpha is not None:
            return dict(zip(sizes, temperature_weights(list(sizes.values()), self.alpha), strict=True))
        return otherwise or dict.fromkeys(sizes, 1.0)


DEFAULT_WEIGHTS = MixWeights()


def add_weight_options(parser: argparse.ArgumentParser, default: str = "1 for all") -> None:
    """The options that `mix_weights_of` reads. `default` describes the weights of a user who gives none."""
    add = parser.add_mutually_exclusive_group().add_argument
    # fmt: off
    add("--weights", default="", metavar="NAME=W,NAME=W",
        help=f"weight of each corpus, as core=10,web=1 (default: {default})")
    add("--core", default="", metavar="NAME,NAME",
        help="corpora that together weigh as much as all others together, as in ouBioBERT")
    add("--alpha", type=share_or_one, metavar="A",
        help="exponent of the sizes that give the shares (1: unchanged, 0: equal; XLM-R: 0.3)")
    # fmt: on


def mix_weights_of(options: argparse.Namespace) -> MixWeights:
    """The weights that the user gave."""
    return MixWeights(options.weights, options.core, options.alpha)
