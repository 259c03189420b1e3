"""From the files of a text to its data-bins: parts are encoded and joined, what all data-bins share is linked."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, fields
from itertools import islice, product
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from alibert_common.files import written_whole
from alibert_common.output_dir import Work
from preprocess.databin.encoded_shards import EncodeFile, PartReport, TextFile, is_trained_on
from preprocess.databin.encoder_pool import Encoding, worker_of
from preprocess.databin.merge import JoinParts, Target
from preprocess.databin.split_writer import Dropped, SplitCounts
from preprocess.databin.subword_regularization import Sampling
from preprocess.documents.document import read_documents
from preprocess.mixing.mix_file import write_mix

TOKENIZER_FILES = ("dict.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def tokenizer_digests(tokenizer: Path) -> dict[str, str]:
    """The SHA-256 of each file of a tokenizer that a data-bin holds. Raises InputError where there is no dict.txt."""
    if not (tokenizer / "dict.txt").is_file():
        raise InputError(
            f"{tokenizer / 'dict.txt'}: no such file; give a directory of preprocess.train_tokenizer or of "
            "alibert_fairseq.hf.load."
        )
    files = [tokenizer / name for name in TOKENIZER_FILES if (tokenizer / name).is_file()]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def keep_tokenizer(work: Work, tokenizer: Path, digests: dict[str, str]) -> Path:
    """A copy of the tokenizer that has these digests, for all processes to encode with, however late they begin.

    Raises InputError where the tokenizer was replaced in the meantime.
    """
    kept = work.copies / "tokenizer"
    kept.mkdir(parents=True, exist_ok=True)
    for name in digests:
        with written_whole(kept / name, "wb") as handle:
            handle.write((tokenizer / name).read_bytes())
    if tokenizer_digests(kept) != digests:
        raise InputError(f"{tokenizer}: was replaced while it was read; give the same command again.")
    return kept


def data_bin_paths(output: Path, sampling: Sampling | None, data_bins: int) -> list[Path]:
    """The data-bins of an output: itself, or those in it, sample after sample."""
    if not sampling and data_bins == 1:
        return [output]
    return [output / str(number) for number in range(1, data_bins * (sampling.samples if sampling else 1) + 1)]


def check_enough(splits: dict[str, list[Path]], data_bins: int) -> None:
    """Raise InputError, before the work, when a corpus has fewer documents than there are data-bins."""
    trained_on = [paths for split, paths in splits.items() if is_trained_on(split)]
    if data_bins > 1 and trained_on:
        counts = [(sum(1 for _ in islice(read_documents(paths), data_bins)), paths[0]) for paths in trained_on]
        fewest, place = min(counts)
        _refuse_few(fewest, data_bins, place)


def _refuse_few(documents: int, data_bins: int, place: Path) -> None:
    if documents < data_bins:
        raise InputError(
            f"{place}: {data_bins} data-bins for {documents} documents, and each needs one of every corpus; give "
            f"--data-bins {documents} at most, or leave this corpus out."
        )


def make_data_bins(
    work: Work,
    files: list[TextFile],
    encoding: Encoding,
    data_bins: int,
    weights: dict[str, float] | None,
    engine: Engine,
) -> dict:
    """Write them into `work.directory`; returns what the manifest says they hold."""
    places = data_bin_paths(work.directory, encoding.sampling, data_bins)
    for place in places:
        place.mkdir(exist_ok=True)
    reports = _encode(work, files, encoding, data_bins, engine)
    targets = _targets(files, places, data_bins)
    encoder = worker_of(encoding).encoder
    join = JoinParts(work.scratch / "parts", encoder.layout, encoder.dtype)
    engine.run("joining", join, targets, work.scratch / "jobs")
    _copy_shared_files(encoding.tokenizer, places, targets)
    if weights:
        for place in places:
            write_mix(place, weights)
    return _manifest_part(targets, [join.held(target) for target in targets], reports, several=len(places) > 1)


def _encode(
    work: Work, files: list[TextFile], encoding: Encoding, data_bins: int, engine: Engine
) -> dict[str, PartReport]:
    """Encode what is not encoded yet; what became of each split."""
    encode = EncodeFile(encoding, work.scratch / "parts")
    # The largest first: all processes end together.
    largest_first = sorted(files, key=lambda file: file.path.stat().st_size, reverse=True)
    engine.run("encoding", encode, largest_first, work.scratch / "jobs")
    reports: dict[str, PartReport] = {}
    for file in files:
        reports.setdefault(file.split, PartReport()).add(PartReport.read(encode.done(file)))
    for split, report in reports.items():
        first = next(file.path for file in files if file.split == split)
        if not report.lines:
            raise InputError(f"{first}: the tokenizer finds no token in this text; check the corpus and the tokenizer.")
        if is_trained_on(split):
            _refuse_few(report.documents, data_bins, first)
    return reports


def _targets(files: list[TextFile], places: list[Path], data_bins: int) -> list[Target]:
    """What is to be joined: every sample of a training split, and the others once, in the first data-bin."""
    targets = []
    for split in dict.fromkeys(file.split for file in files):
        parts = tuple(file.number for file in files if file.split == split)
        if not is_trained_on(split):
            targets.append(Target(split, 1, parts, (places[0],)))
            continue
        for first in range(0, len(places), data_bins):
            targets.append(Target(split, first // data_bins + 1, parts, tuple(places[first : first + data_bins])))
    return targets


def _copy_shared_files(tokenizer: Path, places: list[Path], targets: list[Target]) -> None:
    """Copy the tokenizer to the first data-bin; it and what is not training text have a second name in the others."""
    names = [name for name in TOKENIZER_FILES if (tokenizer / name).is_file()]
    for name in names:
        shutil.copyfile(tokenizer / name, places[0] / name)
    fixed = [target.split for target in targets if not is_trained_on(target.split)]
    names += [f"{split}.{ending}" for split in fixed for ending in ("bin", "idx")]
    for name, place in product(names, places[1:]):
        (place / name).unlink(missing_ok=True)
        try:
            os.link(places[0] / name, place / name)
        except OSError:  # a file system without hard links
            shutil.copyfile(places[0] / name, place / name)


def _manifest_part(
    targets: list[Target], held: list[list[SplitCounts]], reports: dict[str, PartReport], several: bool
) -> dict:
    """`splits`: each split, of the first sample; `data_bins`: the training text of each, where there are several."""
    splits: dict[str, dict] = {}
    data_bins: dict[str, dict] = {}
    for target, parts in zip(targets, held, strict=True):
        if target.sample == 1:
            report = reports[target.split]
            splits[target.split] = (
                asdict(sum(parts, SplitCounts())) | asdict(report.dropped) | {"inputs": report.inputs}
            )
        for place, part in zip(target.data_bins, parts, strict=True):
            if several and is_trained_on(target.split):
                data_bins.setdefault(place.name, {})[target.split] = asdict(part)
    return {"splits": splits} | ({"data_bins": data_bins} if several else {})


def described(manifest: dict) -> Iterator[str]:
    """What a manifest says, for a person."""
    for split, record in manifest["splits"].items():
        yield f"{split:>8}  {_held(record)}\n{Dropped.from_json(record)}"
    for name, splits in manifest.get("data_bins", {}).items():
        for split, record in splits.items():
            yield f"{f'{name}/{split}':>8}  {_held(record)}"


def _held(record: dict) -> SplitCounts:
    return SplitCounts(**{field.name: record[field.name] for field in fields(SplitCounts)})
