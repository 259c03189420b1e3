"""The part of a held-out text that is also in training text, by the words of documents and lines."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from alibert_common.executors.base import Engine
from alibert_common.files import read_json, write_json
from alibert_common.input_log import InputLog
from preprocess.documents.document import Document, document_files, read_documents
from preprocess.documents.shards import shard_name
from preprocess.documents.text_keys import text_key
from preprocess.mixing.reader import read_corpora


def seen_in_training(text: Iterable[Document], trained_on: Sequence[Path], engine: Engine, folder: Path) -> dict:
    """{"documents", "lines": the number that is also in the training text; "paths", "inputs": of the training text}.

    Reads the training part of a directory of preprocess.mix. Needs about 100 bytes of memory per line of `text` in each
    process. Raises InputError for unreadable documents.
    """
    documents: Counter[bytes] = Counter()
    lines: Counter[bytes] = Counter()
    for document in text:
        documents[text_key(document.text)] += 1
        lines.update(map(text_key, document.lines))
    files = list(enumerate(document_files(path for corpus in read_corpora(list(trained_on)) for path in corpus.paths)))
    find = FindSeen(frozenset(documents), frozenset(lines), folder)
    engine.run("training text", find, files, folder)
    reports = [read_json(find.done(file)) for file in files]
    found = {
        name: sum(counts[bytes.fromhex(key)] for key in set().union(*(report[name] for report in reports)))
        for name, counts in (("documents", documents), ("lines", lines))
    }
    inputs = [file for report in reports for file in report["inputs"]]
    return found | {"paths": list(map(str, trained_on)), "inputs": inputs}


@dataclass(frozen=True)
class FindSeen:
    """Write the keys of the sought documents and lines that are in a file of training text."""

    documents: frozenset[bytes]
    lines: frozenset[bytes]
    folder: Path

    def done(self, file: tuple[int, Path]) -> Path:
        """What was found."""
        return self.folder / f"{shard_name(file[0])}.json"

    def __call__(self, file: tuple[int, Path]) -> None:
        log = InputLog()
        documents: set[bytes] = set()
        lines: set[bytes] = set()
        for document in read_documents([file[1]], log):
            documents |= self.documents & {text_key(document.text)}
            lines |= self.lines.intersection(map(text_key, document.lines))
        found = {"documents": sorted(key.hex() for key in documents), "lines": sorted(key.hex() for key in lines)}
        write_json(self.done(file), found | {"inputs": log.manifest()})
