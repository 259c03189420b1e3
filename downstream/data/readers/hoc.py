"""Hallmarks of Cancer (Baker et al., 2016): text/PMID.txt, a sentence a line, and labels/PMID.txt, one line.

That line has a < before the labels of each sentence; labels are joined by AND and give a path in the taxonomy, whose
levels are joined by --. The task is the first level, the ten hallmarks.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import files_of, read_text
from downstream.data.annotated_text import Labels
from downstream.data.examples import LabelledText
from downstream.data.readers.records import distinct


@distinct
def read(path: Path, labels: Labels, counts: Counter) -> Iterator[tuple[str, LabelledText]]:
    """A sentence each, with any number of hallmarks; its group is the abstract. The corpus has no split of its own.

    NULL, which stands for the labels of a few sentences, is no hallmark; it is counted. Raises InputError for a text
    without labels and the reverse, and where these are not as many as the sentences.
    """
    texts = {file.name: file for file in files_of(path / "text", ".txt")}
    annotations = {file.name: file for file in files_of(path / "labels", ".txt")}
    for name in sorted(texts.keys() ^ annotations.keys()):
        raise InputError(f"{path}: {name} is in text/ or in labels/ but not in both; put it there.")
    for name, text in texts.items():
        lines = read_text(text).removeprefix("\ufeff").removesuffix("\n").split("\n")
        before, *cells = read_text(annotations[name]).removeprefix("\ufeff").split("<")
        if before.strip() or len(cells) != len(lines):
            raise InputError(
                f"{annotations[name]}, line 1: labels of {len(cells)} sentences, each after a <, where {text} has "
                f"{len(lines)} lines; take both files from one release."
            )
        for number, (line, cell) in enumerate(zip(lines, cells, strict=True), 1):
            place = f"{annotations[name]}, line 1, sentence {number}"
            kept = tuple(dict.fromkeys(_hallmarks(cell, labels, place, counts)))
            sentence = LabelledText(f"{text.stem}-{number}", line.removesuffix("\r"), kept, group=text.stem)
            yield f"{text}, line {number}", sentence


def _hallmarks(cell: str, labels: Labels, place: str, counts: Counter) -> Iterator[str]:
    for path in cell.split(" AND") if cell.strip() else []:
        hallmark = path.split("--")[0].strip()
        if hallmark == "NULL":
            counts["sentences labelled NULL"] += 1
        elif kept := labels.keep(hallmark, place, counts, "texts"):
            yield kept
