"""The dictionary of a data-bin or a tokenizer directory, ours or a published model's, and what its ids stand for."""

import json
from pathlib import Path

import numpy as np
from fairseq.data import Dictionary

from alibert_common.errors import InputError
from preprocess.tokenizer.piece_text import FILLER
from preprocess.tokenizer.special_tokens import Layout, read_layout, read_symbols
from preprocess.tokenizer.vocabulary import MASK
from preprocess.tokenizer.word_starts import starts_by, word_mark


class PublishedDictionary(Dictionary):
    """fairseq's dictionary with the special tokens where a published model has them.

    `index("<mask>")` is the mask's id here too, whatever its name, unless a subword is called so.
    special: the ids of all special tokens of the tokenizer, also those without a role (CamemBERT's <s>NOTUSED).
    """

    def __init__(self, symbols: list[str], layout: Layout, special: set[int]):
        self.symbols, self.count = list(symbols), [0] * len(symbols)
        self.indices = {symbol: number for number, symbol in enumerate(symbols)}
        self.indices.setdefault(MASK, layout.mask)
        self.bos_index, self.pad_index = layout.begin, layout.pad
        self.eos_index, self.unk_index, self.mask_index = layout.end, layout.unknown, layout.mask
        self.bos_word, self.pad_word = symbols[layout.begin], symbols[layout.pad]
        self.eos_word, self.unk_word = symbols[layout.end], symbols[layout.unknown]
        self.nspecial = 0  # fairseq's four in front of dict.txt: here dict.txt has them
        self.special = special | {layout.begin, layout.pad, layout.end, layout.unknown, layout.mask}


def load_dictionary(directory: Path) -> Dictionary:
    """The dictionary, the mask included. Ours has four special tokens before dict.txt and <mask> after it.

    Raises InputError for a directory without a readable dict.txt.
    """
    directory = Path(directory)
    if not (directory / "dict.txt").is_file():
        raise InputError(f"{directory / 'dict.txt'}: no such file; give the tokenizer directory of the data-bin.")
    layout = read_layout(directory)
    if layout.published:
        file = directory / "tokenizer.json"
        tokens = json.loads(file.read_text(encoding="utf-8"))["added_tokens"] if file.is_file() else []
        special = {token["id"] for token in tokens if token["special"]}
        return PublishedDictionary(read_symbols(directory / "dict.txt"), layout, special)
    try:
        dictionary = Dictionary.load(str(directory / "dict.txt"))
    except (ValueError, RuntimeError) as error:  # a line without a count, or one that is there twice
        why = " ".join(str(error).split())
        raise InputError(f"{directory / 'dict.txt'}: is damaged ({why}); make the data-bin again.") from None
    dictionary.add_symbol(MASK)
    return dictionary


def mask_id(dictionary: Dictionary) -> int:
    """The id of the mask, whatever its name."""
    return getattr(dictionary, "mask_index", dictionary.index(MASK))


def special_ids(dictionary: Dictionary) -> list[int]:
    """The ids that are never masked: <s>, padding, </s>, the mask, other special tokens of a published tokenizer."""
    others: set[int] = getattr(dictionary, "special", set()) - {dictionary.unk()}
    return sorted(others | {dictionary.bos(), dictionary.pad(), dictionary.eos(), mask_id(dictionary)})


def subword_ids(dictionary: Dictionary) -> np.ndarray:
    """Sorted ids of the subwords of text, wherever the dictionary has its special tokens and fillers."""
    others = {*special_ids(dictionary), dictionary.unk()}
    subwords = [i for i in range(len(dictionary)) if i not in others and not FILLER.match(dictionary[i])]
    return np.array(subwords)


def word_starts(dictionary: Dictionary) -> np.ndarray:
    """(V,) bool: whether a subword starts a word, by its mark. Raises InputError where subwords have none."""
    mark = word_mark([dictionary[i] for i in subword_ids(dictionary)])
    return starts_by(mark, [dictionary[i] for i in range(len(dictionary))])
