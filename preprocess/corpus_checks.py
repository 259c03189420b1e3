"""What can be seen to be wrong in the steps of a corpus before any of them runs, which may take hours."""

from collections.abc import Iterable
from pathlib import Path

from preprocess.binarize import sampling_of
from preprocess.corpus_file import CorpusFile
from preprocess.corpus_steps import Step
from preprocess.data_bins import tokenizer_digests
from preprocess.files import InputError, readable
from preprocess.readers.arguments import how_of
from preprocess.weighing import weighing_of
from preprocess.where import Where


def check(file: CorpusFile, steps: list[Step]) -> None:
    """Raise InputError for a path that is not there, and for options that do not go with the rest of the file."""
    sizes = {source.name: 1 for source in file.sources}
    made = {step.output for step in steps}
    for step in steps:
        options = step.options
        if step.stage == "ingest":
            _there(options.paths)
            how_of(options)
            for condition in options.where:
                Where.of(condition)
        elif step.stage == "deduplicate":
            _there(Path(path) for _, path in options.benchmark)
        elif step.stage in ("mix", "train_tokenizer"):
            weighing_of(options).of(sizes)
        elif step.stage == "binarize":
            sampling_of(options)
            if options.tokenizer not in made:
                tokenizer_digests(options.tokenizer)


def _there(paths: Iterable[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise InputError(f"{readable(path)}: no such file; check the path in the file of the corpus.")
