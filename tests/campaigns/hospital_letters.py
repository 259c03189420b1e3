"""How much of the text of 2,000 invented French hospital letters is read, and how quickly: docs/results/letters.md.

    python tests/campaigns/hospital_letters.py make DIR [--count 2000] [--seed 1]
    python -m preprocess.ingest DIR/letters --output DOCUMENTS --encoding auto
    python tests/campaigns/hospital_letters.py score DIR DOCUMENTS
    python tests/campaigns/hospital_letters.py speed DIR

`make` takes some minutes, LibreOffice (soffice), the fonts Liberation and DejaVu, python-docx, odfpy, reportlab, and
pypdfium2. It writes as many PDF, DOCX, RTF, ODT and text files (helpers/letters), and what is in each in reading order:
truth/ID.txt has a line a paragraph, heading, list item or table row. Headers and footers of every page, deleted and
hidden text are not in it; notes are at its end. The same seed makes the same files but for those of LibreOffice.
`score` prints a table by format, producer and layout. White space, bullets and item numbers do not count, nor do cell
borders where the format has none. `speed` reads each format with one worker, and subtracts what one letter takes.
"""

import argparse
import csv
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from letters.scores import HEADER, Score, row_of, score

from preprocess.documents.document import read_documents

MEGABYTE = 1_000_000


def print_scores(folder: Path, documents: Path) -> None:
    """The table of all letters."""
    from letters.letter_set import TABLE  # which needs the libraries that write letters

    texts = {document.id: document.text for document in read_documents([documents])}
    groups = defaultdict[str, list[Score]](list)
    with open(folder / TABLE, encoding="utf-8", newline="") as file:
        for letter in csv.DictReader(file, delimiter="\t"):
            truth = (folder / "truth" / f"{letter['id']}.txt").read_text(encoding="utf-8")
            one, kind = score(letter["id"], truth, texts.pop(letter["id"], None)), letter["id"].partition("/")[0]
            pages = " of one page" if letter["pages"] == "1" else " of several pages" if letter["pages"] != "0" else ""
            names = {kind, f"{kind} by {letter['producer']}", f"{kind}: {letter['layout']}", f"{kind}{pages}"}
            for name in names:
                groups[name].append(one)
    print(HEADER)
    for name in sorted(groups):
        print(row_of(name, groups[name]))
    if texts:
        print(f"\n{len(texts):,} documents are of no letter, such as {min(texts)}.")


def seconds_of(files: Path, output: Path) -> float:
    """How long one worker takes to read a folder."""
    command = [sys.executable, "-m", "preprocess.ingest", str(files), "--output", str(output), "--workers", "1"]
    command += ["--encoding", "auto"] if any(files.glob("*.txt")) else []
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"error: {files} was not read: {done.stderr.strip()[-500:]}")
    return time.perf_counter() - started


def print_speeds(folder: Path) -> None:
    """The table of all formats."""
    print("| format | letters | MB of files | MB of text | seconds | to start | letters a second | MB a second |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for files in sorted(path for path in (folder / "letters").iterdir() if any(path.iterdir())):
        with tempfile.TemporaryDirectory() as place:
            one = Path(place, "one")
            one.mkdir()
            shutil.copy(min(files.iterdir()), one)
            start = min(seconds_of(one, Path(place, f"started{turn}")) for turn in range(2))
            seconds = seconds_of(files, Path(place, "read"))
            sizes = [len(document.text.encode()) for document in read_documents([Path(place, "read")])]
        taken, stored = max(seconds - start, 1e-9), sum(file.stat().st_size for file in files.iterdir())
        text = sum(sizes) / MEGABYTE
        cells = [files.name, f"{len(sizes):,}", f"{stored / MEGABYTE:.2f}", f"{text:.2f}", f"{seconds:.1f}"]
        cells += [f"{start:.1f}", f"{len(sizes) / taken:,.0f}", f"{text / taken:.2f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def make(folder: Path, count: int, seed: int) -> None:
    """All files; says how many of each format and producer."""
    from letters.letter_set import Maker

    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"error: {folder} is not empty; give a new folder.")
    counts = defaultdict[str, int](int)
    for made in Maker(folder, seed).make(count):
        counts[f"{made.id.partition('/')[0]} by {made.producer}"] += 1
    for name, number in sorted(counts.items()):
        print(f"{name}: {number:,}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("make", "score", "speed"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("documents", type=Path, nargs="?", help="the output of ingest, to score")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.action == "make":
        make(options.folder, options.count, options.seed)
    elif options.action == "speed":
        print_speeds(options.folder)
    elif options.documents:
        print_scores(options.folder, options.documents)
    else:
        parser.error("score takes DIR and DOCUMENTS")


if __name__ == "__main__":
    main()
