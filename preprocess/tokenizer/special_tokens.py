"""Where a tokenizer directory has its special tokens: our own layout of ids, or that of a published model.

Our own is that of `vocabulary.py`. In a published one, which `python -m alibert_fairseq.hf.load` writes, they stand
wherever their makers put them; dict.txt then lists every id from 0 in order, the special tokens too, and
tokenizer_config.json says which token has which role. That is how it is recognised: our dict.txt lists none of them.
"""

from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tokenizers import Tokenizer

from alibert_common.errors import InputError
from alibert_common.json_value import parse_json
from preprocess.tokenizer.vocabulary import MASK, SPECIALS

ROLES = {"begin": "cls_token", "pad": "pad_token", "end": "sep_token", "unknown": "unk_token", "mask": "mask_token"}
MASKS = (MASK, "[MASK]")  # the names that published models give it
FILLER = "<unused{}>"  # an id that no token has, as in our own vocabularies
REMEDY = "read the published model again with `python -m alibert_fairseq.hf.load`"


@dataclass(frozen=True)
class Layout:
    """The ids of the special tokens; `size` counts all ids, the mask's and those of fillers among them."""

    begin: int
    pad: int
    end: int
    unknown: int
    mask: int
    size: int
    published: bool  # dict.txt lists every id, not only what stands between <unk> and <mask>

    @property
    def listed(self) -> int:
        """How many ids a data-bin is made for: fairseq's dictionary, to which our tasks add our own mask."""
        return self.size if self.published else self.size - 1


def our_layout(size: int) -> Layout:
    """`<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3, `<mask>` last."""
    begin, pad, end, unknown = range(len(SPECIALS))
    return Layout(begin, pad, end, unknown, mask=size - 1, size=size, published=False)


def read_layout(directory: Path) -> Layout:
    """The layout of a tokenizer directory or a data-bin.

    Raises InputError for a dict.txt that cannot be read, or that lists special tokens whose roles nothing tells.
    """
    directory = Path(directory)
    symbols, tokens = read_symbols(directory / "dict.txt"), read_roles(directory)
    ids = {symbol: number for number, symbol in enumerate(symbols)}
    if tokens and all(token in ids for token in tokens.values()):
        return Layout(**{role: ids[token] for role, token in tokens.items()}, size=len(symbols), published=True)
    if not tokens and any(mask in ids for mask in MASKS):
        raise InputError(
            f"{directory}: its dict.txt lists the special tokens of a published model, but no tokenizer_config.json "
            f"says which they are; {REMEDY}."
        )
    return our_layout(len(SPECIALS) + len(symbols) + 1)


def read_symbols(path: Path) -> list[str]:
    """The first column of dict.txt. A piece may hold a space, but no line break."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (UnicodeDecodeError, FileNotFoundError) as error:
        raise InputError(
            f"{path}: not a readable dict.txt ({error}); "
            "train it again with `python -m preprocess.train_tokenizer`, or read the published model again."
        ) from None
    return [line.rsplit(" ", 1)[0] for line in lines if line]


def read_roles(directory: Path) -> dict[str, str]:
    """The token of every role, or nothing where tokenizer_config.json is missing or leaves one out."""
    file = directory / "tokenizer_config.json"
    if not file.is_file():
        return {}
    try:
        config = parse_json(file.read_text(encoding="utf-8"))
        tokens = {role: config.get(name) for role, name in ROLES.items()}
    except (ValueError, AttributeError) as error:
        raise InputError(f"{file}: not a tokenizer_config.json ({error}); make the tokenizer again.") from None
    return tokens if all(isinstance(token, str) for token in tokens.values()) else {}


def flagged(tokenizer: Tokenizer) -> set[int]:
    """The ids of the tokens that a tokenizer.json calls special."""
    return {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}


def never_from_text(tokenizer: Tokenizer, layout: Layout) -> frozenset[int]:
    """The ids of special tokens, the unknown's apart: a text that spells such a token gives none of them."""
    return frozenset(flagged(tokenizer) | {layout.begin, layout.pad, layout.end, layout.mask}) - {layout.unknown}


def symbols_of(tokenizer: Tokenizer, size: int) -> list[str]:
    """What a published dict.txt lists for the ids below `size`: the token of each, or a filler.

    A filler stands for an id that encoding cannot give: a hole, a row of the model behind the tokenizer's last id, the
    second of two equal strings, of which the library knows one, or a line break, which no line of a corpus holds.
    """
    vocabulary = tokenizer.get_vocab()
    tokens = {number: token for token, number in vocabulary.items() if "\n" not in token and "\r" not in token}
    fillers = (name for name in map(FILLER.format, count()) if name not in vocabulary)
    return [tokens[number] if number in tokens else next(fillers) for number in range(size)]


def write_symbols(path: Path, symbols: list[str]) -> None:
    """Write a published dict.txt of what `symbols_of` lists; its counts are 0, for nobody counted."""
    text = "".join(f"{symbol} 0\n" for symbol in symbols)
    Path(path).write_text(text, encoding="utf-8", newline="\n")
