"""Read source files into documents: one `.jsonl` with id, source, licence and text.

    python -m preprocess.ingest corpus.txt letters/ --output documents.jsonl --source hospital --licence "CC BY 4.0"

A directory is read file by file, as brat folders are; OUTPUT.report.json says what was read.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from preprocess.compression import bare
from preprocess.documents import Document, read_documents, read_lines, write_document
from preprocess.files import InputError, InputLog, exit_with_sentence, written_whole
from preprocess.report import Report


def ingest(paths: list[Path], output: Path, source: str | None, licence: str | None) -> Report:
    """Write the documents of all `paths` to `output`, in order; `source` and `licence` replace what the files say.

    Raises InputError for a missing or empty input, a format without a reader, and bytes that are not UTF-8.
    """
    log, report = InputLog(), Report("ingest", settings={"source": source, "licence": licence})
    with written_whole(output) as handle:
        for path in paths:
            for document in _documents_of(path, log, report):
                document.source = source or document.source
                document.licence = licence or document.licence
                report.kept.add(document)
                write_document(handle, document)
    report.read, report.inputs = report.kept, log.manifest()
    return report


def _documents_of(path: Path, log: InputLog, report: Report) -> Iterator[Document]:
    if path.is_dir():
        return _read_directory(path, log, report)
    if path.exists() and bare(path).suffix not in (".txt", ".jsonl"):
        raise InputError(
            f"{path}: no reader for '{bare(path).suffix}' files; give .txt, .jsonl or a directory of .txt."
        )
    return read_documents([path], log)


def _read_directory(directory: Path, log: InputLog, report: Report) -> Iterator[Document]:
    """One file, one document, as in brat folders; blank lines inside a file do not divide it."""
    count = 0
    for file in sorted(path for path in directory.rglob("*") if path.is_file()):
        if file.suffix != ".txt":
            report.drop(f"files that are not .txt ({file.suffix or 'no suffix'})")
            continue
        lines = [line for _, line in read_lines(file, log) if line.strip()]
        if not lines:
            report.drop("files without text")
            continue
        count += 1
        yield Document(str(file.relative_to(directory).with_suffix("")), directory.resolve().name, lines)
    if not count:
        raise InputError(f"{directory}: no .txt file with text in this directory; give the one that holds the texts.")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH",
        help=".txt with a blank line between documents, .jsonl with id, source and text, or a directory whose .txt "
        "files (sub-folders included) are one document each, as in brat",
    )  # fmt: skip
    parser.add_argument("--output", required=True, type=Path, help="the .jsonl to write")
    parser.add_argument(
        "--source", help="name of the corpus (default: what a .jsonl says, else the name of the file or directory)"
    )
    parser.add_argument(
        "--licence", help="licence of the texts (default: what a .jsonl says, else empty, because none can be guessed)"
    )
    options = parser.parse_args()
    ingest(options.paths, options.output, options.source, options.licence).finish(options.output)


if __name__ == "__main__":
    exit_with_sentence(main)
