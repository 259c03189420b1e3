"""Drop sentences of benchmarks, repeated and nearly repeated documents, and lines that the corpus repeats too often.

    python -m preprocess.deduplicate clean --output unique --benchmark quaero=QUAERO_FrenchMed/corpus

Lines with a sentence of a benchmark are dropped first. A document is dropped when a quarter of its words are in such
sentences. Then copies are dropped: list the best source first, because the first of several copies is kept.
Near-duplicates share at least 62 % of their 3-word shingles (case and punctuation ignored; MinHash;
docs/results/near_duplicates.md). dropped.txt shows examples of what was dropped.
"""

import argparse
import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from alibert_common.arrays import save
from alibert_common.cli import OptionParser, at_least, named_path, program
from alibert_common.errors import exit_with_sentence, readable
from alibert_common.executors.base import Engine, add_engine_options, engine_of
from alibert_common.files import written_whole
from alibert_common.output_dir import Work, resumable_directory
from alibert_common.provenance import MANIFEST, Stage, identity
from preprocess.deduplication.benchmarks import Benchmark, files_to_watch, read_benchmarks
from preprocess.deduplication.decontamination import EMPTY, Decontaminate, reasons
from preprocess.deduplication.filter import DROPPED, REPEATED, DropFound
from preprocess.deduplication.hashes import Keys, MakeKeys
from preprocess.deduplication.minhash import Settings as Near
from preprocess.deduplication.repeated_documents import NEAR, SAME, fates, find_near, find_same
from preprocess.deduplication.repeated_lines import FindRepeated, divide_groups
from preprocess.documents.document import SHARD_SUFFIX, document_files
from preprocess.documents.map_shards import map_shards
from preprocess.documents.samples import Samples, ShardSamples
from preprocess.documents.shards import shard_name
from preprocess.documents.stage_report import Report

VERSION = 1  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("deduplicate", VERSION, ("ahocorasick_rs", "lxml", "pyarrow", "rensa", "zstandard"))
REASONS = {
    SAME: "the same words, whatever white space is between them",
    NEAR: "a model learns by heart what it reads again and again",
}


@dataclass(frozen=True)
class Settings:
    """What counts as a repetition, and what a model is to be scored on. Defaults as the command's."""

    max_repeats: int = 10
    min_characters: int = 20
    near: Near | None = Near()  # None: near-duplicates stay
    benchmarks: tuple[tuple[str, str], ...] = ()  # (name, path); several paths of one name are one benchmark
    benchmark_characters: int = 40


def deduplicate(inputs: list[Path], output: Path, settings: Settings, engine: Engine) -> Report:
    """Write the documents of `inputs` that are left, in shards; the report counts what was dropped.

    A line of `min_characters` or more is kept `max_repeats` times in all; 0 keeps every line. No sentence of a
    benchmark of `benchmark_characters` or more is left. dropped.txt has examples, the manifest how many sentences of
    each benchmark were there.
    """
    shards = document_files(inputs)
    described = asdict(settings) | {"benchmarks": [[name, readable(path)] for name, path in settings.benchmarks]}
    sought = [[name, identity(files_to_watch(Path(path)))] for name, path in settings.benchmarks]
    key = {"settings": asdict(replace(settings, benchmarks=())), "inputs": identity(inputs), "benchmarks": sought}
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            benchmarks = read_benchmarks(settings.benchmarks, settings.benchmark_characters)
            if benchmarks:
                report, samples, found = _without_benchmarks(work, shards, settings, benchmarks, engine)
            else:
                examples, found = ShardSamples(work.scratch / "examples", tuple(shards)), set()
                report, samples = _drop_repeated(work, shards, settings, engine, examples, None)
            with written_whole(work.directory / "dropped.txt") as handle:
                handle.write(samples.page(_reasons(settings, benchmarks), report.dropped))
            work.manifest = {"settings": described, "benchmarks": _counts(benchmarks, found)} | asdict(report)
    return Report.of_output(output)


def _without_benchmarks(
    work: Work, shards: list[Path], settings: Settings, benchmarks: list[Benchmark], engine: Engine
) -> tuple[Report, Samples, set[tuple[str, int]]]:
    """Take the benchmarks out, drop what is repeated in the rest, and look again where repeated lines went."""
    between = Work(work.scratch / "decontaminated")
    before = Decontaminate.of(work.scratch / "before", benchmarks, shards)
    report = map_shards(between, "benchmarks", shards, before, engine)
    left = before.left()  # the other shards went whole
    after = Decontaminate.of(work.scratch / "after", benchmarks, [shards[number] for number in left])
    written = [between.directory / f"{shard_name(number)}{SHARD_SUFFIX}" for number in left]
    examples = ShardSamples(work.scratch / "examples", after.examples.sources)
    last, samples = _drop_repeated(work, written, settings, engine, examples, after)
    for rule, count in last.dropped.items():
        report.drop(rule, count)
    for seen in (before, after):
        samples.merge(seen.examples.together())
    return replace(report, kept=last.kept), samples, before.sentences() | after.sentences()


