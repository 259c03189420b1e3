"""Run all stages from raw text to data-bin as a YAML file describes, and report on the corpus.

    python -m preprocess.corpus corpus.yaml --output corpus

The file names the sources, best first, and options of the stages, as in `python -m preprocess.clean --help`:

    sources:
      cases:                        # the name of the source, which `mix: {core: cases}` refers to
        type: clinical cases        # for the table
        paths: exports/cases        # a file or folder, or a list of them; relative to this file
        ingest: {format: jsonl, text-field: body}
      leaflets:
        type: leaflets
        paths: [notices.txt]
        clean: {also: [web]}
    clean: {min-words: 5}           # for all sources without their own value
    pseudonymise: {key: my.key}     # only with this line
    deduplicate: {max-repeats: 5}
    mix: {core: cases, valid: 0.01}
    train_tokenizer: {vocab-size: 40000}
    binarize: {data-bins: 10}

Options that are not in the file keep their defaults. If interrupted, run the same command to resume. Only the stages
that a change affects run again. The output holds documents/SOURCE, clean/SOURCE, pseudonymised/SOURCE, unique, mixed,
tokenizer, data-bin and report/corpus.md.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from alibert_common.cli import OptionParser, command_parser
from alibert_common.errors import exit_with_sentence
from alibert_common.executors.base import add_engine_options, engine_of
from preprocess.pipeline.config import STAGES, CorpusFile
from preprocess.pipeline.steps import Step, Steps


def command_of(stage: str) -> ModuleType:
    """The command of a stage, imported when it is needed."""
    return import_module(f"preprocess.{stage}")


def run_steps(steps: list[Step]) -> int:
    """Run them in order; the number of those that had something to do."""
    busy = 0
    for number, step in enumerate(steps, 1):
        print(f"[{number}/{len(steps)}] {step}", flush=True)
        before = step.made()
        step.command.run(step.options)
        busy += step.made() != before
    return busy


def removed_sources(file: CorpusFile, output: Path) -> list[Path]:
    """What holds the text of sources that the file does not name any more."""
    names = {source.name for source in file.sources}
    names |= {f".{name}.work" for name in names}
    there = [path for stage in ("documents", "clean", "pseudonymised") for path in sorted((output / stage).glob("*"))]
    return [path for path in there if path.name.removesuffix(".check.html") not in names]


def command_line() -> OptionParser:
    """The options of the command."""
    parser = command_parser("preprocess.corpus", __doc__)
    parser.add_argument("file", type=Path, metavar="YAML", help="YAML file describing the corpus")
    parser.add_argument("--output", required=True, type=Path, help="folder to write")
    parser.add_argument("--until", choices=STAGES, help="last stage to run (default: all)")
    parser.add_argument("--dry-run", action="store_true", help="check the file and print the commands; run nothing")
    add_engine_options(parser)
    return parser


def main() -> None:
    """Run the command."""
    options = command_line().parse_args()
    # Imported behind the options, so that `--help` is quick.
    from preprocess.pipeline.checks import check
    from preprocess.pipeline.report import write_report

    engine_of(options)  # refuses what does not fit together
    file = CorpusFile(options.file)
    steps = list(Steps(file, options.output, options, command_of))
    check(file, steps)
    if options.until:
        steps = [step for step in steps if STAGES.index(step.stage) <= STAGES.index(options.until)]
    if options.dry_run:
        print("\n".join(map(str, steps)))
        return
    busy = run_steps(steps)
    for path in removed_sources(file, options.output):
        print(f"{'left':>8}  {path}: of a source that {file.path} does not name any more; remove it by hand")
    if not options.until:
        print(write_report(file, options.output, steps))
    print(f"{'output':>8}  {options.output} ({len(steps) - busy} of {len(steps)} stages were there already)")


if __name__ == "__main__":
    exit_with_sentence(main)
