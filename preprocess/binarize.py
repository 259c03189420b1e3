"""Documents to a data-bin: byte for byte what fairseq-preprocess makes of the same tokens, on all cores or nodes.

    python -m preprocess.binarize --tokenizer tokenizer --mix mixed --output data-bin

Every line of text becomes its pieces and `</s>`; an empty line stands between documents. The output holds
{train,valid}.{bin,idx}, dict.txt, the tokenizer's files and manifest.json. `fairseq-preprocess --only-source --srcdict
dict.txt` writes the same .bin, .idx and dict.txt from the pieces written out as text, for our own tokenizers: it knows
no other place of the special tokens than fairseq's. With a published model's (alibert_fairseq.hf.load) the ids are
AutoTokenizer's. Stopped at any moment, the same command goes on where it was.

With --data-bins 5 the output holds five data-bins, 1 to 5, each with every fifth document of every corpus, and
manifest.json beside them. `fairseq-train data-bin/1:data-bin/2:...` reads one an epoch, in turn.

With --samples 3 there are three data-bins of the whole text. Their training text is segmented by draws from the Unigram
model (subword regularisation, Kudo 2018), in each by others; their validation text is that of an ordinary data-bin.
"""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

from alibert_common.cli import at_least, program
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.executors.base import ALONE, Engine, add_engine_options, engine_of
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import Stage, identity
from preprocess.databin.build import (
    check_enough,
    data_bin_paths,
    described,
    keep_tokenizer,
    make_data_bins,
    tokenizer_digests,
)
from preprocess.databin.encoded_shards import text_files
from preprocess.databin.encoder_pool import Encoding, worker_of
from preprocess.databin.estimate import estimate
from preprocess.databin.subword_regularization import ALPHA, Sampling, sampling_of
from preprocess.mixing.mix_file import TRAIN, split_name
from preprocess.mixing.reader import VALID, is_mix, read_corpora

VERSION = 1  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("binarize", VERSION, ("numpy", "sacremoses", "tokenizers"))


def binarize(
    tokenizer: Path,
    splits: dict[str, list[Path]],
    output: Path,
    engine: Engine = ALONE,
    sampling: Sampling | None = None,
    weights: dict[str, float] | None = None,
    data_bins: int = 1,
    mix: Path | None = None,
) -> dict:
    """Write the data-bin `output`, or `output`/1, `output`/2, ...; returns the manifest.

    `splits` maps "train", "valid", ... to documents, "train", "train1", ... being the corpora of a mix, whose `weights`
    mix.json says to training. With `data_bins` their documents are dealt out to so many data-bins; with `sampling`
    there are so many a sample, sample after sample. The other splits are alike in all of them. `mix` is the directory
    that `splits_of_mix` found them in: they are the same as before as long as it is.
    Raises InputError for unreadable input, for a tokenizer that does not fit its dict.txt or has nothing to sample, for
    a corpus of fewer documents than `data_bins`, and for an `output` that holds foreign files.
    """
    digests = tokenizer_digests(tokenizer)
    encoding = Encoding(tokenizer, " ".join(digests.values()), sampling)
    worker_of(encoding)  # refuses what cannot be used, before anything is written
    settings = {"sampling": asdict(sampling)} if sampling else {}
    key = {
        "settings": settings | {"data_bins": data_bins, "weights": list((weights or {}).items())},
        "tokenizer": digests,
        "inputs": identity([mix]) if mix else {split: identity(paths) for split, paths in splits.items()},
    }
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            check_enough(splits, data_bins)
            files = text_files(splits, sampling is not None, engine)
            encoding = replace(encoding, tokenizer=keep_tokenizer(work, tokenizer, digests))
            made = make_data_bins(work, files, encoding, data_bins, weights, engine)
            work.manifest = settings | {"tokenizer": digests} | made
    return json.loads((output / "manifest.json").read_text(encoding="utf-8"))


