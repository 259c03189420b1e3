"""How many identifiers of invented letters are found, by label and by letter.

    python tests/campaigns/pseudonymise.py [--count 300] [--seed 1] [--held-out]

The letters are those of tests/helpers/identified_letters.py.
"""

import argparse
import sys
from pathlib import Path

from alibert_common.report import markdown
from preprocess.pseudonymisation.find import Rules
from preprocess.pseudonymisation.score import score, table

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
import identified_letters  # noqa: E402


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="number of letters (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the letters (default: %(default)s)")
    parser.add_argument("--held-out", action="store_true", help="letters of the sentences that no rule was made with")
    options = parser.parse_args()
    letters = identified_letters.letters(options.count, options.seed, options.held_out)
    rules = Rules()
    scores, whole = score([rules.find(letter.text) for letter in letters], [letter.spans for letter in letters])
    print(f"{markdown.plain(table(scores))}\nletters with every identifier found: {whole:.3f}")


if __name__ == "__main__":
    main()
