"""Encode documents as a data-bin, byte for byte as fairseq-preprocess does, on all cores or Slurm nodes.

    python -m preprocess.binarize --tokenizer tokenizer --mix mixed --output data-bin

Each line of text becomes its subwords and `</s>`; an empty line separates documents. The output holds
{train,valid}.{bin,idx,documents.jsonl.zst}, dict.txt, the tokenizer's files and manifest.json. With a published model
(alibert_fairseq.hf.load) the ids are AutoTokenizer's. If interrupted, run the same command to resume.

With --data-bins 5 the output holds the data-bins 1 to 5, each with a fifth of the documents of every corpus.
`fairseq-train data-bin/1:data-bin/2:...` reads one per epoch, in turn.

With --min-patients 5 a training never learns words, or neighbouring words, that fewer than 5 patients have.
`python -m preprocess.check_anonymity data-bin` verifies the proof.
"""

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path

from alibert_common.cli import OptionParser, at_least, command_parser, whole_numbers
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.executors.base import ALONE, Engine, add_engine_options, engine_of
from alibert_common.files import read_json
from alibert_common.output_dir import Work, resumable_directory
from alibert_common.provenance import MANIFEST, Stage, identity, read_manifest
from preprocess.anonymity.build import AnonymityRule, Vocabulary, make_anonymous
from preprocess.canaries.canaries import COPIES, SOURCE, CanaryRule, documents_of, plan_canaries, write_canaries
from preprocess.databin.build import (
    check_enough,
    data_bin_paths,
    described,
    keep_tokenizer,
    make_data_bins,
    tokenizer_digests,
)
from preprocess.databin.encoded_shards import is_trained_on, text_files
from preprocess.databin.encoder_pool import Encoding, encoder_of
from preprocess.documents.document import SHARD_SUFFIX
from preprocess.documents.shards import written_shard
from preprocess.mixing.mix_file import TRAIN, split_name
from preprocess.mixing.reader import VALID, is_mix, read_corpora
from preprocess.pseudonymisation.warning import identifier_warning

VERSION = 3  # of its output: see alibert_common.provenance.Stage; 2 had records of the documents, 3 has a shorter proof
STAGE = Stage("binarize", VERSION, ("numpy", "sacremoses", "tokenizers", "zstandard"))


def binarize(
    tokenizer: Path, splits: dict[str, list[Path]], output: Path, engine: Engine = ALONE,
    weights: dict[str, float] | None = None, data_bins: int = 1, mix: Path | None = None,
    canaries: CanaryRule | None = None, anonymity: AnonymityRule | None = None,
) -> dict:  # fmt: skip
    """Write the data-bin `output`, or `output`/1, `output`/2, ...; returns the manifest.

    `splits` maps "train", "valid", ... to documents, "train", "train1", ... being the corpora of a mix, whose `weights`
    mix.json says to training. With `data_bins` their documents are dealt out to so many data-bins. The other splits
    are alike in all of them. `mix` is the directory that `splits_of_mix` found them in: they are the same as before as
    long as it is. `canaries` are planted as one more corpus of weight 1. `anonymity` says which tokens a training may
    learn; without it, all.
    Raises InputError for unreadable input, for a tokenizer that does not fit its dict.txt, for a corpus of fewer
    documents than `data_bins`, and for an `output` that holds foreign files.
    """
    digests = tokenizer_digests(tokenizer)
    encoding = Encoding(tokenizer, " ".join(digests.values()))
    encoder_of(encoding)  # refuses what cannot be used, before anything is written
    if anonymity:
        Vocabulary.of(tokenizer)
    key = {
        "settings": {"data_bins": data_bins, "weights": list((weights or {}).items())}
        | (asdict(anonymity) if anonymity else {}),
        "tokenizer": digests,
        "inputs": identity([mix]) if mix else {split: identity(paths) for split, paths in splits.items()},
    }
    if canaries:
        key["settings"] |= {"canaries": asdict(canaries)}  # type: ignore[operator]
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            check_enough(splits, data_bins)
            if warning := identifier_warning(splits.values()):
                print(f"warning: {warning}", file=sys.stderr)
            if canaries:
                splits, weights = with_canaries(work, splits, weights, canaries)
            files = text_files(splits, engine)
            encoding = replace(encoding, tokenizer=keep_tokenizer(work, tokenizer, digests))
            made = make_data_bins(work, files, encoding, data_bins, weights, engine)
            work.manifest = {"tokenizer": digests} | made
            places = data_bin_paths(work.directory, data_bins)
            if canaries:
                for place in places:
                    write_canaries(place, canaries)
            if anonymity:
                trained = list(filter(is_trained_on, splits))
                counted = _counted_pieces(anonymity, tokenizer, [made["splits"][split] for split in trained])
                work.manifest["anonymity"] = make_anonymous(work, places, trained, anonymity, counted, engine)
    return read_json(output / MANIFEST)


