"""Drop sentences of benchmarks, repeated and nearly repeated documents, and lines that the corpus repeats too often.

    python -m preprocess.deduplicate clean --output unique --benchmark quaero=QUAERO_FrenchMed/corpus

Lines with a sentence of a benchmark are dropped first. A document is dropped when a quarter of its words are in such
sentences. Then copies are dropped: list the best source first, because the first of several copies is kept.
Near-duplicates share at least 62 % of their 3-word shingles, or with --near-duplicates loose 70 % of their words (case
and punctuation ignored; MinHash; docs/results/near_duplicates.md). dropped.txt shows examples of what was dropped.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.cli import OptionParser, at_least, command_parser, named_path
from alibert_common.errors import exit_with_sentence, readable
from alibert_common.executors.base import Engine, add_engine_options, engine_of
from alibert_common.files import write_text
from alibert_common.output_dir import Work, resumable_directory
from alibert_common.provenance import MANIFEST, Stage, identity, read_manifest
from preprocess.deduplication.benchmarks import Benchmark, files_to_watch, read_benchmarks
from preprocess.deduplication.decontamination import EMPTY, Decontaminate, reasons
from preprocess.deduplication.hashes import Keys, MakeKeys
from preprocess.deduplication.key_ranges import KeyRange
from preprocess.deduplication.minhash import Settings as Near
from preprocess.deduplication.repeated_documents import find_near, find_same
from preprocess.deduplication.repeated_lines import FindRepeated
from preprocess.documents.document import SHARD_SUFFIX, Document, document_files
from preprocess.documents.map_shards import map_shards
from preprocess.documents.samples import Samples, ShardSamples
from preprocess.documents.shards import shard_name
from preprocess.documents.stage_report import Report

VERSION = 4  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("deduplicate", VERSION, ("ahocorasick_rs", "hl7", "lxml", "pyarrow", "pypdfium2", "rensa", "zstandard"))
KEPT, SAME, NEAR = 0, 1, 2  # what becomes of a document
DROPPED = {SAME: "documents seen before", NEAR: "near-duplicates of an earlier document"}
REPEATED = "lines seen {} times before"
# What counts as a near-duplicate: the default; copies with up to a fifth of the words edited, too; nothing.
LEVELS = {"strict": Near(), "loose": Near(words=1, threshold=0.7), "none": None}


@dataclass(frozen=True)
class Settings:
    """What counts as a repetition, and what a model is to be scored on, with the defaults of the command."""

    max_repeats: int = 10
    min_characters: int = 20
    near: Near | None = LEVELS["strict"]  # None: near-duplicates stay
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
                report, samples, sentences = _without_benchmarks(work, shards, settings, benchmarks, engine)
            else:
                report, samples, sentences = *_drop_repeated(work, shards, settings, engine), set()
            page = samples.page(_reasons(settings, benchmarks), report.dropped)
            write_text(work.directory / "dropped.txt", page)
            work.manifest = {"settings": described, "benchmarks": _counts(benchmarks, sentences)} | asdict(report)
    return Report.from_json(read_manifest(output / MANIFEST))


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
    last, samples = _drop_repeated(work, written, settings, engine, after)
    report.add(Report(dropped=last.dropped))
    for decontaminate in (before, after):
        samples.merge(decontaminate.examples.together())
    return replace(report, kept=last.kept), samples, before.sentences() | after.sentences()


def _drop_repeated(
    work: Work, shards: list[Path], settings: Settings, engine: Engine, again: Decontaminate | None = None
) -> tuple[Report, Samples]:
    """Find what is to be dropped, in all shards, and write what is left of them."""
    examples = ShardSamples(work.scratch / "examples", again.examples.sources if again else tuple(shards))
    if not shards:
        return Report(), examples.together()
    keys, logs = work.scratch / "keys", work.scratch / "jobs"
    keys.mkdir(exist_ok=True)
    make = MakeKeys(keys, settings.min_characters if settings.max_repeats else None, settings.near)
    engine.run("keys", make, list(enumerate(shards)), logs)
    corpus, fates = Keys.of(keys, len(shards)), keys / "fates.npy"
    if not fates.exists():
        same = find_same(corpus, engine, logs)
        decided = np.where(same, np.uint8(SAME), np.uint8(KEPT))
        if settings.near:
            decided[find_near(corpus, same, settings.near, engine, logs)] = NEAR
        save(fates, decided)
    parts = tuple(corpus.file(part, "lines") for part in range(len(corpus.parts)))
    repeated = FindRepeated(parts, keys / "repeated", settings.max_repeats, fates, corpus.starts)
    ranges = repeated.ranges()
    engine.run("lines", repeated, ranges, logs)
    drop = DropFound(corpus, fates, repeated, tuple(ranges), REPEATED.format(settings.max_repeats), examples, again)
    return map_shards(work, "writing", shards, drop, engine), examples.together()


@dataclass(frozen=True)
class DropFound:
    """The filter that leaves out what was found."""

    corpus: Keys
    fates: Path  # .npy: what becomes of every document
    lines: FindRepeated
    ranges: tuple[KeyRange, ...]
    repeated: str  # the name of the rule that drops lines
    examples: ShardSamples
    again: Decontaminate | None  # looks through what is left of a document with repeated lines

    def __call__(self, number: int, documents: Iterable[Document], report: Report) -> Iterator[Document]:
        samples = Samples(self.examples.most)
        decontaminator = self.again.begin() if self.again else None
        for document, (fate, gone) in zip(documents, self._found(number), strict=True):
            place = self.examples.place(number, document)
            if fate != KEPT:
                report.drop(DROPPED[fate])
                samples.add(DROPPED[fate], place, document.text)
                continue
            for line in gone:
                samples.add(self.repeated, place, document.lines[line])
            report.drop(self.repeated, len(gone))
            if gone:
                document.lines = [line for line_number, line in enumerate(document.lines) if line_number not in gone]
            if gone and decontaminator:
                if decontaminator.clean(document, place, report):
                    yield document
            elif document.lines:
                yield document
            else:
                report.drop(EMPTY)
        self.examples.save(number, samples)
        if self.again and decontaminator:
            self.again.save(number, decontaminator)

    def _found(self, shard: int) -> Iterator[tuple[int, set[int]]]:
        """Stream the fate of each document of a shard, and the numbers of its lines to drop."""
        fates = load(self.fates)
        for part in range(*self.corpus.shards[shard : shard + 2]):
            first, last = self.corpus.starts[part : part + 2]
            document, line = self.lines.places(self.ranges, part).T
            ends = np.searchsorted(document, np.arange(last - first + 1)).tolist()
            for fate, start, end in zip(fates[first:last].tolist(), ends, ends[1:], strict=False):
                yield fate, set(line[start:end].tolist())


def _reasons(settings: Settings, benchmarks: list[Benchmark]) -> list[tuple[str, str]]:
    """(name, reason) of every rule, in the order in which they are applied."""
    return [
        *reasons(benchmarks),
        (DROPPED[SAME], "the same words, whatever white space is between them"),
        (DROPPED[NEAR], "a model learns by heart what it reads again and again"),
        (REPEATED.format(settings.max_repeats), "what every document repeats is learned by then"),
        (EMPTY, "nothing passed the rules above"),
    ]


def _counts(benchmarks: list[Benchmark], found: set[tuple[str, int]]) -> dict[str, dict]:
    """The part of the manifest on benchmarks, of which the sentences `found` (benchmark, number) were there."""
    numbers = Counter(name for name, _ in found)
    return {
        item.name: {"sentences": len(item.sentences), "shorter": item.shorter, "found": numbers[item.name]}
        | ({"not_read": item.not_read} if item.not_read else {})
        for item in benchmarks
    }


def command_line() -> OptionParser:
    """The options of the command."""
    parser = command_parser("preprocess.deduplicate", __doc__)
    add = parser.add_argument
    add("documents", nargs="+", type=Path, metavar="DOCUMENTS", help="output of ingest or clean, or files")
    add("--output", required=True, type=Path, help="folder to write")
    # fmt: off
    add("--max-repeats", type=at_least(0), default=Settings.max_repeats,
        help="copies kept of a line in the whole corpus (default: %(default)s; 0: all)")
    add("--min-characters", type=at_least(0), default=Settings.min_characters,
        help="smallest length of a line that --max-repeats drops, in characters (default: %(default)s)")
    add("--near-duplicates", choices=LEVELS, default="strict",
        help="copies that are dropped: strict, with up to 5%% of the words edited; loose, up to 20%%; none, exact ones "
        "only (default: %(default)s)")
    add("--keep-near-duplicates", dest="near_duplicates", action="store_const", const="none",
        help="the same as --near-duplicates none")
    add("--benchmark", action="append", default=[], type=named_path, metavar="NAME=PATH",
        help="benchmark whose sentences are removed: an output of ingest, or files it reads without options; "
        "repeatable")
    add("--benchmark-characters", type=at_least(1), default=Settings.benchmark_characters,
        help="smallest length of a benchmark sentence that is removed, in characters (default: %(default)s)")
    # fmt: on
    add_engine_options(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    near, benchmarks = LEVELS[options.near_duplicates], tuple(options.benchmark)
    settings = Settings(options.max_repeats, options.min_characters, near, benchmarks, options.benchmark_characters)
    print(deduplicate(options.documents, options.output, settings, engine_of(options)))
    for name, count in read_manifest(options.output / MANIFEST)["benchmarks"].items():
        print(
            f"{name:>8}  {count['found']:,} of {count['sentences']:,} sentences were there; "
            f"{count['shorter']:,} shorter ones were not looked for"
        )
        for file in count.get("not_read", ()):
            print(f"{'not read':>8}  {file}")
    print(f"{'output':>8}  {options.output} (examples of what was dropped: dropped.txt)")


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
