"""Which words models put in masked places, of text drawn from (`--text`) or of sentences given (`--sentences`).

`python -m downstream.masked_words --model DIR --text NAME=FILE --output DIR` makes AliBERT's Table 5, a column a
source, and Figure 5's table of predictions. All models rank the same words, each over as many pieces as its vocabulary
needs; an ELECTRA answers through its generator. docs/howto/masked_words.md has the measure.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from tqdm import tqdm

from alibert_common.cli import named
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.files import write_json, written_whole
from downstream.masked_words import tables
from downstream.masked_words.fillers import MAX_PIECES, Filler, load_filler, whole_words
from downstream.masked_words.questions import (
    MASK,
    MIN_LETTERS,
    Candidates,
    Source,
    candidates_of,
    draw,
    read_sentences,
)
from downstream.masked_words.scoring import answers, cut_to_fit
from downstream.training.models import device_of

MIN_CANDIDATES = 1000  # chance then has at most 1 in 200 among the first five; of fewer words it would look like skill
MEASURE = (
    "For a word of k pieces k masks are put in its place; its score is the sum of its pieces' log-probabilities, shown "
    "as the softmax over all candidates. Case is not regarded. Long words are held at a disadvantage, so a "
    "vocabulary that splits more words is, too."
)


def sources_of(args: argparse.Namespace) -> list[Source]:
    """The texts drawn from, then the given sentences. Raises InputError if there is neither, or a name is not free."""
    texts = named(args.text, "--text", default_names=False)
    taken = {*texts} & {tables.ALL, *([args.sentences.name] if args.sentences else [])}
    if taken:
        raise InputError(f"--text {min(taken)}=...: this name is taken; choose another.")
    sources = [draw(name, file, args.count, args.seed) for name, file in texts.items()]
    sources += [read_sentences(args.sentences)] if args.sentences else []
    if not sources:
        raise InputError("nothing is asked; give --text NAME=FILE or --sentences FILE.")
    return sources


def choose_candidates(sources: list[Source], fillers: list[Filler]) -> tuple[Candidates, str]:
    """The words of all sources, and where they are from; with fewer than MIN_CANDIDATES the vocabularies' words too."""
    words = sum((source.words for source in sources), Counter())
    origin = f"words of letters alone, of {MIN_LETTERS} or more, between spaces in the texts, and the expected words"
    if len({word.casefold() for word in words}) >= MIN_CANDIDATES:
        return candidates_of(words), origin
    for filler in fillers:
        words.update(dict.fromkeys(whole_words(filler.tokenizer), 0))  # the texts' counts stay
    return candidates_of(words), f"{origin}; fewer than {MIN_CANDIDATES:,}, so words of one piece of any model too"


def ask(fillers: list[Filler], sources: list[Source], args: argparse.Namespace) -> dict:
    """Everything that was asked and answered: settings, shares by source, words by pieces, a row a question."""
    candidates, origin = choose_candidates(sources, fillers)
    questions, cut = cut_to_fit([one for source in sources for one in source.questions], fillers)
    rows = [{"source": one.source, "sentence": one.sentence, "expected": one.word, "answers": {}} for one in questions]
    models = {}
    every = 0.5 if sys.stderr.isatty() else 60  # seconds; a log file gets a line a minute
    with tqdm(total=len(fillers) * len(questions), unit="word", mininterval=every) as bar:
        for filler in fillers:
            bar.set_description(filler.name, refresh=False)
            found, never = answers(filler, questions, candidates, args.top, bar.update)
            for row, one in zip(rows, found, strict=True):
                row["answers"][filler.name] = one
            models[filler.name] = {"note": filler.note, "never_predicted": dict(never)}
            models[filler.name]["pieces"] = tables.by_pieces(rows, filler.name)
    together = tables.of_one_piece(rows)
    scores = {name: tables.by_source(rows, name) for name in models}
    if args.text:
        scores[tables.FREQUENCY] = tables.by_source(by_frequency(rows, candidates), tables.FREQUENCY)
    return {
        "measure": MEASURE,
        "seed": args.seed,
        "max_pieces": MAX_PIECES,
        "candidates": {"number": len(candidates.words), "from": origin},
        "sources": {source.name: source.counts | {"cut": cut[source.name]} for source in sources},
        "models": models,
        "scores": scores,
        "scores_one_piece": {name: tables.by_source(together, name) for name in models} if together else {},
        "rows": rows,
    }


def by_frequency(rows: list[dict], candidates: Candidates) -> list[dict]:
    """The rows as answered by always naming the most frequent candidates; of equals the expected word comes last."""
    number_of = candidates.number_of()
    at_least = Counter(candidates.counts)
    rank, running = {}, 0
    for count in sorted(at_least, reverse=True):
        running += at_least[count]
        rank[count] = running
    ranks = [rank[candidates.counts[number_of[row["expected"].casefold()]]] for row in rows]
    return [
        {"source": row["source"], "answers": {tables.FREQUENCY: {"expected_rank": one}}}
        for row, one in zip(rows, ranks, strict=True)
    ]


def arguments() -> argparse.Namespace:
    first, _, rest = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(prog="python -m downstream.masked_words", description=first, epilog=rest)
    add = parser.add_argument
    add("--model", required=True, action="append", metavar="[NAME=]DIR", help="a local folder; repeat to compare")
    add("--text", action="append", default=[], metavar="NAME=FILE", help="one sentence a line; repeat for sources")
    add("--sentences", type=Path, metavar="FILE", help=f"lines of text with one {MASK}, a tab, the expected word")
    add("--count", type=_positive, default=1000, help="words to mask a text; default 1000, as the paper's Table 5")
    add("--seed", type=int, default=1, help="of the words drawn; default 1")
    add("--top", type=_positive, default=5, help="words to show; default 5, as the paper's Figure 5")
    add("--examples", type=int, default=10, help="sentences a source in the table of predictions; default 10: a page")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default auto: a GPU if there is one")
    add("--output", type=Path, metavar="DIR", help="write masked_words.json and masked_words.md to this folder")
    return parser.parse_args()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def main() -> None:
    args = arguments()
    if args.output and args.output.exists() and not args.output.is_dir():
        raise InputError(f"{args.output}: is a file; give the folder to write to.")
    folders = named(args.model, "--model", default_names=True)
    sources = sources_of(args)
    device = device_of(args.device)
    content = ask([load_filler(folder, name, device) for name, folder in folders.items()], sources, args)
    text = tables.markdown(content, args.examples)
    if args.output:
        write_json(args.output / "masked_words.json", content)
        with written_whole(args.output / "masked_words.md") as handle:
            handle.write(text)
    print(text.replace("<br>", ", "), end="")


if __name__ == "__main__":
    exit_with_sentence(main)
