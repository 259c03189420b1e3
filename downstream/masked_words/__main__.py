"""Which words models put in masked places, of text drawn from (`--text`) or of sentences given (`--sentences`).

`python -m downstream.masked_words --model DIR --text NAME=FILE --output DIR` makes AliBERT's Table 5, a column a
source, and Figure 5's table of predictions. All models rank the same words, each over as many pieces as its vocabulary
needs; an ELECTRA answers through its generator. docs/howto/masked_words.md has the measure.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from alibert_common.cli import at_least, named, program
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.files import write_json, write_text
from downstream.masked_words.questions import MASK, draw, read_sentences
from downstream.run_config import add_device
from downstream.training.model_folder import refuse_no_model

if TYPE_CHECKING:
    from downstream.masked_words.questions import QuestionSource


def sources_of(args: argparse.Namespace) -> "list[QuestionSource]":
    """The texts drawn from, then the given sentences. Raises InputError if there is neither, or a name is not free."""
    from downstream.masked_words import tables

    texts = named(args.text, "--text", default_names=False)
    taken = {*texts} & {tables.ALL, *([args.sentences.name] if args.sentences else [])}
    if taken:
        raise InputError(f"--text {min(taken)}=...: this name is taken; choose another.")
    sources = [draw(name, file, args.count, args.seed) for name, file in texts.items()]
    sources += [read_sentences(args.sentences)] if args.sentences else []
    if not sources:
        raise InputError("nothing is asked; give --text NAME=FILE or --sentences FILE.")
    return sources


def build_parser() -> argparse.ArgumentParser:
    """The options of this command."""
    first, _, rest = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(prog=program("python -m downstream.masked_words"), description=first, epilog=rest)
    add, positive = parser.add_argument, at_least(1)
    add("--model", required=True, action="append", metavar="[NAME=]DIR", help="local Hugging Face folder (repeatable)")
    add("--text", action="append", default=[], metavar="NAME=FILE", help="text with one sentence a line (repeatable)")
    add("--sentences", type=Path, metavar="FILE", help=f"lines of text with one {MASK}, a tab and the expected word")
    add("--count", type=positive, default=1000, help="number of words to mask in each text (default: 1000)")
    add("--seed", type=int, default=1, help="random seed of the words drawn (default: 1)")
    add("--top", type=positive, default=5, help="number of predicted words to show (default: 5)")
    add("--examples", type=int, default=10, help="sentences of each source in the table of predictions (default: 10)")
    add_device(parser)
    add("--output", type=Path, metavar="DIR", help="output folder for masked_words.json and masked_words.md")
    return parser


def main(argv: list[str] | None = None) -> None:
    """The command; `argv` in place of the process's arguments."""
    args = build_parser().parse_args(argv)
    if args.output and args.output.exists() and not args.output.is_dir():
        raise InputError(f"{args.output}: is a file; give the folder to write to.")
    folders = named(args.model, "--model", default_names=True)
    for folder in folders.values():
        refuse_no_model(folder)
    sources = sources_of(args)

    from downstream.masked_words import tables  # here: torch takes seconds, and wrong paths need none
    from downstream.masked_words.fillers import load_filler
    from downstream.masked_words.measure import ask
    from downstream.training.models import device_of

    device = device_of(args.device)
    fillers = [load_filler(folder, name, device) for name, folder in folders.items()]
    content = ask(fillers, sources, args.top, args.seed, drawn=bool(args.text))
    text = tables.markdown(content, args.examples)
    if args.output:
        write_json(args.output / "masked_words.json", content)
        write_text(args.output / "masked_words.md", text)
    print(text.replace("<br>", ", "), end="")


if __name__ == "__main__":
    exit_with_sentence(main)
