"""The command line of the report."""

import argparse
from pathlib import Path

from downstream.files import InputError, written_whole
from downstream.report import html, markdown
from downstream.report.load import load_all
from downstream.report.sections import report


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m downstream.report",
        description="Runs side by side: prints their scores as Markdown, and writes a page of all that is known.",
    )
    parser.add_argument(
        "outputs",
        type=Path,
        nargs="+",
        metavar="OUTPUT",
        help="output folders of downstream.finetune; of downstream.masked_words; of downstream.evaluate, for what it "
        "found in pretraining text",
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="write report.html and report.md to this folder")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """The command line; `argv` in place of that of the process."""
    args = arguments(argv)
    if args.output and args.output.exists() and not args.output.is_dir():
        raise InputError(f"{args.output}: is a file; give the folder to write to.")
    whole, scores = report(load_all(args.outputs))
    print(markdown.render(scores), end="")
    if args.output:
        for name, text in (("report.html", html.render(whole)), ("report.md", markdown.render(whole))):
            with written_whole(args.output / name) as handle:
                handle.write(text)
        print(f"\nreport: {args.output / 'report.html'}")
