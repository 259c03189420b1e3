"""From the files of a text to its data-bins: parts are encoded and joined, what all data-bins share is linked."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from functools import reduce
from itertools import islice, product
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from alibert_common.files import read_json, written_whole
from alibert_common.output_dir import Work
from preprocess.databin.document_records import ENDING
from preprocess.databin.encoded_shards import EncodeFile, TextFile, is_trained_on
from preprocess.databin.encoder_pool import Encoding
from preprocess.databin.merge import JoinParts, Target
from preprocess.documents.document import read_documents
from preprocess.mixing.mix_file import write_mix
from preprocess.tokenizer.special_tokens import read_layout

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


def data_bin_paths(output: Path, data_bins: int) -> list[Path]:
    """The data-bins of an output: itself, or those in it."""
    return [output] if data_bins == 1 else [output / str(number) for number in range(1, data_bins + 1)]


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
    """Write them into `work.directory`; returns what the manifest says they hold.

    That is `splits`, what each split holds, and where there are several data-bins `data_bins`, the training text of
    each.
    """
    places = data_bin_paths(work.directory, data_bins)
    for place in places:
        place.mkdir(exist_ok=True)
    reports = _encode(work, files, encoding, data_bins, engine)
    targets = []
    for split in reports:
        parts = tuple(file.number for file in files if file.split == split)
        # What is not training text is the same in all data-bins, so it is written to the first.
        targets.append(Target(split, parts, tuple(places if is_trained_on(split) else places[:1])))
    join = JoinParts(work.scratch / "parts", read_layout(encoding.tokenizer))
    engine.run("joining", join, targets, work.scratch / "jobs")
    _copy_shared_files(encoding.tokenizer, places, [split for split in reports if not is_trained_on(split)])
    if weights:
        for place in places:
            write_mix(place, weights)
    splits: dict[str, dict] = {}
    of_data_bins: dict[str, dict] = {}
    for target in targets:
        held = json.loads(join.done(target).read_text(encoding="utf-8"))
        report = reports[target.split]
        splits[target.split] = reduce(_added, held) | report["dropped"] | {"inputs": report["inputs"]}
        if is_trained_on(target.split):
            for place, part in zip(target.data_bins, held, strict=True):
                of_data_bins.setdefault(place.name, {})[target.split] = part
    return {"splits": splits} | ({"data_bins": of_data_bins} if data_bins > 1 else {})


def _encode(work: Work, files: list[TextFile], encoding: Encoding, data_bins: int, engine: Engine) -> dict[str, dict]:
    """Encode what is not encoded yet; what became of each split, as a PartReport says it."""
    encode = EncodeFile(encoding, work.scratch / "parts")
    # The largest first: all processes end together.
    largest_first = sorted(files, key=lambda file: file.path.stat().st_size, reverse=True)
    engine.run("encoding", encode, largest_first, work.scratch / "jobs")
    reports = {}
    for split in dict.fromkeys(file.split for file in files):
        own = [file for file in files if file.split == split]
        report = reports[split] = reduce(_added, (read_json(encode.done(file)) for file in own))
        if not report["lines"]:
            raise InputError(
                f"{own[0].path}: the tokenizer finds no token in this text; check the corpus and the tokenizer."
            )
        if is_trained_on(split):
            _refuse_few(report["documents"], data_bins, own[0].path)
    return reports


def _added(left: dict, right: dict) -> dict:
    """Two records of the same names added up, value by value; their lists are joined."""
    return {
        name: _added(value, right[name]) if isinstance(value, dict) else value + right[name]
        for name, value in left.items()
    }


def _copy_shared_files(tokenizer: Path, places: list[Path], fixed: list[str]) -> None:
    """Copy the tokenizer to the first data-bin; it and the `fixed` splits have a second name in the others."""
    names = [name for name in TOKENIZER_FILES if (tokenizer / name).is_file()]
    for name in names:
        shutil.copyfile(tokenizer / name, places[0] / name)
    names += [f"{split}{ending}" for split in fixed for ending in (".bin", ".idx", ENDING)]
    for name, place in product(names, places[1:]):
        (place / name).unlink(missing_ok=True)
        try:
            os.link(places[0] / name, place / name)
        except OSError:  # a file system without hard links
            shutil.copyfile(places[0] / name, place / name)


def described(manifest: dict) -> Iterator[str]:
    """What a manifest says, for a person."""
    held = "{documents:,} documents, {lines:,} lines, {tokens:,} tokens, {unknowns:,} of them unknown"
    for split, record in manifest["splits"].items():
        cuts = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in record["cuts"].items())
        yield f"{split:>8}  {held.format(**record)}"
        yield f" dropped  {record['lines_without_token']:,} lines without a token"
        yield f"     cut  {cuts}"
    for name, splits in manifest.get("data_bins", {}).items():
        for split, record in splits.items():
            yield f"{f'{name}/{split}':>8}  {held.format(**record)}"
    if anonymity := manifest.get("anonymity"):
        yield (
            "predict   {predictable_tokens:,} of {tokens:,} tokens, whose words and runs of {ngram_words} words "
            "{min_patients} of {patients:,} patients have".format(**anonymity)
        )
