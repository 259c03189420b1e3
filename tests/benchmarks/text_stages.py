"""The stages from raw text to data-bin, of this checkout and of an earlier one: time, memory and disk.

    python tests/benchmarks/text_stages.py stages DATA --before CHECKOUT --scratch DIR --output stages.json
    python tests/benchmarks/text_stages.py letters DATA --before CHECKOUT --scratch DIR --output letters.json
    python tests/benchmarks/text_stages.py shards DATA --before CHECKOUT --scratch DIR --output shards.json [--slurm]
    python tests/benchmarks/text_stages.py table stages.json

`stages` runs ingest, clean, deduplicate, mix, train_tokenizer and binarize on mixed text of each size (mixed_text.py).
The checkouts take turns, stage by stage, with their defaults. train_tokenizer leaves its count of duplicates out in
both (--no-duplicates): it is a second training. Every stage reads what the stage before of the same checkout wrote.
Files of both are compared byte by byte, manifest.json and pictures aside.

`letters` runs deduplicate alone on letters made from templates. `shards` runs all but ingest and train_tokenizer on
1,000 shards of 4 kB, and on two shards of the same text. The difference is what a shard costs. With --slurm it does so
in jobs of a Slurm of two nodes, which it starts on this machine.

The text is made once and stays in DIR/text; an idle machine is needed. Results are written after every stage.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from interleaved import ROOT, write
from process_cost import MB, bytes_below, measured
from text_tables import markdown, summed

STAGES = ("ingest", "clean", "deduplicate", "mix", "train_tokenizer", "binarize")
SIZES = (20, 200, 1000)  # MB of text
SHARDS, SHARD_BYTES = 1000, 4000


class Checkout:
    """The commands of a checkout, and a folder for their outputs."""

    def __init__(self, name: str, root: Path, workers: int):
        self.name, self.root, self.workers = name, root.resolve(), workers
        self.helps: dict[str, str] = {}

    def commit(self) -> str:
        """The commit, with a plus if files were changed since."""
        answer = ["git", "-C", str(self.root), "describe", "--always", "--dirty=+", "--exclude=*"]
        return subprocess.run(answer, capture_output=True, text=True, check=True).stdout.strip()

    def command(self, stage: str, inputs: list[Path], folder: Path, more: tuple = ()) -> list:
        """The stage on `inputs`, with its output below `folder`."""
        own = {
            "train_tokenizer": ["--no-duplicates"],
            "binarize": ["--tokenizer", folder / "train_tokenizer", "--mix"],
        }
        command = [sys.executable, "-m", f"preprocess.{stage}", *own.get(stage, []), *inputs]
        if "--workers" in self.help_of(stage):
            command += ["--workers", self.workers, *more]
        return [*command, "--output", folder / stage]

    def help_of(self, stage: str) -> str:
        """Its help, asked once: train_tokenizer of some commits has no --workers."""
        if stage not in self.helps:
            command = [sys.executable, "-m", f"preprocess.{stage}", "--help"]
            done = subprocess.run(command, env=os.environ | self.path, cwd="/", capture_output=True, text=True)
            self.helps[stage] = done.stdout
        return self.helps[stage]

    @property
    def path(self) -> dict[str, str]:
        """The variable that makes Python import this checkout."""
        return {"PYTHONPATH": str(self.root)}

    def run(self, stage: str, inputs: list[Path], folder: Path, more: tuple = ()) -> dict:
        """What the stage costs; its earlier output is removed."""
        output = folder / stage
        for old in (output, output.with_name(f".{stage}.work")):
            shutil.rmtree(old, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        cost = measured(self.command(stage, inputs, folder, more), folder / f"{stage}.log", folder, output, **self.path)
        return asdict(cost) | {"output_mb": bytes_below(output) / MB}


def inputs_of(stage: str, stages: tuple, files: list[Path], folder: Path) -> list[Path]:
    """What a stage reads: the files for the first one, else the output of the stage before, or the mix."""
    before = dict(zip(stages[1:], stages, strict=False)) | {"binarize": "mix"}
    return [folder / before[stage]] if stage in before else files


def read_mb(stage: str, files: list[Path], folder: Path) -> float:
    """Megabytes of text that a stage read, without their form: as manifests count them. Of ingest, the files."""
    if stage == "ingest":
        return sum(map(bytes_below, files)) / MB
    source, name = ("deduplicate", "kept") if stage in ("mix", "binarize") else (stage, "read")
    counted = json.loads((folder / source / "manifest.json").read_text(encoding="utf-8"))[name]
    sizes = [counted] if "bytes" in counted else counted.values()
    return sum(size["bytes"] for size in sizes) / MB


def digests(output: Path) -> dict[str, str]:
    """The hash of every file, but for manifest.json, which names versions, and pictures."""
    files = sorted(file for file in output.rglob("*") if file.is_file() and file.suffix != ".png")
    return {
        str(file.relative_to(output)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.name != "manifest.json"
    }


def pipeline(
    checkouts: list[Checkout], files: list[Path], scratch: Path, stages: tuple, runs: int, more: tuple = ()
) -> Iterator[dict]:
    """The costs of the stages, {checkout: {stage: [cost of each run]}} and whether the files are the same; again after
    each stage."""
    found: dict = {one.name: {stage: [] for stage in stages} for one in checkouts} | {"same": {}}
    for run in range(runs):
        for stage in stages:
            for one in checkouts[:: -1 if run % 2 else 1]:
                folder = scratch / one.name
                cost = one.run(stage, inputs_of(stage, stages, files, folder), folder, more)
                found[one.name][stage].append(cost | {"read_mb": read_mb(stage, files, folder)})
                print(f"{one.name} {stage}: {cost['seconds']:.1f} s", file=sys.stderr, flush=True)
            outputs = [digests(scratch / one.name / stage) for one in checkouts]
            found["same"][stage] = all(output == outputs[0] for output in outputs)
            yield found


def make_text(options: argparse.Namespace, folder: Path, megabytes: float, *more: str) -> list[Path]:
    """The files of the text, made by a process of its own: its memory would count as that of what is started later."""
    command = [sys.executable, Path(__file__).with_name("mixed_text.py"), options.data, "--output", folder, *more]
    path = {"PYTHONPATH": str(ROOT)}
    subprocess.run([*map(str, command), "--megabytes", str(megabytes)], check=True, env=os.environ | path)
    return [file for file in sorted(folder.iterdir()) if file.name != "made.json"]


def measure_stages(options: argparse.Namespace, checkouts: list[Checkout], keep: Callable[[str, dict], None]) -> None:
    """All stages at each size."""
    for size in options.sizes:
        files = make_text(options, options.scratch / "text" / f"{size:g}", size)
        for found in pipeline(checkouts, files, options.scratch / "stages" / f"{size:g}", STAGES, options.runs):
            keep(f"{size:g} MB", summed(found))


def measure_letters(options: argparse.Namespace, checkouts: list[Checkout], keep: Callable[[str, dict], None]) -> None:
    """deduplicate on letters, in shards that ingest of this checkout has cut."""
    for size in options.sizes:
        files = make_text(options, options.scratch / "letters" / f"{size:g}", size, "--letters")
        scratch = options.scratch / "deduplicated" / f"{size:g}"
        checkouts[-1].run("ingest", files, scratch)
        shards = sorted((scratch / "ingest").glob("*.jsonl.zst"))
        for found in pipeline(checkouts, shards, scratch, ("deduplicate",), options.runs):
            keep(f"{size:g} MB", summed(found))


def measure_shards(options: argparse.Namespace, checkouts: list[Checkout], keep: Callable[[str, dict], None]) -> None:
    """The stages that read shards, on many and on two, here or in Slurm jobs. A shard is a file of documents."""
    text = make_text(options, options.scratch / "text" / "20", 20)
    folders = cut(next(file for file in text if file.suffix == ".jsonl"), options.scratch / "cut")
    stages = ("clean", "deduplicate", "mix", "binarize")
    with slurm() if options.slurm else contextlib.nullcontext():
        more = ("--slurm", "2") if options.slurm else ()
        for one in checkouts:
            one.workers = 1 if options.slurm else one.workers
        for count, folder in folders.items():
            files, scratch = sorted(folder.iterdir()), options.scratch / ("slurm" if options.slurm else "shards")
            for one in checkouts:
                make_tokenizer(one, files, scratch / str(count) / one.name)
            for found in pipeline(checkouts, files, scratch / str(count), stages, options.runs, more):
                keep(f"{count} shards", summed(found))


def make_tokenizer(one: Checkout, files: list[Path], folder: Path) -> None:
    """A small one for binarize, unless it is there; it is not measured."""
    if not (folder / "train_tokenizer").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = one.command("train_tokenizer", files, folder)
        measured([*command, "--vocab-size", 2000], folder / "tokenizer.log", folder, **one.path)


def cut(file: Path, output: Path) -> dict[int, Path]:
    """The documents of a JSON-lines file, up to SHARDS x SHARD_BYTES, in two files and in many."""
    lines, left = [], SHARDS * SHARD_BYTES
    for line in file.read_bytes().splitlines(keepends=True):
        if left < 0:
            break
        lines.append(b'{"source": "articles", ' + line.removeprefix(b"{"))
        left -= len(line)
    places = {}
    for count in (2, min(SHARDS, len(lines))):
        places[count] = output / str(count)
        shutil.rmtree(places[count], ignore_errors=True)
        places[count].mkdir(parents=True)
        for number in range(count):
            part = lines[number * len(lines) // count : (number + 1) * len(lines) // count]
            (places[count] / f"{number:04}.jsonl").write_bytes(b"".join(part))
    return places


@contextlib.contextmanager
def slurm() -> Iterator[None]:
    """Two nodes of a Slurm of its own on this machine, as tests/slurm has them."""
    sys.path.append(str(ROOT / "tests" / "slurm"))
    from conftest import two_nodes

    with two_nodes():
        yield


MODES = {"stages": measure_stages, "letters": measure_letters, "shards": measure_shards}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    for name in MODES:
        mode = modes.add_parser(name)
        mode.add_argument("data", type=Path, help="folder of the corpora")
        mode.add_argument("--before", type=Path, help="checkout to compare with (default: none)")
        mode.add_argument("--scratch", type=Path, required=True, help="folder for text and outputs")
        mode.add_argument("--sizes", nargs="*", type=float, default=SIZES, help="MB of text (default: 20 200 1000)")
        mode.add_argument("--workers", type=int, default=2, help="number of processes (default: 2)")
        mode.add_argument("--runs", type=int, default=1, help="number of rounds (default: 1)")
        mode.add_argument("--slurm", action="store_true", help="two Slurm jobs of one process (shards; default: off)")
        mode.add_argument("--output", type=Path, required=True, help="file of the results")
    modes.add_parser("table").add_argument("results", nargs="+", type=Path, help="files of results")
    options = parser.parse_args()
    if options.mode == "table":
        return print("\n\n".join(markdown(json.loads(file.read_text(encoding="utf-8"))) for file in options.results))
    before = [Checkout("before", options.before, options.workers)] if options.before else []
    checkouts = [*before, Checkout("now", ROOT, options.workers)]
    results: dict = {"mode": options.mode, "workers": options.workers, "runs": options.runs, "measured": {}}
    results["commits"] = {one.name: one.commit() for one in checkouts}
    options.scratch = options.scratch.resolve()

    def keep(name: str, found: dict) -> None:
        results["measured"][name] = found
        write(results, options.output)

    MODES[options.mode](options, checkouts, keep)
    print(markdown(results))


if __name__ == "__main__":
    main()
