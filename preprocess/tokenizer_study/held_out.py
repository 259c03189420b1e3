"""The part of a held-out text that is also in training text, by the words of documents and lines."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from alibert_common.input_log import InputLog
from preprocess.documents.document import document_files, read_documents, size_of
from preprocess.documents.text_keys import text_key
from preprocess.mixing.reader import read_corpora


def seen_in_training(text: Path, trained_on: Sequence[Path]) -> dict:
    """{"documents", "lines": the number that is also in the training text; "paths", "inputs": of the training text}.

    Reads the training part of a directory of preprocess.mix. Needs about 100 bytes of memory per line of `text`. Raises
    InputError for unreadable documents.
    """
    documents: Counter[bytes] = Counter()
    lines: Counter[bytes] = Counter()
    log = InputLog()
    for document in read_documents([text]):
        documents[text_key(document.text)] += 1
        lines.update(map(text_key, document.lines))
    seen = Counter(documents=0, lines=0)
    files = document_files(path for corpus in read_corpora(list(trained_on)) for path in corpus.paths)
    with tqdm(total=size_of(files), unit="B", unit_scale=True, desc="training text", mininterval=1) as bar:
        for document in read_documents(files, log):
            seen["documents"] += documents.pop(text_key(document.text), 0)
            seen["lines"] += sum(lines.pop(text_key(line), 0) for line in document.lines)
            bar.update(log.bytes_read - bar.n)
    return {**seen, "paths": list(map(str, trained_on)), "inputs": log.manifest()}
