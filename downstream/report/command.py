"""The command line of the report."""

import argparse
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import written_whole
from alibert_common.report import html, markdown
from downstream.report.read_runs import folders_of, load_all
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
        help="output folders of downstream.finetune, of downstream.masked_words, of downstream.evaluate",
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="write report.html and report.md to this folder")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """The command line; `argv` in place of that of the process."""
    args = arguments(argv)
    if args.output and args.output.exists() and not args.output.is_dir():
        raise InputError(f"{args.output}: is a file; give the folder to write to.")
    tell([one for given in args.outputs for one in folders_of(given)], args.output)


def tell(folders: list[Path], output: Path | None) -> None:
    """Print the scores of these folders alone, and write the page to `output`, if any."""
    whole, scores = report(load_all(folders))
    print(markdown.render(scores), end="")
    if output:
        for name, text in (("report.html", html.render(whole)), ("report.md", markdown.render(whole))):
            with written_whole(output / name) as handle:
                handle.write(text)
        print(f"\nreport: {output / 'report.html'}")
