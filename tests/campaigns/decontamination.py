"""Which sentences of real benchmarks stand in real corpora, and is any left when deduplicate has taken them out?

    python tests/campaigns/decontamination.py ../shared/data > decontamination.md

QUAERO and FRACCO against every text of fr_raw, by the stage's own rule: word by word, anywhere in the text. Beside it a
count that shares no code with it: sentences of 40 characters or more that are equal letter by letter, before and after.
Documents dropped and words kept are of both benchmarks together. Some 3 minutes on an idle core.
"""

import argparse
import json
import re
import tempfile
import time
from pathlib import Path

from alibert_common.executors.base import ALONE
from preprocess.deduplicate import Settings, deduplicate
from preprocess.documents.document import read_documents

BENCHMARKS = {
    "quaero": [f"fr_ner/quaero/{part}" for part in ("train", "dev", "test")],
    "fracco": ["fr_ner/fracco/brat_raw"],
}
CORPORA = ("bdpm_notices", "pamj_cas_cliniques", "tico19_fr", "mesconseilscovid", "hpo_fr")
SHORTEST = 40
STOP = re.compile(r"(?<=[.!?])\s+")


def sentences(lines) -> set[str]:
    """What stands between the ends of lines and stops."""
    parts = (" ".join(part.split()) for line in lines for part in STOP.split(line))
    return {part for part in parts if len(part) >= SHORTEST}


def row(*cells: object) -> None:
    """One line of a Markdown table."""
    print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells) + " |")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with fr_raw and fr_ner")
    data = parser.parse_args().data
    theirs = {}
    for name, folders in BENCHMARKS.items():
        files = [file for folder in folders for file in (data / folder).rglob("*.txt")]
        theirs[name] = sentences(line for file in files for line in file.read_text(encoding="utf-8").split("\n"))
    named = tuple((name, str(data / folder)) for name, folders in BENCHMARKS.items() for folder in folders)
    settings = Settings(0, near=None, benchmarks=named)
    row(
        "corpus",
        "benchmark",
        "equal before",
        "equal after",
        "found",
        "of",
        "lines dropped",
        "documents dropped",
        "words kept",
    )
    print("|---" * 9 + "|")
    speeds = []
    with tempfile.TemporaryDirectory() as folder:
        for corpus in CORPORA:
            source, output = data / "fr_raw" / f"{corpus}.txt", Path(folder) / corpus
            start = time.process_time()
            report = deduplicate([source], output, settings, ALONE)
            seconds = time.process_time() - start
            counts = json.loads((output / "manifest.json").read_text(encoding="utf-8"))["benchmarks"]
            before, after = (
                sentences(line for document in read_documents([path]) for line in document.lines)
                for path in (source, output)
            )
            kept, read = report.kept[corpus].words, report.read[corpus].words
            whole = report.dropped.get("documents a quarter of which is of benchmarks", 0)
            for name, count in counts.items():
                lines = report.dropped.get(f"lines with a sentence of {name}", 0)
                equal = (len(theirs[name] & text) for text in (before, after))
                row(corpus, name, *equal, count["found"], count["sentences"], lines, whole, f"{kept / read:.3%}")
            speeds.append(f"{corpus} {source.stat().st_size / 1e6 / seconds:.1f}")
    print(f"\nMB/s of processor, reading and writing included: {', '.join(speeds)}")


if __name__ == "__main__":
    main()
