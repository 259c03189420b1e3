"""The one way to a tokenizer for corpus text, and the check that its ids are those of dict.txt."""

import os
from pathlib import Path

from tokenizers import Tokenizer

from alibert_common.errors import InputError
from preprocess.tokenizer.special_tokens import REMEDY as READ_AGAIN
from preprocess.tokenizer.special_tokens import read_layout, read_symbols, symbols_of
from preprocess.tokenizer.vocabulary import MASK, SPECIALS

REMEDY = "train it again with `python -m preprocess.train_tokenizer`"
PUBLISHED = "or read a published model with `python -m alibert_fairseq.hf.load`"


def load_tokenizer(path: os.PathLike) -> Tokenizer:
    """Load `tokenizer.json`, or that of a directory, for corpus text: a literal `<s>` or `<mask>` is ordinary text.

    Where a dict.txt lies beside it, its ids are compared. Raises InputError for a missing or damaged file, and for a
    tokenizer whose special tokens or pieces have other ids than dict.txt and fairseq give them.
    """
    path = Path(path)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{file}: no such file; {REMEDY}.")
    try:
        tokenizer = Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises a bare Exception for what it cannot read
        raise InputError(f"{file}: not a tokenizer ({error}); {REMEDY}.") from None
    tokenizer.encode_special_tokens = True
    table = file.parent / "dict.txt"
    published = table.is_file() and read_layout(file.parent).published
    if not published:
        _check_specials(file, tokenizer)
    if table.is_file():
        check_dictionary(tokenizer, table, published)
    return tokenizer


def _check_specials(file: Path, tokenizer: Tokenizer) -> None:
    size = tokenizer.get_vocab_size()
    for expected, token in [*enumerate(SPECIALS), (size - 1, MASK)]:
        if tokenizer.token_to_id(token) != expected:
            raise InputError(
                f"{file}: {token} has id {tokenizer.token_to_id(token)}, fairseq needs {expected} "
                f"in a vocabulary of {size}; {REMEDY}, {PUBLISHED}."
            )


def check_dictionary(tokenizer: Tokenizer, path: Path, published: bool = False) -> None:
    """Raise InputError unless line N of dict.txt is the piece of id N + 3 and the mask alone is missing from it.

    Of a published tokenizer, line N is the token of id N - 1, and none is missing.
    """
    pieces, remedy = read_symbols(path), READ_AGAIN if published else REMEDY
    if published:
        last = max(tokenizer.get_vocab().values())
        expected: list[str | None] = [*symbols_of(tokenizer, max(len(pieces), last + 1))]
    else:
        expected = [tokenizer.id_to_token(number) for number in range(len(SPECIALS), tokenizer.get_vocab_size() - 1)]
    for number, (piece, wanted) in enumerate(zip(pieces, expected, strict=False), 1):
        if piece != wanted:
            raise InputError(f"{path}, line {number}: '{piece}' where tokenizer.json has '{wanted}'; {remedy}.")
    if len(pieces) != len(expected):
        raise InputError(f"{path}: {len(pieces)} pieces where tokenizer.json has {len(expected)}; {remedy}.")
