"""How many identifiers of invented letters are found, by label and by letter.

    python tests/campaigns/pseudonymise.py [--count 300] [--seed 1] [--held-out] [--tagger FOLDER ...] [--ipp REGEX]

With the rules alone, with names of the patient that a database has, with a model, and with both. Of several models,
the mean and the standard deviation are shown. The letters are those of tests/helpers/identified_letters.py.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

from alibert_common.report import markdown
from alibert_common.report.document import NONE, Table
from preprocess.pseudonymisation.score import ALL, score
from preprocess.pseudonymisation.settings import Settings, identifiers
from preprocess.pseudonymisation.spans import LABELS

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
import identified_letters  # noqa: E402

WHOLE = "letters with every identifier found"
CHARACTERS = "characters of identifiers found"
Figures = dict[str, tuple[float | None, float | None]]  # of each label, recall and precision


def figures(letters: Sequence[identified_letters.Letter], settings: Settings, with_known: bool) -> Figures:
    """The figures of a way to find identifiers."""
    found = [identifiers(letter.text, settings, letter.known if with_known else ()) for letter in letters]
    scores, whole = score(found, [letter.spans for letter in letters])
    rows: Figures = {label: (scores[label].recall, scores[label].precision) for label in (*LABELS, ALL)}
    return rows | {CHARACTERS: (scores[ALL].character_recall, scores[ALL].character_precision), WHOLE: (whole, None)}


def shown(values: Sequence[float | None]) -> str:
    """The mean of the values, and their standard deviation if there are several."""
    some = [value for value in values if value is not None]
    if not some:
        return NONE
    return f"{mean(some):.3f}" + (f" ± {stdev(some):.3f}" if len(some) > 1 else "")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="number of letters (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the letters (default: %(default)s)")
    parser.add_argument("--held-out", action="store_true", help="letters of the sentences that no rule was made with")
    parser.add_argument("--tagger", nargs="+", default=[], help="folders of token-classification models")
    parser.add_argument("--ipp", action="append", metavar="REGEX", help="pattern of the numbers of patients")
    options = parser.parse_args()
    letters = identified_letters.letters(options.count, options.seed, options.held_out)
    rules = Settings(ipp=tuple(options.ipp or Settings.ipp))
    ways = {"rules": [figures(letters, rules, False)], "rules, known names": [figures(letters, rules, True)]}
    if options.tagger:
        models = [replace(rules, tagger=folder) for folder in options.tagger]
        ways["rules, model"] = [figures(letters, settings, False) for settings in models]
        ways["all"] = [figures(letters, settings, True) for settings in models]
    for number, measure in enumerate(("recall", "precision")):
        labels = ways["rules"][0]
        rows = [[label, *(shown([one[label][number] for one in runs]) for runs in ways.values())] for label in labels]
        rows = [row for row in rows if set(row[1:]) != {NONE}]
        print(markdown.plain(Table(measure, [measure, *ways], rows)) + "\n")


if __name__ == "__main__":
    main()
