"""500 damaged and hostile files of 66 kinds: is each a document or a listed refusal, and does nothing else happen?

    python tests/campaigns/hostile_files.py make DIR [--seed 1] [--port 47811]
    python tests/campaigns/hostile_files.py run DIR OUTPUT [--seconds 300] [--memory 4000]

For docs/results/hostile_files.md. `make` writes 370 MB in some minutes (helpers/hostile); files for payloads to aim at
are in DIR/canary. It needs reportlab, python-docx, odfpy and pyarrow. `run` has every kind, and then all files at once,
read by `preprocess.ingest --skip-unreadable` in a child process, and prints a table. OUTPUT/KIND is the output of a
kind, OUTPUT/all that of all. A kind is ended after so many seconds (all files: ten times as many), or when its
processes take so many megabytes together.

`run` ends with 1 if a child fails or is ended, a file is neither a document nor a row of skipped.tsv, or became the
other one than its name begins with ("read", "refused", "either"). So it does when anyone calls the port, a file of
DIR, of the child's folder or of its temporary folder changes, a payload leaves a file in /tmp, or a secret is read.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from hostile.outcomes import Outcome, check, reasons_in
from hostile.watching import MEGABYTE, Listener, Watched, changes, state_of, watch

ROOT = Path(__file__).resolve().parents[2]
HEADER = (
    "| kind | files | read | refused | counted | seconds | peak MB of a process | of all | most frequent reasons |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---|"
)
ALONE = ("link", "pipe")  # kinds without a file that could be read: an error of the command
ERRORS = 300  # characters of what a failed child said


def make(folder: Path, seed: int, port: int) -> None:
    """Write the files."""
    from hostile import hostile_set  # which needs the libraries that write letters

    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"error: {folder} is not empty; give a new folder.")
    count = hostile_set.make(folder, seed, port)
    print(f"{count:,} files of {len(hostile_set.ALL)} kinds in {folder / 'files'}")


def read(files: Path, output: Path, seconds: float, limit: int) -> Watched:
    """Have a folder read in a child process with a working and a temporary folder of its own."""
    work = output.with_name(f"{output.name}.work")
    (work / "tmp").mkdir(parents=True)
    command = [sys.executable, "-m", "preprocess.ingest", str(files), "--output", str(output), "--skip-unreadable"]
    environment = os.environ | {"TMPDIR": str(work / "tmp"), "PYTHONPATH": str(ROOT)}
    return watch(command, work, environment, seconds, limit)


def print_row(name: str, outcome: Outcome, watched: Watched) -> None:
    """A row of the table."""
    cells = [name, f"{outcome.files:,}", f"{outcome.read:,}", f"{outcome.refused:,}", f"{outcome.counted:,}"]
    cells += [f"{watched.seconds:.1f}"]
    cells += [f"{watched.highest / MEGABYTE:,.0f}", f"{watched.together / MEGABYTE:,.0f}", reasons_in(outcome)]
    print(f"| {' | '.join(cells)} |", flush=True)


def try_folder(files: Path, output: Path, seconds: float, limit: int) -> list[str]:
    """Read a folder and print its row; returns the faults."""
    watched = read(files, output, seconds, limit)
    outcome = check(files, output)
    print_row(output.name, outcome, watched)
    faults = [f"{output.name}: was ended {watched.ended}"] if watched.ended else []
    if files.name in ALONE and "no file of a known format" in watched.errors:
        return faults
    if watched.status and not watched.ended:
        faults.append(f"{output.name}: exit status {watched.status}: {watched.errors.strip()[-ERRORS:]}")
    work = output.with_name(f"{output.name}.work")
    faults += [f"{output.name}: left {path}" for path in sorted(work.rglob("*")) if path != work / "tmp"]
    return faults + outcome.faults


def run(folder: Path, output: Path, seconds: float, limit: int) -> int:
    """All kinds, and all files at once; returns the number of faults."""
    folder, output = folder.resolve(), output.resolve()
    if output.exists():
        raise SystemExit(f"error: {output} is there already; give a new folder.")
    output.mkdir(parents=True)
    files, port = folder / "files", int((folder / "port.txt").read_text())
    before, faults = state_of([folder]), list[str]()
    print(HEADER)
    with Listener(port) as listener:
        for kind in sorted(path for path in files.iterdir() if path.is_dir()):
            faults += try_folder(kind, output / kind.name, seconds, limit)
        faults += try_folder(files, output / "all", 10 * seconds, limit)
    faults += [f"a call: {call}" for call in listener.calls]
    faults += [f"changed: {path}" for path in changes(before, state_of([folder]))]
    faults += [f"left by a payload: {path}" for path in (*Path("/tmp").glob("repere*"), *output.rglob("repere*"))]
    print(f"\n{len(faults):,} faults")
    print(*faults, sep="\n", file=sys.stderr)
    return len(faults)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("make", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path, nargs="?")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=47811)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--memory", type=int, default=4000, help="MB")
    options = parser.parse_args()
    if options.action == "make":
        make(options.folder, options.seed, options.port)
        return 0
    if not options.output:
        parser.error("run takes DIR and OUTPUT")
    return 1 if run(options.folder, options.output, options.seconds, options.memory * MEGABYTE) else 0


if __name__ == "__main__":
    sys.exit(main())
