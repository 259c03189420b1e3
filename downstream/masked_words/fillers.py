"""A model that fills masks, and how its tokenizer writes a word at a given place: in which pieces, if in any."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForMaskedLM

from alibert_common.errors import InputError
from downstream.masked_words.questions import Question
from downstream.training.models import load_config, load_weights
from downstream.training.tokenizer import Frame, frame_of, load_tokenizer, pieces_by_place

# Each number of pieces costs a pass over all sentences. With a vocabulary of 8,000, one word of clinical cases in 1,000
# has more than 10; such a word counts as one that the model cannot predict.
MAX_PIECES = 10


class Filler(NamedTuple):
    """A masked-language model; `note` says what answers for an ELECTRA. `frame` is what goes around a sentence."""

    name: str
    note: str
    tokenizer: Any
    model: Any
    frame: Frame

    @property
    def room(self) -> int:
        """Tokens of a sentence around the mask that fit, whatever the number of masks."""
        return self.frame.longest - len(self.frame.prefix) - len(self.frame.suffix) - MAX_PIECES


class Spelling(NamedTuple):
    """How a model writes the candidates at one kind of place.

    by_size: number of pieces -> their ids, (forms, pieces), and the word that each form is, (forms,). sizes: word ->
    the pieces of its shortest form. never: why forms cannot be predicted -> how many.
    """

    by_size: dict[int, tuple[torch.Tensor, ...]]
    sizes: dict[int, int]
    never: Counter


def load_filler(folder: Path, name: str, device: torch.device) -> Filler:
    """A masked-language model from its folder, or an ELECTRA's from the generator/ inside its folder.

    Raises InputError if weights of the head are missing, which would answer at random.
    """
    config, place, note = load_config(folder), folder, ""
    if config.model_type == "electra" and "ElectraForMaskedLM" not in (config.architectures or ()):
        place, note = folder / "generator", "through its generator"
        if not place.is_dir():
            raise InputError(f"{folder}: an ELECTRA discriminator predicts no words, and there is no generator/ in it.")
    tokenizer = load_tokenizer(place if (place / "tokenizer.json").is_file() else folder)
    model, missing = load_weights(AutoModelForMaskedLM, place)
    if missing:
        raise InputError(f"{place}: it has no whole masked-language model (lacks {missing[0]}); export it again.")
    if tokenizer.mask_token_id is None:
        raise InputError(f"{place}: its tokenizer has no mask token; export the folder again.")
    filler = Filler(name, note, tokenizer, model.eval().to(device), frame_of(tokenizer, load_config(place)))
    if filler.room < 0:
        raise InputError(f"{place}: it reads {filler.frame.longest} tokens at most, too few for {MAX_PIECES} masks.")
    return filler


def whole_words(tokenizer) -> set[str]:
    """The words of letters alone that are one piece of the vocabulary, at the beginning of a word."""
    first, _ = pieces_by_place(tokenizer)
    words = {
        tokenizer.convert_tokens_to_string([piece]).strip() if piece.startswith("Ġ") else piece.lstrip("▁")
        for piece in first
    }
    return {word for word in words if word.isalpha()}


def context_of(filler: Filler, question: Question) -> tuple[list[int], list[int]]:
    """The ids before and after the masked word, as they are when the word stands there: without special tokens.

    Raises InputError if a piece of the vocabulary goes across the border of the word.
    """
    text, start = question.before + question.word + question.after, len(question.before)
    encoded = filler.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    found = pieces_at(encoded["offset_mapping"], text, start, start + len(question.word))
    if found is None:
        raise InputError(
            f"{question.place}: {filler.name} has no pieces that are {question.word!r} alone; "
            "mask a word between spaces, of characters that it knows."
        )
    return encoded["input_ids"][: found[0]], encoded["input_ids"][found[1] :]


def pieces_at(offsets: list[tuple[int, int]], text: str, start: int, end: int) -> tuple[int, int] | None:
    """The range of tokens that are text[start:end], which has no white space; None if one goes across its border.

    White space before a token's characters is not counted; a token of nothing else just before the word is the word's.
    """
    inside = []
    for token, (first, last) in enumerate(offsets):
        first += len(text[first:last]) - len(text[first:last].lstrip())
        if start <= first < end and last <= end:
            inside.append(token)
        elif first < end and last > start:
            return None
    return (inside[0], inside[-1] + 1) if inside else None


def spell(filler: Filler, question: Question, forms: list[str], numbers: list[int]) -> Spelling:
    """The pieces of every form in the question's place; `numbers` are the words that the forms are."""
    left, right = surroundings(question)
    texts = [left + form + right for form in forms]
    encoded = filler.tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    rows: dict[int, list[tuple[list[int], int]]] = {}
    sizes: dict[int, int] = {}
    never: Counter = Counter()
    for text, form, number, ids, offsets in zip(
        texts, forms, numbers, encoded["input_ids"], encoded["offset_mapping"], strict=True
    ):
        found = pieces_at(offsets, text, len(left), len(left) + len(form))
        pieces = ids[slice(*found)] if found else []
        reason = reason_never(pieces, filler.tokenizer.unk_token_id)
        if reason:
            never[reason] += 1
            continue
        rows.setdefault(len(pieces), []).append((pieces, number))
        sizes[number] = min(len(pieces), sizes.get(number, len(pieces)))
    device = filler.model.device
    by_size = {
        size: tuple(torch.tensor(column, device=device) for column in zip(*rows[size], strict=True))
        for size in sorted(rows)
    }
    return Spelling(by_size, sizes, never)


def reason_never(pieces: list[int], unknown: int | None) -> str | None:
    """Why a model cannot predict a word of these pieces; None if it can."""
    if not pieces:
        return "not apart from its neighbours"
    if unknown in pieces:
        return "with an unknown character"
    return f"of more than {MAX_PIECES} pieces" if len(pieces) > MAX_PIECES else None


def surroundings(question: Question) -> tuple[str, str]:
    """What of the text decides a word's pieces: whatever touches it, and whether a word comes before that (an `a`).

    All questions between spaces so have the same surroundings.
    """
    glued = question.within(0)
    return ("a " if glued.before != question.before else "") + glued.before, glued.after
