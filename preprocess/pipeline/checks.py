"""What can be seen to be wrong in the steps of a corpus before any of them runs, which may take hours."""

from collections.abc import Iterable
from pathlib import Path

from alibert_common.errors import InputError, readable
from preprocess.databin.build import tokenizer_digests
from preprocess.documents.filters import MetadataFilter
from preprocess.mixing.weights import mix_weights_of
from preprocess.pipeline.config import CorpusFile
from preprocess.pipeline.steps import Step
from preprocess.pseudonymisation.settings import Settings
from preprocess.readers import ReadLog, check_settings, files_of
from preprocess.readers.arguments import read_options_of
from preprocess.readers.formats import COMMON_SETTINGS
from preprocess.readers.records.database import Database, check_database


def check(file: CorpusFile, steps: list[Step]) -> None:
    """Raise InputError for a path that is not there, and for options that do not go with the rest of the file."""
    sizes = {source.name: 1 for source in file.sources}
    made = {step.output for step in steps}
    for step in steps:
        options = step.options
        if step.stage == "ingest":
            _there(options.paths)
            if options.database:
                check_database(Database(options.database))
            _check_settings(file, step)
            for condition in options.where:
                MetadataFilter.parse(condition)
        elif step.stage == "pseudonymise":
            Settings.of(options).check()
        elif step.stage == "deduplicate":
            _there(Path(path) for _, path in options.benchmark)
        elif step.stage in ("mix", "train_tokenizer"):
            mix_weights_of(options).of(sizes)
        elif step.stage == "binarize" and options.tokenizer not in made:
            tokenizer_digests(options.tokenizer)
    _check_keys(file, steps)


def _check_keys(file: CorpusFile, steps: list[Step]) -> None:
    """Raise InputError where a patient of two sources would be two, who may be in training and in validation."""
    if len({step.options.key.resolve() for step in steps if step.stage == "pseudonymise"}) > 1:
        file.refuse(
            "pseudonymise",
            "two keys make two patients of one, who is then in training and in validation; give all sources one `key:`",
        )


def _check_settings(file: CorpusFile, step: Step) -> None:
    """Raise InputError for settings of ingest that mean nothing for the files of a source."""
    read_options = read_options_of(step.options)
    if read_options.changed_settings().keys() <= COMMON_SETTINGS:
        return  # and a walk through all files is spared
    formats = {raw.options.format for path in step.options.paths for raw in files_of(path, read_options, ReadLog())}
    try:
        check_settings(read_options, formats)
    except InputError as error:
        raise InputError(
            f"{file.path}: sources, {step.source}, ingest: {str(error).removesuffix('.')}; what is for some sources "
            "only stands under these."
        ) from None


def _there(paths: Iterable[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise InputError(f"{readable(path)}: no such file; check the path in the file of the corpus.")
