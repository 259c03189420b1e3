"""Which copies does deduplicate drop, what else does it take for the same, and what does it take from real texts?

    python tests/campaigns/near_duplicates.py ../shared/data > near_duplicates.md
    python tests/campaigns/near_duplicates.py ../shared/data --level loose --pieces 25 > near_duplicates_loose.md

Cuts pieces of several lengths out of leaflets, clinical cases, COVID-19 texts and novels, plants copies of each with a
share of the words edited (replaced by a word of the corpus, deleted, or one inserted after: drawn evenly), runs the
stage's own functions on them, files and rounds included, and compares with Jaccard similarities computed from the
words themselves: once on every second document of each source, by which a threshold can be chosen, once on the others,
for the figures. Then whole leaflets, clinical cases and letters from templates, and the command on the leaflets. Some 8
minutes on an idle core, 2 GB.
"""

import argparse
import re
import sys
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from planted_copies import COPIES, LEAFLETS, LENGTHS, PIECES, SOURCES, jaccard, plant

from alibert_common.executors.base import ALONE
from preprocess.deduplicate import LEVELS, deduplicate
from preprocess.deduplicate import Settings as All
from preprocess.deduplication.hashes import Keys, MakeKeys
from preprocess.deduplication.minhash import Settings, kept_for, similar
from preprocess.deduplication.repeated_documents import find_near, find_same, pairs_in
from preprocess.documents.document import Document, read_documents
from preprocess.documents.shards import written_shard
from preprocess.documents.stage_report import total

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from template_letters import letters  # noqa: E402  where the path says

LETTERS = 5_000  # from templates, a quarter of them follow-ups of another
RANGES = (0.0, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 1.01)
THRESHOLDS = (0.5, 0.55, 0.58, 0.6, 0.62, 0.64, 0.66, 0.68, 0.7, 0.72, 0.75, 0.8, 0.9)


class Found(NamedTuple):
    """The pairs found, (pairs, 2), the documents dropped, and for each the one kept."""

    pairs: np.ndarray
    dropped: np.ndarray
    kept: np.ndarray


class Stage:
    """The stage's functions on texts, in a directory of their own; `seconds` are of the processor."""

    def __init__(self, texts: list[str], directory: Path, settings: Settings):
        self.texts, self.directory, self.settings = texts, directory, settings
        with written_shard(directory / "in.jsonl.zst") as target:
            for number, text in enumerate(texts):
                target.write(Document(str(number), "s", [text]))
        start = time.process_time()
        MakeKeys(directory, None, settings)((0, directory / "in.jsonl.zst"))
        self.corpus = Keys.of(directory, 1)
        self.same = find_same(self.corpus, ALONE, directory)
        self.seconds = {"keys": time.process_time() - start}

    def search(self, threshold: float | None = None) -> Found:
        """The near-duplicates; copies of the same words are not among them."""
        for file in self.directory.glob("near-*"):
            file.unlink()
        start = time.process_time()
        settings = replace(self.settings, threshold=threshold or self.settings.threshold)
        gone = find_near(self.corpus, self.same, settings, ALONE, self.directory)
        self.seconds["search"] = time.process_time() - start
        pairs = np.concatenate([np.empty(0, np.uint64), *pairs_in(sorted(self.directory.glob("near-*")))])
        both = np.stack([pairs & np.uint64(2**32 - 1), pairs >> np.uint64(32)], 1).astype(np.int64)
        return Found(both, *kept_for(pairs, gone))

    def true(self, pairs: np.ndarray) -> np.ndarray:
        """The Jaccard similarity of the words themselves, (pairs)."""
        words = self.settings.words
        return np.array([jaccard(self.texts[a], self.texts[b], words) for a, b in pairs.tolist()])


