"""With how many parts should the training of a Unigram model begin? Seconds, and tokens of its text and of others.

    python tests/campaigns/seed_pieces.py TEXT --held-out FILE... [--vocab-size 40000] [--most 100000 200000 ...]

TEXT is an output of mix, or files; a million lines of it are drawn. The held-out files are read line by line.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

from tokenizers import models

from alibert_common.executors.base import ALONE
from preprocess.documents.document import read_lines
from preprocess.mixing.reader import read_corpora
from preprocess.tokenizer import trainers
from preprocess.tokenizer.normalizer import BOUNDARY, TextOptions, rules_only
from preprocess.tokenizer.training_sample import draw_lines
from preprocess.tokenizer.vocabulary import Subwords
from preprocess.tokenizer.word_counts import WordCounter, count_sample


def tokens(subwords: Subwords, words: Counter[str]) -> int:
    """Of all words, an unknown character counted as one."""
    pieces = list(zip(subwords.pieces, subwords.scores, strict=True))
    model = models.Unigram([("<unk>", min(subwords.scores)), *pieces], 0, False)
    return sum(count * len(model.tokenize(BOUNDARY + word)) for word, count in words.items())


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="+", type=Path, help="output of mix, or files")
    parser.add_argument("--held-out", nargs="+", type=Path, required=True, help="other text files")
    parser.add_argument("--vocab-size", type=int, default=40_000, help="number of subwords (default: 40000)")
    sizes = (100_000, 150_000, 200_000, 300_000, 400_000, 1_000_000)
    parser.add_argument("--most", nargs="+", type=int, default=sizes, help=f"numbers of parts (default: {sizes})")
    options = parser.parse_args()
    rules = TextOptions()
    with tempfile.TemporaryDirectory() as folder:
        drawn = draw_lines(read_corpora(options.text), 1_000_000, 1, ALONE, Path(folder))
        words = trainers.Words(count_sample(drawn, rules, ALONE, Path(folder)).words)
    lines = (line for file in options.held_out for _, line in read_lines(file))
    held_out = WordCounter(rules_only(rules)).count(lines).words
    print(f"{len(words.trainable):,} words; held out: {sum(held_out.values()):,} words\n")
    print("| parts, at most | seconds | CPU s | tokens of the text | tokens held out |\n|---|---|---|---|---|")
    for most in options.most:
        trainers.SEED_PIECES, trainers.SEEDS_A_PIECE = most, 0
        began, cpu = time.perf_counter(), time.process_time()
        subwords = trainers.train("unigram", words, options.vocab_size)
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        found = [f"{tokens(subwords, some):,}" for some in (words.trainable, held_out)]
        print(f"| {most:,} | {took:.1f} | {cpu:.1f} | {found[0]} | {found[1]} |", flush=True)


if __name__ == "__main__":
    main()
