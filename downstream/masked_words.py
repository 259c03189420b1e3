"""Which words a model puts in a masked place: `python -m downstream.masked_words --model DIR --sentences FILE`.

The form of AliBERT's Figure 5: for each sentence the most probable words with their scores, and the rank of the
expected one, for one or several models. Candidates are the words that are one piece of a model's vocabulary; a score
is the softmax over the whole vocabulary. An ELECTRA answers through its generator.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import torch
from transformers import AutoModelForMaskedLM

from downstream.files import InputError, exit_with_sentence, read_text, write_json, written_whole
from downstream.models import frame_of, load_config, load_tokenizer, load_weights

LIMITS = (1, 3, 5)  # of AliBERT's Table 5
MASK = "[MASK]"  # how a sentences file marks the place, whatever the model's own mask is called


class Sentence(NamedTuple):
    """A sentence with one MASK, and the word that stood there."""

    text: str
    expected: str
    line: int  # of the file


class Filler(NamedTuple):
    """A model that fills masks. `words` are its candidates as (id, word); `note` says what answers for an ELECTRA."""

    name: str
    note: str
    tokenizer: object
    model: object
    words: list[tuple[int, str]]
    longest: int


def read_sentences(file: Path) -> list[Sentence]:
    """One sentence a line: text with one [MASK], a tab, the expected word. Blank lines and # lines are passed over."""
    sentences = []
    for number, line in enumerate(read_text(file).removeprefix("\ufeff").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        text, tab, expected = (part.strip() for part in line.partition("\t"))
        if text.count(MASK) != 1 or not expected:
            raise InputError(f"{file}, line {number}: write a sentence with one {MASK}, a tab, and the expected word.")
        sentences.append(Sentence(text, expected, number))
    if not sentences:
        raise InputError(f"{file}: no sentence in it; write one a line, with one {MASK}, a tab, and the expected word.")
    return sentences


def load_filler(folder: Path) -> Filler:
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
    longest = frame_of(tokenizer, load_config(place)).longest
    return Filler(folder.resolve().name, note, tokenizer, model.eval(), whole_words(tokenizer), longest)


def whole_words(tokenizer) -> list[tuple[int, str]]:
    """(id, word) of every piece that begins a word and holds a letter or a digit, specials left out.

    In a mask's place such a piece stands alone between white space and the next word: it is the whole word there.
    """
    vocabulary = tokenizer.get_vocab()
    # SentencePiece marks the beginning of a word, byte-level BPE its space; WordPiece marks what continues one.
    marks = [mark for mark in ("▁", "Ġ") if sum(piece.startswith(mark) for piece in vocabulary) > 1]
    specials = set(tokenizer.all_special_ids)
    words = []
    for piece, number in sorted(vocabulary.items(), key=lambda item: item[1]):
        begins = piece.startswith(marks[0]) if marks else not piece.startswith("##")
        if begins and number not in specials:
            word = tokenizer.convert_tokens_to_string([piece]).strip() if marks == ["Ġ"] else piece.lstrip("▁")
            if any(character.isalnum() for character in word):
                words.append((number, word))
    return words


@torch.no_grad()
def answer(filler: Filler, sentence: Sentence, place: str, top: int) -> dict:
    """The `top` words with their scores, the expected word's rank (from 1) and score; None if it is no candidate.

    Words are compared without regard to case, since a model may know lower case only.
    """
    text = sentence.text.replace(MASK, filler.tokenizer.mask_token)
    batch = filler.tokenizer(text, return_tensors="pt", return_token_type_ids=False, verbose=False)
    ids = batch["input_ids"][0]
    where = (ids == filler.tokenizer.mask_token_id).nonzero().flatten().tolist()
    if len(where) != 1 or len(ids) > filler.longest:
        raise InputError(
            f"{place}: {filler.name} reads it as {len(ids)} tokens with {len(where)} masks; "
            f"give a sentence of at most {filler.longest} tokens with one {MASK}."
        )
    probabilities = filler.model(**batch).logits[0, where[0]].float().softmax(-1)
    numbers = torch.tensor([number for number, _ in filler.words])
    order = probabilities[numbers].argsort(descending=True).tolist()
    ranked = [(filler.words[one][1], probabilities[filler.words[one][0]].item()) for one in order]
    wanted = sentence.expected.casefold()
    rank = next((position for position, (word, _) in enumerate(ranked, 1) if word.casefold() == wanted), None)
    best = [{"word": word, "score": score} for word, score in ranked[:top]]
    return {"top": best, "expected_rank": rank, "expected_score": ranked[rank - 1][1] if rank else None}


def report(fillers: list[Filler], sentences: list[Sentence], file: Path, top: int) -> dict:
    """Everything that was asked and answered, with the share of expected words found in the first 1, 3 and 5."""
    rows = []
    for sentence in sentences:
        place = f"{file}, line {sentence.line}"
        answers = {filler.name: answer(filler, sentence, place, top) for filler in fillers}
        rows.append({"sentence": sentence.text, "expected": sentence.expected, "answers": answers})
    found = {}
    for filler in fillers:
        ranks = [row["answers"][filler.name]["expected_rank"] for row in rows]
        shares = {f"top_{limit}": sum((rank or limit + 1) <= limit for rank in ranks) / len(ranks) for limit in LIMITS}
        found[filler.name] = {"note": filler.note, "num_candidates": len(filler.words), **shares}
    candidates = "words that are one piece of the model's vocabulary; a score is the softmax over the whole vocabulary"
    return {"sentences_file": file.name, "candidates": candidates, "models": found, "rows": rows}


def markdown(content: dict, top: int) -> str:
    """Figure 5 as text: a row a sentence, a column a model, the expected word in bold, its rank below."""
    names = list(content["models"])
    heads = [f"{name} ({content['models'][name]['note']})".replace(" ()", "") for name in names]
    lines = ["| Sentence | expected | " + " | ".join(heads) + " |", "|---|---|" + "---|" * len(names)]
    for row in content["rows"]:
        cells = [_cell(row["answers"][name], row["expected"], top) for name in names]
        lines.append(f"| {row['sentence'].replace('|', '/')} | {row['expected']} | {' | '.join(cells)} |")
    lines += ["", f"Candidates: {content['candidates']}."]
    for name, found in content["models"].items():
        shares = ", ".join(f"{found[f'top_{limit}']:.2f} in the first {limit}" for limit in LIMITS)
        lines.append(f"{name}: expected word {shares} ({found['num_candidates']} candidates).")
    return "\n".join(lines) + "\n"


def _cell(answer: dict, expected: str, top: int) -> str:
    marked = []
    for one in answer["top"]:
        bold = "**" if one["word"].casefold() == expected.casefold() else ""
        marked.append(f"{bold}{one['word']}{bold} {one['score']:.3f}")
    rank = answer["expected_rank"]
    if rank is None:
        place = "not one piece of this vocabulary"
    else:
        place = f"rank {rank}" if rank <= top else f"rank {rank}, score {answer['expected_score']:.3f}"
    return "<br>".join([*marked, f"({place})"])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m downstream.masked_words", description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", type=Path, required=True, action="append", help="a local folder; repeat to compare")
    parser.add_argument("--sentences", type=Path, required=True, help=f"text with one {MASK}, a tab, the expected word")
    parser.add_argument("--top", type=int, default=5, help="words to show; default 5, as the paper's Figure 5")
    parser.add_argument("--output", type=Path, help="write masked_words.json and masked_words.md to this folder")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    sentences = read_sentences(args.sentences)
    fillers = [load_filler(folder) for folder in args.model]
    if len({filler.name for filler in fillers}) < len(fillers):
        raise InputError("--model: two folders have the same name, so the table could not tell them apart; rename one.")
    content = report(fillers, sentences, args.sentences, args.top)
    text = markdown(content, args.top)
    if args.output:
        write_json(args.output / "masked_words.json", content)
        with written_whole(args.output / "masked_words.md") as handle:
            handle.write(text)
    print(text.replace("<br>", ", "), end="")


if __name__ == "__main__":
    exit_with_sentence(main)