def splits_of_mix(directory: Path) -> tuple[dict[str, list[Path]], dict[str, float] | None]:
    """(documents of every split, weights of the corpora, None where there is nothing to mix) of a preprocess.mix.

    Raises InputError for another directory.
    """
    if not is_mix([directory]):
        raise InputError(f"{directory}: no output of preprocess.mix; give its directory, or documents with --train.")
    corpora = read_corpora([directory])
    splits = {split_name(number): corpus.paths for number, corpus in enumerate(corpora)}
    if (directory / VALID).is_dir():
        splits[VALID] = [directory / VALID]
    plain = len(corpora) == 1 and corpora[0].weight == 1
    return splits, None if plain else {corpus.name: corpus.weight for corpus in corpora}


def command_line() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        program("python -m preprocess.binarize"),
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tokenizer", required=True, type=Path, help="of preprocess.train_tokenizer or hf.load")
    train = parser.add_mutually_exclusive_group(required=True)
    train.add_argument("--mix", type=Path, help="directory of preprocess.mix: its corpora and its validation")
    train.add_argument("--train", nargs="+", type=Path, metavar="DOCUMENTS", help="documents to train on")
    parser.add_argument(
        "--valid", nargs="+", type=Path, metavar="DOCUMENTS", help="those to validate on, beside --train"
    )
    parser.add_argument("--output", required=True, type=Path, help="the data-bin to write")
    parser.add_argument(
        "--data-bins", type=at_least(1), default=1, metavar="N",
        help="data-bins to deal the training documents out to, each with an N-th of every corpus (default 1: an epoch "
        "is the whole text; each process of a training keeps 5 to 10 bytes a line of an epoch, with segment pairs 32 "
        "a line and 49 a pair: of 100 GB, 750 million lines, 4 to 7 GB, or more than 24; with ten data-bins a tenth)",
    )  # fmt: skip
    parser.add_argument(
        "--dry-run", action="store_true", help="estimate size, time and memory from a part; write nothing"
    )
    _add_sampling(parser)
    add_engine_options(parser)
    return parser


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--samples", type=at_least(0), default=0, metavar="K",
        help="segmentations to draw of the training text, each in data-bins of its own (default 0: one data-bin with "
        "the best segmentation, as in the papers; the draws need a Unigram tokenizer)",
    )  # fmt: skip
    parser.add_argument(
        "--alpha", type=float,
        help=f"of --samples: a segmentation is drawn in proportion to its probability to the power alpha (default "
        f"{ALPHA}: on the leaflets of docs/reference/text.md every seventh word or so is not in its best segmentation; "
        "1 hardly ever leaves the best, 0.1 makes half as many tokens again)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=at_least(0), help="of --samples: of the draws (default 1: any will do, it is recorded)"
    )


def run(options: argparse.Namespace) -> None:
    """As the options say."""
    splits, weights = _splits(options)
    sampling, engine = sampling_of(options), engine_of(options)
    if options.dry_run:
        check_enough(splits, options.data_bins)
        print(estimate(options.tokenizer, splits, engine, sampling))
        return
    manifest = binarize(
        options.tokenizer, splits, options.output, engine, sampling, weights, options.data_bins, options.mix
    )
    for line in described(manifest):
        print(line)
    print(f"{'output':>8}  {options.output}")
    if len(data_bins := data_bin_paths(options.output, sampling, options.data_bins)) > 1:
        print(f"{'data':>8}  {':'.join(map(str, data_bins))} (for fairseq-train: one data-bin an epoch, in turn)")


def _splits(options: argparse.Namespace) -> tuple[dict[str, list[Path]], dict[str, float] | None]:
    if options.train:
        return {TRAIN: options.train} | ({VALID: options.valid} if options.valid else {}), None
    if options.valid:
        raise InputError("--valid is for --train; a mix has its own validation, so leave it out.")
    return splits_of_mix(options.mix)


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