def row(*cells: object) -> None:
    """One line of a Markdown table."""
    print("| " + " | ".join(f"{cell:,.3f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |")


def head(*cells: str) -> None:
    """The first two lines of a Markdown table."""
    print()
    row(*cells)
    print("|---" * len(cells) + "|")


def report_thresholds(stage: Stage, planted: list) -> None:
    """Which share of the copies goes at each threshold."""
    head("threshold", *(f"copies {name}" for name in COPIES))
    for threshold in THRESHOLDS:
        gone = stage.same.copy()
        gone[stage.search(threshold).dropped] = True
        row(threshold, *(float(gone[[copy for _, copy, kind, _ in planted if kind == name]].mean()) for name in COPIES))


def report_planted(stage: Stage, planted: list, found: Found) -> None:
    """True similarity and recall of the copies, by edit rate and by length."""
    gone = stage.same.copy()
    gone[found.dropped] = True
    truth, recall = defaultdict(list), defaultdict(list)
    for original, copy, name, length in planted:
        truth[name].append(jaccard(stage.texts[original], stage.texts[copy], stage.settings.words))
        for key in (name, (name, length)):
            recall[key].append(gone[copy])
        if not gone[original]:
            recall[name, "original kept"].append(gone[copy])
    head("copy", "copies", "Jaccard, mean", "lowest", "highest", "dropped", "dropped, where the original stays")
    for name in COPIES:
        shares = (float(np.mean(recall[key])) for key in (name, (name, "original kept")))
        row(name, len(truth[name]), np.mean(truth[name]), min(truth[name]), max(truth[name]), *shares)
    head("dropped, of copies of", *(f"{length:,} words" for length in LENGTHS))
    for name in COPIES:
        parts = [recall[name, length] for length in LENGTHS]
        row(name, *(f"{np.mean(part):.3f} of {len(part)}" if part else "-" for part in parts))


def report_found(kinds: dict[str, tuple[Stage, Found]]) -> None:
    """The pairs found, and the dropped against the kept, by their true similarity."""
    counts = {}
    for kind, (stage, found) in kinds.items():
        counts[f"pairs, {kind}"] = stage.true(found.pairs)
        counts[f"dropped against kept, {kind}"] = stage.true(np.column_stack([found.kept, found.dropped]))
    head("true Jaccard", *counts)
    for low, high in zip(RANGES, RANGES[1:], strict=False):
        inside = (np.count_nonzero((low <= values) & (values < high)) for values in counts.values())
        row(f"{low} to {min(high, 1.0)}", *map(str, inside))
    row("all", *(str(len(values)) for values in counts.values()))
    row("lowest", *(float(values.min()) for values in counts.values()))
    row("below 0.4", *(f"{np.count_nonzero(values < 0.4)}" for values in counts.values()))
    threshold = next(iter(kinds.values()))[0].settings.threshold
    row(f"below {threshold}", *(float(np.mean(values < threshold)) for values in counts.values()))


def substances(leaflets: list[str]) -> list[set[str]]:
    """The words that tell what a leaflet is of: long ones of its first sentence, but not makers and forms.

    Makers and forms are the words that stand beside more than 15 different first words.
    """
    heads = []
    for text in leaflets:
        start = text[:300].partition("Encadré")[0].lower()
        letters = "".join(c for c in unicodedata.normalize("NFD", start) if not unicodedata.combining(c))
        heads.append([word.rstrip("s")[:9] for word in re.findall("[a-z]{5,}", letters)])
    beside = defaultdict(set)
    for words in heads:
        for word in words:
            beside[word].add(words[0])
    return [{word for word in words if len(beside[word]) <= 15} for words in heads]


def report_leaflets(stage: Stage, found: Found) -> None:
    """What is left of the leaflets at several thresholds, and which pairs the bands do not bring together."""
    megabytes = sum(len(text.encode()) for text in stage.texts) / 1e6
    taken = ", ".join(f"{stage} {second:.2f} s" for stage, second in stage.seconds.items())
    print(f"\n{megabytes:.1f} MB of leaflets: {taken} of processor")
    signature = stage.corpus.signatures(np.arange(len(stage.texts)), stage.settings)
    above = sum(
        np.count_nonzero(similar(signature[[a]], signature[a + 1 :]) >= stage.settings.threshold)
        for a in range(len(signature))
    )
    print(f"\n{len(found.pairs):,} of all {above:,} pairs at the threshold were compared.")
    words = np.array([len(text.split()) for text in stage.texts])
    names = substances(stage.texts)
    head("threshold", "pairs", "of one substance", "leaflets left", "words left", "dropped for one leaflet, at most")
    row("none", "", "", f"{len(words):,}", f"{words.sum():,}", "")
    for threshold in THRESHOLDS:
        pairs, dropped, kept = stage.search(threshold)
        same = [bool(names[a] & names[b]) for a, b in pairs if names[a] and names[b]]
        left = f"{words.sum() - words[dropped].sum():,}"
        row(
            threshold,
            f"{len(pairs):,}",
            np.mean(same),
            f"{len(words) - len(dropped):,}",
            left,
            max(Counter(kept.tolist()).values()),
        )


def report_dropped(data: Path, directory: Path, settings: Settings, leaflets: tuple[Stage, Found]) -> None:
    """How many whole documents are dropped, and how many of them for one of another substance or patient."""
    names = substances(leaflets[0].texts)
    written = list(letters(LETTERS, 7))
    patients = [number if one.follows is None else one.follows for number, one in enumerate(written)]
    cases = [document.text for document in read_documents([data / SOURCES[1]])]
    stages = {"letters": Stage([one.text for one in written], directory / "letters", settings)}
    stages["clinical cases"] = Stage(cases, directory / "cases", settings)
    others = {
        "leaflets": lambda a, b: bool(names[a] and names[b]) and not names[a] & names[b],
        "letters": lambda a, b: patients[a] != patients[b],
        "clinical cases": lambda a, b: jaccard(cases[a], cases[b], 3) < 0.2,
    }
    head("", "documents", "dropped", "for one of another substance, patient or case", "share of the dropped")
    found = {"leaflets": leaflets} | {name: (stage, stage.search()) for name, stage in stages.items()}
    for name, (stage, one) in found.items():
        wrong = sum(others[name](a, b) for a, b in zip(one.kept.tolist(), one.dropped.tolist(), strict=True))
        row(name, f"{len(stage.texts):,}", f"{len(one.dropped):,}", f"{wrong:,}", wrong / max(1, len(one.dropped)))


def report_command(leaflets: Path, directory: Path, near: Settings) -> None:
    """Documents, lines and words of the leaflets, as the command's own reports count them."""
    head("", "documents", "lines", "words")
    ways = {
        "near-duplicates only": All(max_repeats=0, near=near),
        "repeated lines only": All(near=None),
        "both": All(near=near),
    }
    for number, (name, settings) in enumerate(ways.items()):
        report = deduplicate([leaflets], directory / str(number), settings, ALONE)
        for title, size in (("before", total(report.read)),) * (not number) + ((name, total(report.kept)),):
            row(title, f"{size.documents:,}", f"{size.lines:,}", f"{size.words:,}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with fr_raw and fr_general")
    parser.add_argument("--level", choices=("strict", "loose"), default="strict", help="default: %(default)s")
    parser.add_argument("--pieces", type=int, default=PIECES, help="of a source and a length (default: %(default)s)")
    for name in ("words", "bands", "rows", "threshold"):
        parser.add_argument(f"--{name}", type=type(getattr(Settings, name)), help="setting (default: the level's)")
    options = parser.parse_args()
    given = {name: value for name, value in vars(options).items() if value is not None and hasattr(Settings, name)}
    settings = replace(LEVELS[options.level], **given)
    print(settings)
    with tempfile.TemporaryDirectory() as folder:
        names = ("first", "second", "leaflets", "command", "letters", "cases")
        folders = [Path(folder) / name for name in names]
        for one in folders:
            one.mkdir()
        texts, planted = plant(options.data, 0, np.random.default_rng(1), options.pieces)
        print("\nOne half, to choose the threshold:")
        report_thresholds(Stage(texts, folders[0], settings), planted)
        texts, planted = plant(options.data, 1, np.random.default_rng(2), options.pieces)
        print("\nThe other half:")
        copies = Stage(texts, folders[1], settings)
        report_thresholds(copies, planted)
        found = copies.search()
        report_planted(copies, planted, found)
        leaflets = [document.text for document in read_documents([options.data / LEAFLETS])]
        whole = Stage(leaflets, folders[2], settings)
        near = whole.search()
        report_dropped(options.data, Path(folder), settings, (whole, near))
        report_found({"planted": (copies, found), "leaflets": (whole, near)})
        report_leaflets(whole, near)
        report_command(options.data / LEAFLETS, folders[3], settings)


if __name__ == "__main__":
    main()
