"""Documents to a data-bin: byte for byte what fairseq-preprocess makes of the same tokens, in one pass over all cores.

    python -m preprocess.binarize --tokenizer tokenizer --mix mixed --output data-bin

Every line of text becomes its pieces and `</s>`; an empty line stands between documents. The output holds
{train,valid}.{bin,idx}, dict.txt, the tokenizer's files and manifest.json. `fairseq-preprocess --only-source --srcdict
dict.txt` writes the same .bin, .idx and dict.txt from the pieces written out as text, for our own tokenizers: it knows
no other place of the special tokens than fairseq's. With a published model's (alibert_fairseq.hf.load) the ids are
AutoTokenizer's.

With --samples 3 the output holds three such data-bins, 1 to 3, and manifest.json beside them. Their training text is
segmented by draws from the Unigram model (subword regularisation, Kudo 2018), in each by others; their validation text
is that of an ordinary data-bin. `fairseq-train data-bin/1:data-bin/2:data-bin/3` reads one an epoch, in turn.
"""

import argparse
import hashlib
import json
import os
import shutil
from contextlib import ExitStack
from dataclasses import asdict
from itertools import product
from pathlib import Path

from tqdm import tqdm

from preprocess.blocks import blocks_of
from preprocess.corpora import VALID, is_mix, read_corpora
from preprocess.documents import document_files, read_documents, size_of
from preprocess.files import InputError, InputLog, Marker, directory_written_whole, exit_with_sentence, refuse_foreign
from preprocess.indexed_dataset import Writer
from preprocess.long_lines import Cuts
from preprocess.mixing import TRAIN, split_name, write_mix
from preprocess.options import at_least
from preprocess.parallel import EncoderPool
from preprocess.split_writer import Counts, SplitWriter
from preprocess.subword_sampling import ALPHA, Sampling

MARKER = Marker.of_command("binarize")
TOKENIZER_FILES = ("dict.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def binarize(
    tokenizer: Path,
    splits: dict[str, list[Path]],
    output: Path,
    workers: int,
    sampling: Sampling | None = None,
    weights: dict[str, float] | None = None,
) -> dict[str, Counts]:
    """Write the data-bin `output`; `splits` maps "train", "valid", ... to documents.

    `weights` are those of the corpora of a mix, in the order of "train", "train1", ...; mix.json says them to training.

    With `sampling`, write the data-bins `output`/1, `output`/2, ..., each with another segmentation of "train"; the
    counts are then those of "1/train", "2/train", ..., and of the other splits, which all have alike.
    Raises InputError for unreadable input, for a tokenizer that does not fit its dict.txt or has nothing to sample, and
    for an `output` that holds foreign files; then nothing is written.
    """
    refuse_foreign(output, MARKER)
    if not (tokenizer / "dict.txt").is_file():
        raise InputError(
            f"{tokenizer / 'dict.txt'}: no such file; give a directory of preprocess.train_tokenizer or of "
            "alibert_fairseq.hf.load."
        )
    sampled = {"sampling": asdict(sampling)} if sampling else {}
    manifest = {"command": "binarize", "tokenizer": {}, **sampled, "splits": {}}
    counts: dict[str, Counts] = {}
    with directory_written_whole(output, MARKER) as directory, EncoderPool(tokenizer, workers, sampling) as pool:
        data_bins = _data_bins(directory, sampling)
        for place in data_bins:
            place.mkdir(exist_ok=True)
        for split, paths in splits.items():
            log, drawn = InputLog(), sampling is not None and split.startswith(TRAIN)
            written = _write_split(data_bins, split, paths, pool, log, drawn)
            for name, counted in written.items():
                counts[name] = counted
                manifest["splits"][name] = asdict(counted) | {"inputs": log.manifest()}
        manifest["tokenizer"] = _copy_tokenizer(tokenizer, data_bins)
        for place in data_bins if weights else ():
            write_mix(place, weights)
        text = json.dumps(manifest, ensure_ascii=False, indent=2)
        (directory / "manifest.json").write_text(text + "\n", encoding="utf-8")
    return counts


def _data_bins(directory: Path, sampling: Sampling | None) -> list[Path]:
    """The directory itself, or with `sampling` one in it for each sample."""
    return [directory / str(number) for number in range(1, sampling.samples + 1)] if sampling else [directory]


def _copy_tokenizer(tokenizer: Path, data_bins: list[Path]) -> dict[str, str]:
    """Put the tokenizer's files into every data-bin; returns the SHA-256 of each file."""
    files = [tokenizer / name for name in TOKENIZER_FILES if (tokenizer / name).is_file()]
    for file, place in product(files, data_bins):
        shutil.copyfile(file, place / file.name)
    return {file.name: hashlib.sha256((data_bins[0] / file.name).read_bytes()).hexdigest() for file in files}


