"""Drop documents that were there before, word by word or nearly, and lines that the whole corpus repeats too often.

    python -m preprocess.deduplicate clean --output unique

Texts are compared by their words, whatever white space is between them. Of documents that are the same, or nearly, the
first stays, in the order of the inputs: give the best source first. Nearly: by the words alone, without capitals and
punctuation, three neighbouring ones at a time, 62 % of which both documents have (MinHash; docs/results/
near_duplicates.md).
"""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from preprocess.arrays import load
from preprocess.documents import Document, document_files, read_documents
from preprocess.engine import Engine, add_engine_options, engine_of
from preprocess.files import exit_with_sentence
from preprocess.near_duplicates import Settings as Near
from preprocess.options import at_least
from preprocess.repeated_documents import KEPT, NEAR, SAME, Corpus, FindNear, decide, find_same, save_keys
from preprocess.repeated_lines import FindRepeated, Groups, ShardLines, lines_to_drop, share_out
from preprocess.report import Report
from preprocess.resumable import Work, identity, resumable_directory
from preprocess.shards import shard_name
from preprocess.stage import map_shards

DROPPED = {SAME: "documents seen before", NEAR: "near-duplicates of an earlier document"}
REPEATED, EMPTY = "lines seen {} times before", "documents left without a line"


@dataclass(frozen=True)
class Settings:
    """What counts as a repetition. Defaults as the command's."""

    max_repeats: int = 10
    min_characters: int = 20
    near: Near | None = Near()  # None: near-duplicates stay


def deduplicate(inputs: list[Path], output: Path, settings: Settings, engine: Engine) -> Report:
    """Write the documents of `inputs` that are left, in shards; the report counts what was dropped.

    A line of `min_characters` or more is kept `max_repeats` times in all; 0 keeps every line.
    """
    shards = document_files(inputs)
    key = {"settings": asdict(settings), "inputs": identity(inputs)}
    with resumable_directory(output, "deduplicate", key) as work:
        if work is not None:
            report = map_shards(work, "writing", shards, _find(work, shards, settings, engine), engine)
            work.manifest = {"settings": asdict(settings)} | asdict(report)
    return Report.of_output(output)


def _find(work: Work, shards: list[Path], settings: Settings, engine: Engine) -> "DropFound":
    """Find what is to be dropped, in all shards."""
    keys, logs = work.scratch / "keys", work.scratch / "jobs"
    keys.mkdir(exist_ok=True)
    make = MakeKeys(keys, settings)
    engine.run("keys", make, [piece for piece in enumerate(shards) if not make.made(piece[0])], logs)
    corpus = Corpus.of(keys, len(shards))
    if not corpus.same.exists():
        find_same(corpus)
    found = []
    if settings.near:
        near = FindNear(corpus, settings.near)
        found = [near.output(band) for band in range(settings.near.bands)]
        engine.run("documents", near, [band for band, path in enumerate(found) if not path.exists()], logs)
    if not corpus.fates.exists():
        decide(corpus, found)
    repeated = FindRepeated(settings.max_repeats, corpus.fates, corpus.starts)
    parts = share_out(keys, len(shards)) if settings.max_repeats else []
    engine.run("lines", repeated, [part for part in parts if not part.output.exists()], logs)
    return DropFound(corpus, tuple(parts), REPEATED.format(settings.max_repeats))


@dataclass(frozen=True)
class MakeKeys:
    """The keys of a shard's documents and lines."""

    directory: Path
    settings: Settings

    def made(self, number: int) -> bool:
        """Whether those of shard `number` are there; the documents' are written last."""
        return (self.directory / f"{shard_name(number)}.documents.npy").exists()

    def __call__(self, piece: tuple[int, Path]) -> None:
        number, path = piece
        if self.made(number):
            return
        texts, lines = [], ShardLines(self.settings.min_characters)
        for document in read_documents([path]):
            if self.settings.max_repeats:
                lines.add(len(texts), document.lines)
            texts.append(document.text)
        lines.save(self.directory, number)
        save_keys(self.directory, number, texts, self.settings.near)


@dataclass(frozen=True)
class DropFound:
    """The filter that leaves out what was found."""

    corpus: Corpus
    parts: tuple[Groups, ...]
    repeated: str

    def __call__(self, number: int, documents: Iterable[Document], report: Report) -> Iterator[Document]:
        starts = self.corpus.starts
        fates = load(self.corpus.fates)[starts[number] : starts[number + 1]]
        repeated = lines_to_drop(self.parts, number)
        for place, document in enumerate(documents):
            if fates[place] != KEPT:
                report.drop(DROPPED[fates[place]])
                continue
            gone = repeated.get(place, ())
            document.lines = [line for line_number, line in enumerate(document.lines) if line_number not in gone]
            report.drop(self.repeated, len(gone))
            if document.lines:
                yield document
            else:
                report.drop(EMPTY)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="+", type=Path, metavar="DOCUMENTS", help="of ingest or clean, or files")
    parser.add_argument("--output", required=True, type=Path, help="the directory to write")
    parser.add_argument(
        "--max-repeats", type=at_least(0), default=Settings.max_repeats,
        help="how often a line is kept in the whole corpus (default %(default)s: enough to learn a standard phrase, "
        "and a leaflet keeps its own sentences; 1 keeps no repetition, 0 keeps all lines)",
    )  # fmt: skip
    parser.add_argument(
        "--min-characters", type=at_least(0), default=Settings.min_characters,
        help="shorter lines are never dropped (default %(default)s: headings such as 'Antécédents' recur by right, and "
        "a letter without them is no letter)",
    )  # fmt: skip
    parser.add_argument(
        "--keep-near-duplicates", action="store_true",
        help="drop copies of the same words only (default: near-duplicates too, which a model learns by heart)",
    )  # fmt: skip
    add_engine_options(parser)
    options = parser.parse_args()
    near = None if options.keep_near_duplicates else Near()
    settings = Settings(options.max_repeats, options.min_characters, near)
    print(deduplicate(options.documents, options.output, settings, engine_of(options)))
    print(f"{'written':>8}  {options.output}")


if __name__ == "__main__":
    exit_with_sentence(main)
