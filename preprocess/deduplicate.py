"""Drop documents that were there before, and lines that the whole corpus repeats too often.

    python -m preprocess.deduplicate clean --output unique

Texts are compared by their words, whatever white space is between them; capitals, punctuation and numbers count. Of
documents that are the same the first stays, in the order of the inputs: give the best source first.
"""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from preprocess.arrays import load, save
from preprocess.documents import Document, document_files, read_documents
from preprocess.engine import Engine, add_engine_options, engine_of
from preprocess.files import exit_with_sentence
from preprocess.options import at_least
from preprocess.repeated_lines import FindRepeated, Groups, ShardLines, lines_to_drop, share_out
from preprocess.report import Report
from preprocess.resumable import Work, identity, resumable_directory
from preprocess.shards import shard_name
from preprocess.stage import map_shards
from preprocess.text_keys import key_array

SAME, REPEATED, EMPTY = "documents seen before", "lines seen {} times before", "documents left without a line"


@dataclass(frozen=True)
class Settings:
    """What counts as a repetition. Defaults as the command's."""

    max_repeats: int = 10
    min_characters: int = 20


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
    pieces = [(number, path) for number, path in enumerate(shards)]
    make = MakeKeys(keys, settings)
    engine.run("keys", make, [piece for piece in pieces if not make.made(piece[0])], logs)
    counts = [len(load(keys / f"{shard_name(number)}.documents.npy")) for number, _ in pieces]
    starts = tuple(np.cumsum([0, *counts]).tolist())
    same = keys / "same.npy"
    if not same.exists():
        save(same, _seen_before(np.concatenate([load(keys / f"{shard_name(n)}.documents.npy") for n, _ in pieces])))
    find = FindRepeated(settings.max_repeats, same, starts)
    parts = share_out(keys, len(shards)) if settings.max_repeats else []
    engine.run("lines", find, [part for part in parts if not part.output.exists()], logs)
    return DropFound(same, starts, tuple(parts), REPEATED.format(settings.max_repeats))


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
        save(self.directory / f"{shard_name(number)}.documents.npy", key_array(texts))


def _seen_before(keys: np.ndarray) -> np.ndarray:
    """(documents,) whether an earlier one has the same key. `keys`: (documents, 2)."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: the first of the same comes first
    ordered = keys[order]
    seen = np.zeros(len(keys), bool)
    seen[order[1:]] = (ordered[1:] == ordered[:-1]).all(1)
    return seen


@dataclass(frozen=True)
class DropFound:
    """The filter that leaves out what was found."""

    same: Path
    starts: tuple[int, ...]
    parts: tuple[Groups, ...]
    repeated: str

    def __call__(self, number: int, documents: Iterable[Document], report: Report) -> Iterator[Document]:
        same = load(self.same)[self.starts[number] : self.starts[number + 1]]
        repeated = lines_to_drop(self.parts, number)
        for place, document in enumerate(documents):
            if same[place]:
                report.drop(SAME)
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
    add_engine_options(parser)
    options = parser.parse_args()
    settings = Settings(options.max_repeats, options.min_characters)
    print(deduplicate(options.documents, options.output, settings, engine_of(options)))
    print(f"{'written':>8}  {options.output}")


if __name__ == "__main__":
    exit_with_sentence(main)
