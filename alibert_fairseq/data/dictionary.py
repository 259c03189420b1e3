"""The dictionary of a data-bin or a tokenizer directory, whether its ids are ours or a published model's."""

import json
from pathlib import Path

from fairseq.data import Dictionary

from alibert_common.errors import InputError
from preprocess.tokenizer.special_tokens import Layout, read_layout, read_symbols
from preprocess.tokenizer.vocabulary import MASK


class PublishedDictionary(Dictionary):
    """fairseq's dictionary with the special tokens where a published model has them.

    `index("<mask>")` is the mask's id here too, whatever its name, because the rest of this plugin looks it up so.
    special: the ids of all special tokens of the tokenizer, also those without a role (CamemBERT's <s>NOTUSED).
    """

    def __init__(self, symbols: list[str], layout: Layout, special: set[int]):
        self.symbols, self.count = list(symbols), [0] * len(symbols)
        self.indices = {symbol: number for number, symbol in enumerate(symbols)}
        self.indices.setdefault(MASK, layout.mask)
        self.bos_index, self.pad_index = layout.begin, layout.pad
        self.eos_index, self.unk_index = layout.end, layout.unknown
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
        return PublishedDictionary(read_symbols(directory / "dict.txt"), layout, _special(directory))
    dictionary = Dictionary.load(str(directory / "dict.txt"))
    dictionary.add_symbol(MASK)
    return dictionary


def _special(directory: Path) -> set[int]:
    file = directory / "tokenizer.json"
    if not file.is_file():
        return set()
    return {token["id"] for token in json.loads(file.read_text(encoding="utf-8"))["added_tokens"] if token["special"]}
