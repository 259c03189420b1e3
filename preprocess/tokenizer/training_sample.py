"""A sample of lines from document files of any size, and the words the text rules make of it."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from tokenizers import Tokenizer
from tqdm import tqdm

from alibert_common.input_log import InputLog
from preprocess.documents.document import Size, document_files, read_documents, size_of
from preprocess.documents.long_lines import Cuts, cut_line
from preprocess.mixing.reader import Corpus
from preprocess.tokenizer.normalizer import TextNormalizer
from preprocess.tokenizer.word_independence import is_word_independent


@dataclass
class Sample:
    """Lines drawn from `files`; `read` is the size of all their text, `cuts` what became of its longest lines."""

    lines: list[str] = field(default_factory=list)
    read: Size = field(default_factory=Size)
    cuts: Cuts = field(default_factory=Cuts)
    files: InputLog = field(default_factory=InputLog)


def draw_lines(corpora: Iterable[Corpus], limit: int, seed: int) -> Sample:
    """At most `limit` lines, in one pass and in the memory of the sample.

    Every line of a corpus of weight 1 is as likely as any other; one of weight 2.5 counts as two lines or, as often, as
    three (ouBioBERT's amplified vocabulary, Wada et al. 2020, section 2.2).
    """
    sample, seen, draw = Sample(), 0, random.Random(seed)
    for corpus in corpora:
        files = document_files(corpus.paths)
        with tqdm(total=size_of(files), unit="B", unit_scale=True, desc=f"reading {corpus.name}", mininterval=1) as bar:
            before = sample.files.bytes_read
            for document in read_documents(files, sample.files):
                sample.read.add(document)
                for part in (part for line in document.lines for part in cut_line(line, sample.cuts)):
                    # A whole number that is the weight on average.
                    times = int(corpus.weight) + (corpus.weight % 1 > 0 and draw.random() < corpus.weight % 1)
                    for _ in range(times):
                        seen += 1
                        place = seen - 1 if seen <= limit else draw.randrange(seen)
                        if place < limit:
                            sample.lines[place : place + 1] = [part]
                bar.update(sample.files.bytes_read - before - bar.n)
    return sample


def split_words(lines: Iterable[str], tokenizer: Tokenizer) -> Iterator[str]:
    """Each line as its words between single spaces; a line without words is left out."""
    words_of = TextNormalizer(tokenizer).bare_words
    if is_word_independent(tokenizer):
        of_part = cache(lambda part: " ".join(words_of(part)))
        split = (" ".join(filter(None, map(of_part, line.split(" ")))) for line in lines)
    else:
        split = (" ".join(words_of(line)) for line in lines)
    return filter(None, split)
