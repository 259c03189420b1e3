"""500 generated corpora, damaged in every way that files are: docs/results/fuzz_ingest.md.

python tests/campaigns/fuzz_ingest.py [CASES] [FIRST_SEED]      # 500, from seed 0: some minutes, 3 GB of memory at most

Each corpus is a folder of two to four files in any format, one of them with one damage (helpers/fuzz_corpora.py). It is
read with --on-error skip and stopping, and compared with what is known to be in it: every record must come out
unchanged, or be listed, and every file without records be counted. The first records of 100 million characters are
those of the first five cases of `long_line`. Prints a table, and fails if anything was lost in silence.
"""

import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from fuzz_corpora import DAMAGES, LONG, Outcome, try_out

HUGE, HUGE_CASES = 100_000_000, 5


def run(cases: int, first: int) -> dict[str, list[Outcome]]:
    """The outcomes of all cases by damage; the damages take turns."""
    outcomes = defaultdict(list)
    for seed in range(first, first + cases):
        damage = list(DAMAGES)[seed % len(DAMAGES)]
        long = HUGE if damage == "long_line" and len(outcomes[damage]) < HUGE_CASES else LONG
        with tempfile.TemporaryDirectory() as folder:
            outcome = try_out(seed, Path(folder), {damage: DAMAGES[damage]}, long)
        outcomes[damage].append(outcome)
        for what in outcome.wrong:
            print(f"seed {seed}, {damage}: {what}"[:500], file=sys.stderr)
    return outcomes


def main() -> int:
    given = dict(enumerate(sys.argv))
    cases, first = int(given.get(1, 500)), int(given.get(2, 0))
    started = time.monotonic()
    outcomes = run(cases, first)
    titles = "damage of one file", "cases", "files", "records in", "read", "listed", "counted only", "stops", "lost"
    print("|", " | ".join(titles), "|\n" + "|---" * len(titles) + "|")
    rows = {damage: total(outcomes[damage]) for damage in DAMAGES if outcomes[damage]}
    for damage, row in rows.items():
        print(f"| {(DAMAGES[damage].__doc__ or damage).strip()} |", " | ".join(f"{value:,}" for value in row), "|")
    sums = [sum(column) for column in zip(*rows.values(), strict=True)]
    print("| all |", " | ".join(f"{value:,}" for value in sums), "|")
    print(f"\n{time.monotonic() - started:.0f} s")
    return 1 if sums[-1] else 0


def total(outcomes: list[Outcome]) -> list[int]:
    """Cases, files, records in them, records read, things listed, things counted only, stops without skip, faults."""
    names = ("files", "records", "read", "listed", "counted", "stopped")
    sums = [sum(getattr(outcome, name) for outcome in outcomes) for name in names]
    return [len(outcomes), *sums, sum(bool(outcome.wrong) for outcome in outcomes)]


if __name__ == "__main__":
    sys.exit(main())
