"""Drop documents that occur twice and lines that occur too often, as the standard phrases of leaflets do.

    python -m preprocess.deduplicate clean.jsonl --output unique.jsonl --max-repeats 10

The first copies in reading order are kept. Texts are equal when they differ in white space only. Memory grows with the
number of different lines, by some 100 bytes each.
"""

import argparse
import hashlib
from pathlib import Path

from preprocess.documents import read_documents, write_document
from preprocess.files import InputLog, exit_with_sentence, written_whole
from preprocess.options import at_least
from preprocess.report import Report


def deduplicate(paths: list[Path], output: Path, max_repeats: int, min_characters: int) -> Report:
    """Write the documents of all `paths` without their repetitions to `output`; the report counts what was dropped.

    A line of `min_characters` or more is kept `max_repeats` times in all; 0 keeps every line.
    """
    settings = {"max_repeats": max_repeats, "min_characters": min_characters}
    log, report = InputLog(), Report("deduplicate", dropped={"documents seen before": 0}, settings=settings)
    documents: set[bytes] = set()
    lines = Repeats(max_repeats, min_characters)
    with written_whole(output) as handle:
        for document in read_documents(paths, log):
            report.read.add(document)
            key = _key(document.text)
            if key in documents:
                report.drop("documents seen before")
                continue
            documents.add(key)
            kept = [line for line in document.lines if not lines.exceed(line)]
            report.drop(f"lines seen {max_repeats} times before", len(document.lines) - len(kept))
            document.lines = kept
            if not kept:
                report.drop("documents left without a line")
                continue
            report.kept.add(document)
            write_document(handle, document)
    report.inputs = log.manifest()
    return report


class Repeats:
    """How often each line was seen."""

    def __init__(self, most: int, min_characters: int):
        self.most = most
        self.min_characters = min_characters
        self.seen: dict[bytes, int] = {}

    def exceed(self, line: str) -> bool:
        """Count the line, and say whether it was kept `most` times already."""
        if not self.most or len(line) < self.min_characters:
            return False
        key = _key(line)
        self.seen[key] = self.seen.get(key, 0) + 1
        return self.seen[key] > self.most


def _key(text: str) -> bytes:
    """16 bytes: two different texts of a corpus of 10^12 lines share one with a probability below 10^-14."""
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=16).digest()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="+", type=Path, metavar="FILE", help="documents, .jsonl or .txt")
    parser.add_argument("--output", required=True, type=Path, help="the .jsonl to write; counts in OUTPUT.report.json")
    parser.add_argument(
        "--max-repeats", type=at_least(0), default=10,
        help="how often a line is kept in the whole corpus (default 10: enough to learn a standard phrase, and a "
        "leaflet keeps its own sentences; 1 keeps no repetition, 0 keeps all lines)",
    )  # fmt: skip
    parser.add_argument(
        "--min-characters", type=at_least(0), default=20,
        help="shorter lines are never dropped (default 20: headings such as 'Antécédents' recur by right, and a letter "
        "without them is no letter)",
    )  # fmt: skip
    options = parser.parse_args()
    deduplicate(options.documents, options.output, options.max_repeats, options.min_characters).finish(options.output)


if __name__ == "__main__":
    exit_with_sentence(main)
