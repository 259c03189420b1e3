"""How many identifiers of invented letters are found, by label and by letter.

    python tests/campaigns/pseudonymise.py [--count 300] [--seed 1] [--held-out]

The letters are those of tests/helpers/identified_letters.py.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from preprocess.pseudonymisation.find import Rules
from preprocess.pseudonymisation.spans import LABELS, Span

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
import identified_letters  # noqa: E402


class Score(NamedTuple):
    """Shares from 0 to 1, each None where there is nothing to count."""

    recall: float | None  # of the identifiers, found with their label and exact place
    precision: float | None
    character_recall: float | None  # of the characters of identifiers, found under any label
    character_precision: float | None


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def score(found: Sequence[Iterable[Span]], truth: Sequence[Iterable[Span]]) -> tuple[dict[str, Score], float]:
    """Two sequences of documents' spans compared: a score of each label and of "all", and the share of whole documents.

    A document is whole where every character of its identifiers is in a found span, whatever its label.
    """
    counts: dict[str, Counter] = {label: Counter() for label in (*LABELS, "all")}
    whole = 0
    for guessed, right in zip(map(set, found), map(set, truth), strict=True):
        covered = [{place for span in spans for place in range(span.start, span.end)} for spans in (guessed, right)]
        whole += covered[1] <= covered[0]
        for label, count in counts.items():
            mine, true = ({span for span in spans if label in (span.label, "all")} for spans in (guessed, right))
            count.update(found=len(mine), true=len(true), both=len(mine & true))
            for name, spans, other in (("true", true, covered[0]), ("found", mine, covered[1])):
                places = {place for span in spans for place in range(span.start, span.end)}
                count.update({f"{name} characters": len(places), f"{name} characters shared": len(places & other)})
    scores = {
        label: Score(
            _share(count["both"], count["true"]),
            _share(count["both"], count["found"]),
            _share(count["true characters shared"], count["true characters"]),
            _share(count["found characters shared"], count["found characters"]),
        )
        for label, count in counts.items()
    }
    return scores, whole / max(len(truth), 1)


def table(scores: dict[str, Score], whole: float) -> str:
    """The scores in columns."""
    lines = [f"{'':16}{'recall':>8}{'precision':>11}{'char. recall':>14}{'char. precision':>17}"]
    for label, values in scores.items():
        shown = ["-" if value is None else f"{value:.3f}" for value in values]
        lines.append(f"{label:16}{shown[0]:>8}{shown[1]:>11}{shown[2]:>14}{shown[3]:>17}")
    return "\n".join([*lines, f"letters with every identifier found: {whole:.3f}"])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="number of letters (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the letters (default: %(default)s)")
    parser.add_argument("--held-out", action="store_true", help="letters of the sentences that no rule was made with")
    options = parser.parse_args()
    letters = identified_letters.letters(options.count, options.seed, options.held_out)
    rules = Rules()
    print(table(*score([rules.find(letter.text) for letter in letters], [letter.spans for letter in letters])))


if __name__ == "__main__":
    main()
