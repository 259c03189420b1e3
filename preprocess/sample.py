"""A sample of lines from document files of any size, and the words the text rules make of it."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tokenizers import Tokenizer
from tqdm import tqdm

from preprocess.documents import Size, read_documents
from preprocess.files import InputLog
from preprocess.long_lines import Cuts, cut_line
from preprocess.normalizer import TextNormalizer
from preprocess.walls import spaces_are_walls


@dataclass
class Sample:
    """Lines drawn from `files`; `read` is the size of all their text, `cuts` what became of its longest lines."""

    lines: list[str] = field(default_factory=list)
    read: Size = field(default_factory=Size)
    cuts: Cuts = field(default_factory=Cuts)
    files: InputLog = field(default_factory=InputLog)


def draw_lines(paths: list[Path], limit: int, seed: int) -> Sample:
    """At most `limit` lines, every line as likely as any other, in one pass and in the memory of the sample."""
    sample, seen, draw = Sample(), 0, random.Random(seed)
    total = sum(path.stat().st_size for path in paths if path.is_file())
    with tqdm(total=total, unit="B", unit_scale=True, desc="reading", mininterval=1) as bar:
        for document in read_documents(paths, sample.files):
            sample.read.add(document)
            for part in (part for line in document.lines for part in cut_line(line, sample.cuts)):
                seen += 1
                place = seen - 1 if seen <= limit else draw.randrange(seen)
                if place < limit:
                    sample.lines[place : place + 1] = [part]
            bar.update(sample.files.bytes_read() - bar.n)
    return sample


def split_words(lines: Iterable[str], tokenizer: Tokenizer) -> Iterator[str]:
    """Each line as its words between single spaces; a line without words is left out."""
    words_of = TextNormalizer(tokenizer).bare_words
    if not spaces_are_walls(tokenizer):
        yield from filter(None, (" ".join(words_of(line)) for line in lines))
        return
    parts = _Parts(lambda part: " ".join(words_of(part)))
    for line in lines:
        words = " ".join(filter(None, map(parts.__getitem__, line.split(" "))))
        if words:
            yield words


class _Parts(dict):
    """What a function makes of a part between spaces, asked once a part."""

    def __init__(self, function: Callable[[str], str]):
        self.function = function

    def __missing__(self, part: str) -> str:
        self[part] = self.function(part)
        return self[part]
