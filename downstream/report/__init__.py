"""Compare runs in one report: `python -m downstream.report OUTPUT... [--output DIR]`."""

import argparse
from pathlib import Path

from alibert_common.cli import program
from alibert_common.errors import InputError
from alibert_common.files import write_text
from alibert_common.report import html, markdown


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog=program("python -m downstream.report"),
        description="Compare runs: print their scores as Markdown, and write a page with all results.",
    )
    add = parser.add_argument
    add("outputs", type=Path, nargs="+", metavar="OUTPUT",
        help="output folders of downstream.finetune, downstream.masked_words or downstream.evaluate")  # fmt: skip
    add("--output", type=Path, metavar="DIR", help="folder for report.html and report.md (default: print only)")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Run the command with `argv`, or with the arguments of the process."""
    args = arguments(argv)
    if args.output and args.output.exists() and not args.output.is_dir():
        raise InputError(f"{args.output}: is a file; give the folder to write to.")
    from downstream.report.read_runs import folders_of  # here, because it makes `--help` slow

    print_and_write([folder for given in args.outputs for folder in folders_of(given)], args.output)


def print_and_write(folders: list[Path], output: Path | None) -> None:
    """Print the scores of these folders, and write the whole report to `output`, if given."""
    from downstream.report.read_runs import load_all
    from downstream.report.sections import report

    whole, scores = report(load_all(folders))
    print(markdown.render(scores), end="")
    if output:
        for name, text in (("report.html", html.render(whole)), ("report.md", markdown.render(whole))):
            write_text(output / name, text)
        print(f"\nreport: {output / 'report.html'}")