def _counted_pieces(anonymity: AnonymityRule, tokenizer: Path, trained: list[dict]) -> bool:
    """Whether the pieces of the tokenizer come from words that so many patients have in this training text."""
    manifest = read_manifest(tokenizer / MANIFEST)
    read = {one["sha256"] for one in manifest.get("inputs", [])}
    here = {one["sha256"] for split in trained for one in split["inputs"]}
    return manifest.get("min_patients", 0) >= anonymity.min_patients and read <= here


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


def with_canaries(
    work: Work, splits: dict[str, list[Path]], weights: dict[str, float] | None, canaries: CanaryRule
) -> tuple[dict[str, list[Path]], dict[str, float]]:
    """The splits and weights with one more corpus, so that training puts the canaries between all other documents."""
    trained_on = [split for split in splits if is_trained_on(split)]
    file = work.copies / f"{SOURCE}{SHARD_SUFFIX}"
    with written_shard(file) as shard:
        for document in documents_of(plan_canaries(canaries)):
            shard.write(document)
    return splits | {split_name(len(trained_on)): [file]}, (weights or {"text": 1.0}) | {SOURCE: 1.0}


def command_line() -> OptionParser:
    """The options of the command."""
    parser = command_parser("preprocess.binarize", __doc__)
    add = parser.add_argument
    add("--tokenizer", required=True, type=Path, help="output of train_tokenizer or of alibert_fairseq.hf.load")
    train = parser.add_mutually_exclusive_group(required=True)
    train.add_argument("--mix", type=Path, help="output of mix: training and validation documents")
    train.add_argument("--train", nargs="+", type=Path, metavar="DOCUMENTS", help="training documents")
    add("--valid", nargs="+", type=Path, metavar="DOCUMENTS", help="validation documents, with --train")
    add("--output", required=True, type=Path, help="folder of the data-bin to write")
    number = "number of data-bins that share the training documents, one per epoch (default: 1)"
    add("--data-bins", type=at_least(1), default=1, metavar="N", help=number)
    canaries = "number of invented secrets for each number of copies, for `alibert audit` (default: 0)"
    add("--canaries", type=at_least(0), default=0, metavar="N", help=canaries)
    copies = f"numbers of copies of a canary (default: {','.join(map(str, COPIES))})"
    add("--canary-copies", type=whole_numbers, metavar="N,N", help=copies)
    add("--seed", type=at_least(0), help="random seed of the canaries (default: 1)")
    help_patients = "number of patients who must have a word, and neighbouring words, to be learned (default: no count)"
    add("--min-patients", type=at_least(2), metavar="K", help=help_patients)
    help_words = "largest number of neighbouring words that --min-patients counts together (default: 3)"
    add("--ngram-words", type=at_least(1), metavar="N", help=help_words)
    add_engine_options(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    splits, weights = _splits(options)
    engine, data_bins = engine_of(options), options.data_bins
    manifest = binarize(
        options.tokenizer, splits, options.output, engine, weights, data_bins, options.mix, _canaries(options),
        _anonymity(options),
    )  # fmt: skip
    for line in described(manifest):
        print(line)
    print(f"{'output':>8}  {options.output}")
    if data_bins > 1:
        paths = ":".join(map(str, data_bin_paths(options.output, data_bins)))
        print(f"{'data':>8}  {paths} (for fairseq-train: one data-bin an epoch, in turn)")


def _canaries(options: argparse.Namespace) -> CanaryRule | None:
    if options.canaries:
        seed = 1 if options.seed is None else options.seed
        return CanaryRule(options.canaries, options.canary_copies or COPIES, seed)
    if options.canary_copies or options.seed is not None:
        raise InputError("--canary-copies and --seed are for --canaries; give it too, or leave them out.")
    return None


def _anonymity(options: argparse.Namespace) -> AnonymityRule | None:
    if options.min_patients is None:
        if options.ngram_words:
            raise InputError("--ngram-words is for --min-patients; give both, or leave it out.")
        return None
    return AnonymityRule(options.min_patients, options.ngram_words or AnonymityRule.ngram_words)


def _splits(options: argparse.Namespace) -> tuple[dict[str, list[Path]], dict[str, float] | None]:
    if options.train:
        return {TRAIN: options.train} | ({VALID: options.valid} if options.valid else {}), None
    if options.valid:
        raise InputError("--valid is for --train; a mix has its own validation, so leave it out.")
    return splits_of_mix(options.mix)


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
