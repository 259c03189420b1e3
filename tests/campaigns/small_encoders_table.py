"""The table of oubiobert_ablation.sh and text_rules.sh: `python tests/campaigns/small_encoders_table.py OUTPUT`.

Mean ± sample deviation over the seeds that are done, in per cent; whatever is not there yet is `-`. Masked words are
right if the likeliest candidate is the word, of however many pieces. "One piece in all" counts only those that are one
piece of every vocabulary: what the vocabulary itself gives is left out there.
"""

import argparse
import json
import statistics
from collections import Counter
from pathlib import Path

# Folder and part of the corpus. What a default is chosen by is the dev part; the test part is for the table.
SCORES = {
    ("emea", "dev"): "EMEA dev, F1", ("medline", "dev"): "MEDLINE dev, F1",
    ("emea", "test"): "EMEA test, F1", ("medline", "test"): "MEDLINE test, F1",
}  # fmt: skip


def answers_of(file: Path) -> dict[tuple[str, str], dict]:
    """{(sentence, word): the rank and the pieces of the word} of a masked_words.json with one model."""
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    return {(row["sentence"], row["expected"]): next(iter(row["answers"].values())) for row in rows}


def share(answers: list[bool]) -> float:
    """Per cent of the answers that are yes."""
    return 100 * statistics.fmean(answers or [False])


def f1_of(file: Path, part: str) -> list[float]:
    """Micro F1 on the part, per cent, one value a seed of fine-tuning."""
    return [100 * value for value in json.loads(file.read_text(encoding="utf-8"))[part]["micro"]["f1"]["values"]]


def cell(values: list[float]) -> str:
    """`41.2 ± 0.3 (3)`: mean, deviation if there are two or more, and how many."""
    if not values:
        return "-"
    deviation = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.1f}{deviation} ({len(values)})"


def table(output: Path) -> str:
    """Markdown: a row a condition of conditions.tsv, then random weights; below, what a single word gets right."""
    heads, *conditions = (line.split("\t") for line in (output / "conditions.tsv").read_text().splitlines())
    files = {name: sorted(output.glob(f"{name}-[0-9]*/masked_words/masked_words.json")) for name, *_ in conditions}
    answers = {name: [answers_of(file) for file in found] for name, found in files.items()}
    every = [one for found in answers.values() for one in found]
    asked = set(every[0]) if every else set()
    common = {one for one in asked if all(found[one]["expected_pieces"] == 1 for found in every)}
    heads += ["masked words right", "one piece in all", "are one piece", *SCORES.values()]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, *labels in [*conditions, ["random", *[""] * (len(conditions[0]) - 1)]]:
        mine = answers.get(name, [])
        right = [
            [share([found[one]["expected_rank"] == 1 for one in those]) for found in mine] for those in (asked, common)
        ]
        whole = [share([found[one]["expected_pieces"] == 1 for one in asked]) for found in mine[:1]]  # no seed's matter
        words = [*right, whole]
        scores = [
            sum((f1_of(file, part) for file in sorted(output.glob(f"{name}-[0-9]*/{corpus}/metrics.json"))), [])
            for corpus, part in SCORES
        ]
        lines.append(f"| {' | '.join([name, *labels, *map(cell, [*words, *scores])])} |")
    lines.append(f"\n{len(asked):,} masked words, {len(common):,} of them one piece in all vocabularies.")
    for what, those in (("all", asked), ("those", common)):
        (word, count), *_ = Counter(word.casefold() for _, word in those).most_common(1) or [("", 0)]
        lines.append(f"Always “{word}”: {100 * count / max(len(those), 1):.1f} % of {what} right.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("output", type=Path, help="of the campaign")
    print(table(parser.parse_args().output), end="")


if __name__ == "__main__":
    main()
