"""The fast tokenizer of a local Hugging Face folder, and what it puts around a sequence and around a pair."""

from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from transformers import AutoModel, AutoTokenizer

from alibert_common.errors import InputError, first_sentence
from alibert_common.files import read_json, write_json

# Copied as they are: what transformers 5 would write names a tokenizer class that 4.57 does not know.
TOKENIZER_FILES = """
tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json
vocab.txt vocab.json merges.txt sentencepiece.bpe.model sentencepiece.model spiece.model spm.model
""".split()
ADD_TOKENIZER = "add the tokenizer.json that belongs to the model"


class Frame(NamedTuple):
    """What the tokenizer puts around a sequence: ids before and after it; the padding id; the most tokens in all.

    Of a pair: ids before, between and after the two, and whether the second has a token type of its own.
    """

    prefix: list[int]
    suffix: list[int]
    padding: int
    longest: int
    pair: tuple[list[int], list[int], list[int]]
    types: bool

    def around(self, first: list[int], second: list[int] | None = None) -> tuple[list[int], list[int] | None]:
        """(ids, token types or None) of a sequence, or of a pair."""
        if second is None:
            return [*self.prefix, *first, *self.suffix], None
        before, between, after = self.pair
        begin, rest = [*before, *first, *between], [*second, *after]
        return begin + rest, [0] * len(begin) + [1] * len(rest) if self.types else None

    def room(self, longest: int, pair: bool = False) -> int:
        """Tokens of text in a sequence of at most so many in all."""
        specials = sum(map(len, self.pair)) if pair else len(self.prefix) + len(self.suffix)
        return min(longest, self.longest) - specials


def load_tokenizer(folder: Path):
    """The folder's fast tokenizer; only those have offsets into the raw text. Raises InputError for another, for one
    that cannot be loaded or knows no pieces of text, and for one without a padding token."""
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise InputError(f"{folder}: no tokenizer in it (tokenizer.json); {ADD_TOKENIZER}.")
    try:
        if (folder / "tokenizer.json").is_file():
            Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # it is all that tokenizers raises for a damaged file
        raise InputError(f"{folder}/tokenizer.json: not usable ({first_sentence(error)}); {ADD_TOKENIZER}.") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # ValueError, TypeError, OSError, ImportError: each class of transformers has its own
        raise InputError(
            f"{folder}: its tokenizer cannot be loaded ({first_sentence(error)}); {ADD_TOKENIZER}."
        ) from None
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):  # what transformers makes of files that it does not find
        raise InputError(f"{folder}: its tokenizer knows no pieces of text; {ADD_TOKENIZER}.")
    if not tokenizer.is_fast:
        raise InputError(f"{folder}: its tokenizer is not a fast one, so it has no offsets; add a tokenizer.json.")
    if tokenizer.pad_token_id is None:
        raise InputError(f"{folder}: its tokenizer has no padding token; name its pad_token in tokenizer_config.json.")
    return tokenizer


def pieces_by_place(tokenizer) -> tuple[dict[str, int], dict[str, int]]:
    """The vocabulary without special tokens: pieces that begin a word, and those that continue one."""
    vocabulary = tokenizer.get_vocab()
    # SentencePiece marks the beginning of a word, byte-level BPE its space; WordPiece marks what continues one.
    marks = [mark for mark in ("▁", "Ġ") if sum(piece.startswith(mark) for piece in vocabulary) > 1]
    specials = set(tokenizer.all_special_ids)
    first: dict[str, int] = {}
    later: dict[str, int] = {}
    for piece, number in vocabulary.items():
        if number not in specials:
            begins = piece.startswith(marks[0]) if marks else not piece.startswith("##")
            (first if begins else later)[piece] = number
    return first, later


def frame_of(tokenizer, config) -> Frame:
    """The frame of sequences and pairs; the limit is the lower one of the tokenizer's and the model's.

    A tokenizer that has special tokens for a sequence and none for a pair gets `<s> A </s> B </s>`, as BERT's.
    """
    bare, framed = (tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
    before, after = _around(bare, framed)
    pair = tokenizer("a", "a", return_token_type_ids=True)  # whether they are given unasked depends on the version
    first, rest = _around(bare, pair["input_ids"])
    between, last = _around(bare, rest)
    types = 1 in pair["token_type_ids"] and _knows_types(config)
    if not first + between + last:
        first, between, last = before, after, after
    longest = min(tokenizer.model_max_length, _positions(config))
    return Frame(before, after, tokenizer.pad_token_id, longest, (first, between, last), types)


def _positions(config) -> int:
    """How many tokens the model can number. RoBERTa and what was made after it number them from the padding id + 1,
    which is where their embeddings of positions know that id."""
    with torch.device("meta"):  # the layers without their weights
        layers = AutoModel.from_config(config, trust_remote_code=False).named_modules()
    padding = next((layer.padding_idx for name, layer in layers if name.endswith("position_embeddings")), None)
    return config.max_position_embeddings - (0 if padding is None else padding + 1)


def _around(part: list[int], whole: list[int]) -> tuple[list[int], list[int]]:
    """The ids before and after the first `part` in `whole`."""
    place = next(start for start in range(len(whole)) if whole[start : start + len(part)] == part)
    return whole[:place], whole[place + len(part) :]


def form_pairs(file: Path, config) -> None:
    """Write the pair form of `frame_of` into a tokenizer.json that joins two sequences bare. Other forms stay."""
    content = read_json(file) if file.is_file() else {}
    processor = content.get("post_processor") or {}
    for step in processor.get("processors", [processor]):
        if step.get("type") != "TemplateProcessing" or any("SpecialToken" in part for part in step["pair"]):
            continue
        kind = step["pair"][-1]["Sequence"]["type_id"] if _knows_types(config) else 0
        place = next(place for place, part in enumerate(step["single"]) if "Sequence" in part)
        after = [{"SpecialToken": part["SpecialToken"] | {"type_id": kind}} for part in step["single"][place + 1 :]]
        step["pair"] = [*step["single"], {"Sequence": {"id": "B", "type_id": kind}}, *after]
        write_json(file, content)


def _knows_types(config) -> bool:
    """Whether the model tells the second of a pair by a token type."""
    return getattr(config, "type_vocab_size", 1) > 1