def _drop_repeated(
    work: Work,
    shards: list[Path],
    settings: Settings,
    engine: Engine,
    examples: ShardSamples,
    again: Decontaminate | None,
) -> tuple[Report, Samples]:
    """Write what is left of the shards."""
    if not shards:
        return Report(), examples.together()
    drop = _find(work, shards, settings, engine, examples, again)
    return map_shards(work, "writing", shards, drop, engine), examples.together()


def _find(
    work: Work,
    shards: list[Path],
    settings: Settings,
    engine: Engine,
    examples: ShardSamples,
    again: Decontaminate | None,
) -> DropFound:
    """Find what is to be dropped, in all shards."""
    keys, logs = work.scratch / "keys", work.scratch / "jobs"
    keys.mkdir(exist_ok=True)
    make = MakeKeys(keys, settings.min_characters if settings.max_repeats else None, settings.near)
    engine.run("keys", make, list(enumerate(shards)), logs)
    corpus, decided = Keys.of(keys, len(shards)), keys / "fates.npy"
    if not decided.exists():
        same = find_same(corpus)
        near = find_near(corpus, same, settings.near, engine, logs)[0] if settings.near else np.empty(0, np.int64)
        save(decided, fates(same, near))
    repeated = FindRepeated(settings.max_repeats, decided, corpus.starts)
    lines = divide_groups(keys, corpus.parts) if settings.max_repeats else []
    engine.run("lines", repeated, lines, logs)
    return DropFound(corpus, decided, tuple(lines), REPEATED.format(settings.max_repeats), examples, again)


def _reasons(settings: Settings, benchmarks: list[Benchmark]) -> list[tuple[str, str]]:
    """(name, reason) of every rule, in the order in which they are applied."""
    whole = [(DROPPED[fate], REASONS[fate]) for fate in (SAME, NEAR)]
    lines = (REPEATED.format(settings.max_repeats), "what every document repeats is learned by then")
    return [*reasons(benchmarks), *whole, lines, (EMPTY, "nothing passed the rules above")]


def _counts(benchmarks: list[Benchmark], found: set[tuple[str, int]]) -> dict[str, dict]:
    counts = Counter(name for name, _ in found)
    return {
        benchmark.name: {
            "sentences": len(benchmark.sentences),
            "shorter": benchmark.shorter,
            "found": counts[benchmark.name],
            **({"not_read": benchmark.not_read} if benchmark.not_read else {}),
        }
        for benchmark in benchmarks
    }


def command_line() -> OptionParser:
    """The options of the command."""
    parser = OptionParser(
        program("python -m preprocess.deduplicate"),
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "documents", nargs="+", type=Path, metavar="DOCUMENTS", help="output of ingest or clean, or files"
    )
    parser.add_argument("--output", required=True, type=Path, help="folder to write")
    parser.add_argument(
        "--max-repeats", type=at_least(0), default=Settings.max_repeats,
        help="copies kept of a line in the whole corpus (default: %(default)s; 0: all)",
    )  # fmt: skip
    parser.add_argument(
        "--min-characters", type=at_least(0), default=Settings.min_characters,
        help="smallest length of a line that --max-repeats drops, in characters (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--keep-near-duplicates", action="store_true",
        help="drop exact copies only (default: near-duplicates too)",
    )  # fmt: skip
    parser.add_argument(
        "--benchmark", action="append", default=[], type=named_path, metavar="NAME=PATH",
        help="benchmark whose sentences are removed: an output of ingest, or files it reads without options; "
        "repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--benchmark-characters", type=at_least(1), default=Settings.benchmark_characters,
        help="smallest length of a benchmark sentence that is removed, in characters (default: %(default)s)",
    )  # fmt: skip
    add_engine_options(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """As the options say."""
    settings = Settings(
        options.max_repeats,
        options.min_characters,
        None if options.keep_near_duplicates else Near(),
        tuple(options.benchmark),
        options.benchmark_characters,
    )
    print(deduplicate(options.documents, options.output, settings, engine_of(options)))
    counts = json.loads((options.output / MANIFEST).read_text(encoding="utf-8"))["benchmarks"]
    for name, count in counts.items():
        print(
            f"{name:>8}  {count['found']:,} of {count['sentences']:,} sentences were there; "
            f"{count['shorter']:,} shorter ones were not looked for"
        )
        for file in count.get("not_read", ()):
            print(f"{'not read':>8}  {file}")
    print(f"{'output':>8}  {options.output} (examples of what was dropped: dropped.txt)")


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
