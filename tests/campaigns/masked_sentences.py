"""Mask words of documents held out: `python tests/campaigns/masked_sentences.py DOCUMENTS --source NAME --output FILE`.

The words are drawn before there is any tokenizer, all alike probable, among those of letters alone with white space on
both sides: whatever the text rules, such a word stands apart. Around it stay the 12 words on either side in its line,
some 30 pieces. FILE is what `python -m downstream.masked_words --sentences` reads.
"""

import argparse
import random
from pathlib import Path

from alibert_common.files import written_whole
from downstream.masked_words.questions import MASK
from preprocess.documents.document import read_documents

AROUND = 12  # words on either side: with pieces of 8,000 some 30 tokens, the block that small_encoders.bash trains on


def masked(words: list[str], place: int) -> str:
    """The words around a place with the mask in it, a tab, the word."""
    before, after = words[max(0, place - AROUND) : place], words[place + 1 : place + 1 + AROUND]
    return f"{' '.join([*before, MASK, *after])}\t{words[place]}"


def draw(lines: list[str], number: int, seed: int) -> list[str]:
    """`number` masked words of the lines, all if there are fewer, in the order of the text."""
    texts = [line.split() for line in lines]
    # What begins with # is a remark to the reader of the file.
    places = [
        (row, place)
        for row, words in enumerate(texts)
        for place, word in enumerate(words)
        if word.isalpha() and not words[max(0, place - AROUND)].startswith("#")
    ]
    drawn = random.Random(seed).sample(places, min(number, len(places)))
    return [masked(texts[row], place) for row, place in sorted(drawn)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("documents", type=Path)
    parser.add_argument("--source", required=True, help="the corpus whose documents are taken")
    parser.add_argument("--words", type=int, default=3000, help="default 3000: an accuracy of 0.30 is known to 0.01")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    documents = [one for one in read_documents([arguments.documents]) if one.source == arguments.source]
    sentences = draw([line for one in documents for line in one.lines], arguments.words, arguments.seed)
    with written_whole(arguments.output) as handle:
        handle.writelines(f"{sentence}\n" for sentence in sentences)
    print(f"{len(sentences):,} masked words of {len(documents):,} documents of {arguments.source}: {arguments.output}")


if __name__ == "__main__":
    main()