def _write_split(
    data_bins: list[Path], split: str, paths: list[Path], pool: EncoderPool, log: InputLog, drawn: bool
) -> dict[str, Counts]:
    """Write one split to every data-bin, in one reading; the counts by name: of each where they differ, else once."""
    cuts, worker = Cuts(), pool.worker
    files = document_files(paths)
    with ExitStack() as stack, tqdm(total=size_of(files), unit="B", unit_scale=True) as bar:
        writers = [stack.enter_context(Writer(place / split, worker.encoder.dtype)) for place in data_bins]
        outputs = [SplitWriter(writer, worker.encoder.layout, cuts) for writer in writers]
        bar.set_description(split)
        for blocks in pool.encode(blocks_of(read_documents(files, log), cuts), drawn):
            for output, block in zip(outputs, blocks if drawn else blocks * len(outputs), strict=True):
                output.add(block)
            bar.update(log.bytes_read() - bar.n)
    if not outputs[0].counts.lines:
        raise InputError(f"{paths[0]}: the tokenizer finds no token in this text; check the corpus and the tokenizer.")
    for output in outputs:
        output.counts.documents += 1  # one more than there are empty lines between them
    names = [f"{place.name}/{split}" for place in data_bins] if drawn else [split]
    return {name: output.counts for name, output in zip(names, outputs, strict=False)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True, type=Path, help="of preprocess.train_tokenizer or hf.load")
    train = parser.add_mutually_exclusive_group(required=True)
    train.add_argument("--mix", type=Path, help="directory of preprocess.mix: its corpora and its validation")
    train.add_argument("--train", nargs="+", type=Path, metavar="DOCUMENTS", help="documents to train on")
    parser.add_argument(
        "--valid", nargs="+", type=Path, metavar="DOCUMENTS", help="those to validate on, beside --train"
    )
    parser.add_argument("--output", required=True, type=Path, help="the data-bin to write")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument(
        "--workers",
        type=at_least(1),
        default=cores,
        help=f"processes (default {cores}: the cores this process may use)",
    )
    parser.add_argument(
        "--samples",
        type=at_least(0),
        default=0,
        metavar="K",
        help="data-bins to write, each with the training text segmented by other draws (default 0: one data-bin with "
        "the best segmentation, as in the papers; the draws need a Unigram tokenizer)",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        help=f"of --samples: a segmentation is drawn in proportion to its probability to the power alpha (default "
        f"{ALPHA}: on the leaflets of docs/text.md every seventh word or so is not in its best segmentation; "
        "1 hardly ever leaves the best, 0.1 makes half as many tokens again)",
    )
    parser.add_argument(
        "--seed", type=at_least(0), help="of --samples: of the draws (default 1: any will do, it is recorded)"
    )
    return parser


def main() -> None:
    """The command line."""
    options = _parser().parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the cores are shared out by --workers
    splits, weights = _splits(options)
    sampling = _sampling(options)
    written = binarize(options.tokenizer, splits, options.output, options.workers, sampling, weights)
    for split, counts in written.items():
        print(f"{split:>8}  {counts}")
    print(f" written  {options.output}")
    if sampling:
        data_bins = ":".join(map(str, _data_bins(options.output, sampling)))
        print(f"{'data':>8}  {data_bins} (for fairseq-train: one data-bin an epoch, in turn)")


def _splits(options: argparse.Namespace) -> tuple[dict[str, list[Path]], dict[str, float] | None]:
    """(documents of every split, weights of the corpora, None where there is nothing to mix)."""
    if options.train:
        return {TRAIN: options.train} | ({VALID: options.valid} if options.valid else {}), None
    if options.valid:
        raise InputError("--valid is for --train; a mix has its own validation, so leave it out.")
    if not is_mix([options.mix]):
        raise InputError(f"{options.mix}: no output of preprocess.mix; give its directory, or documents with --train.")
    corpora = read_corpora([options.mix])
    splits = {split_name(number): corpus.paths for number, corpus in enumerate(corpora)}
    if (options.mix / VALID).is_dir():
        splits[VALID] = [options.mix / VALID]
    plain = len(corpora) == 1 and corpora[0].weight == 1
    return splits, None if plain else {corpus.name: corpus.weight for corpus in corpora}


def _sampling(options: argparse.Namespace) -> Sampling | None:
    given = {name: getattr(options, name) for name in ("alpha", "seed") if getattr(options, name) is not None}
    if options.samples:
        return Sampling(options.samples, **given)
    for name in given:
        raise InputError(f"--{name}: says how --samples draws; give --samples 4, for one, or leave it out.")
    return None


if __name__ == "__main__":
    exit_with_sentence(main)
