"""Test sentences that a model may have seen: in the training split, or in the text it was pretrained on.

A sentence is looked for anywhere in a line of the other text, letters' case and all white space apart: column files
have a space between each two words or signs, where raw text has none ("( in Parkinson ' s disease )").
Short ones are left out: they recur by chance ("Résultats :", "Chez l'adulte").
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import ahocorasick_rs

from alibert_common.errors import InputError
from alibert_common.files import files_of
from downstream.data.splits import Split
from downstream.data.task_items import TaskItems

SHORTEST = 40  # characters of a sentence, one space between words: half a line; the same as for the overlaps that
# corpora are published with
COMPARED = f"sentences of {SHORTEST} characters and more, letters' case and white space apart"
EXAMPLES = 5  # that are shown
ENDS = re.compile(r"(?<=[.!?…])\s+|\n+")


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a text that are long enough, one space between words. Of a text whose numbers are cut ("12 . 5")
    some are parts of sentences, which stand in the other text as well."""
    for sentence in ENDS.split(text):
        sentence = " ".join(sentence.split())
        if len(sentence) >= SHORTEST:
            yield sentence


def alike(text: str) -> str:
    """The text as it is compared: lower case, without white space."""
    return "".join(text.casefold().split())


class Sought:
    """Sentences of test items, and in which of them other texts are found to hold them."""

    def __init__(self, task: TaskItems, items: list):
        self.items: dict[str, list[str]] = {}  # ids of the items that each sentence is in, by how it is compared
        self.shown: dict[str, str] = {}  # the sentence as it stands where it is first
        for item in items:
            for text in task.texts(item):
                for sentence in sentences_of(text):
                    self.items.setdefault(alike(sentence), []).append(task.id_of(item))
                    self.shown.setdefault(alike(sentence), sentence)
        self.num_items = len(items)
        self.found: set[str] = set()
        self.automaton = ahocorasick_rs.AhoCorasick(list(self.items)) if self.items else None

    def look_in(self, text: str) -> None:
        """One text, or a line of one."""
        if self.automaton:
            self.found.update(self.automaton.find_matches_as_strings(alike(text), overlapping=True))

    def report(self) -> dict:
        """Counts of sentences and items; the ids of those, and some sentences, that were found."""
        return {
            "sentences": len(self.items),
            "found": len(self.found),
            "items": self.num_items,
            "items_touched": sorted({name for sentence in self.found for name in self.items[sentence]}),
            "examples": [self.shown[sentence] for sentence in sorted(self.found)[:EXAMPLES]],
        }


def in_training(task: TaskItems, splits: dict[str, Split]) -> dict | None:
    """What of test is in train and dev; None where test was not read."""
    if "test" not in splits:
        return None
    sought = Sought(task, splits["test"].items)
    for item in (*splits["train"].items, *splits["dev"].items):
        for text in task.texts(item):
            sought.look_in(text)
    return sought.report()


def text_files(paths: Iterable[Path]) -> list[Path]:
    """Text files, and the .txt files of folders. Raises InputError for a path where there is none."""
    listed = []
    for path in paths:
        files = files_of(path, ".txt")
        if not files:
            raise InputError(f"{path}: no such file, nor a folder of .txt files; check --pretraining-text.")
        listed += files
    return listed


def in_files(sought: Iterable[Sought], files: Iterable[Path], show=iter) -> None:
    """Look for all of these in text files; `show` may wrap their lines to show progress.

    Raises InputError for a file that is not UTF-8.
    """
    sought = list(sought)
    for line in show(_lines(files)):
        for sentences in sought:
            sentences.look_in(line)


def _lines(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        try:
            with open(file, encoding="utf-8") as handle:
                yield from handle
        except UnicodeDecodeError:
            raise InputError(f"{file}: not UTF-8; convert it, for example with iconv -f latin1 -t utf-8.") from None
