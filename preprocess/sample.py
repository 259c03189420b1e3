"""A sample of lines from document files of any size, and the words the text rules make of it."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import Tokenizer
from tqdm import tqdm

from preprocess.documents import Size, read_documents
from preprocess.files import InputLog
from preprocess.normalizer import TextNormalizer
from preprocess.walls import spaces_are_walls


def sample_lines(paths: list[Path], limit: int, seed: int) -> tuple[list[str], Size, InputLog]:
    """(at most `limit` lines, every line as likely as any other; the size of all text; the files read), in one pass."""
    log, size, lines, seen = InputLog(), Size(), [], 0
    draw = random.Random(seed)
    total = sum(path.stat().st_size for path in paths if path.is_file())
    with tqdm(total=total, unit="B", unit_scale=True, desc="reading", mininterval=1) as bar:
        for document in read_documents(paths, log):
            size.add(document)
            for line in document.lines:
                seen += 1
                place = seen - 1 if seen <= limit else draw.randrange(seen)
                if place < limit:
                    lines[place : place + 1] = [line]
            bar.update(log.bytes_read() - bar.n)
    return lines, size, log


def split_words(lines: Iterable[str], tokenizer: Tokenizer) -> Iterator[str]:
    """Each line as its words between single spaces; a line without words is left out."""
    words_of = TextNormalizer(tokenizer).bare_words
    if not spaces_are_walls(tokenizer):
        yield from filter(None, (" ".join(words_of(line)) for line in lines))
        return
    cache: dict[str, str] = {}
    for line in lines:
        parts = line.split(" ")
        for part in parts:
            if part not in cache:
                cache[part] = " ".join(words_of(part))
        words = " ".join(filter(None, map(cache.__getitem__, parts)))
        if words:
            yield words
