"""Checks that data-bins, checkpoints and processes have the same tokenizer, and which data-bins a run has read.

A model cannot tell two vocabularies of one size apart.
"""

import filecmp
import hashlib
import json
import os
from pathlib import Path

import torch
from fairseq import utils

from alibert_common.errors import InputError
from alibert_common.provenance import MANIFEST
from fairseq_compat.processes.store import store_of_processes
from preprocess.tokenizer.load import load_tokenizer

FIRST = "alibert_fairseq/tokenizer"  # in the store of the processes: that of the first one
FILES_OF_IDS = ("dict.txt", "tokenizer.json")  # what a model's ids mean


def digests(directory: str) -> dict[str, str]:
    """SHA-256 of those of FILES_OF_IDS that the directory has."""
    files = {name: Path(directory, name) for name in FILES_OF_IDS}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items() if file.is_file()}


def manifest_digests(data: str) -> list[str]:
    """SHA-256 of the manifest of each data-bin, which tells its text; "" where fairseq-preprocess made it."""
    manifests = [Path(path, MANIFEST) for path in utils.split_paths(data)]
    return [hashlib.sha256(one.read_bytes()).hexdigest() if one.is_file() else "" for one in manifests]


def different_tokenizer(task_state: dict, here: dict[str, str]) -> str | None:
    """The first file whose digest here differs from the checkpoint's, or None.

    A file that only one side has is not compared.
    """
    known = task_state.get("tokenizer", {})
    both = [name for name in FILES_OF_IDS if name in known and name in here]
    return next((name for name in both if known[name] != here[name]), None)


def refuse_another_than_the_first(path: str) -> None:
    """Raise InputError where this process of several has another tokenizer than the first one."""
    store = store_of_processes()
    if store is None:
        return
    if torch.distributed.get_rank() == 0:
        store.set(FIRST, json.dumps([path, digests(path)]))
        return
    theirs, known = json.loads(store.get(FIRST))
    if different := different_tokenizer({"tokenizer": known}, digests(path)):
        raise InputError(f"{path}: its {different} is not that of {theirs} on rank 0; give all processes one data-bin.")


def check_data_bin(path: str, first: str) -> None:
    """Raise InputError where dict.txt is missing, differs from the first data-bin's or contradicts tokenizer.json."""
    table = os.path.join(path, "dict.txt")
    if not os.path.isfile(table):
        names = [file.parent.name for file in Path(path).glob("*/dict.txt") if file.parent.name.isdigit()]
        if several := [os.path.join(path, name) for name in sorted(names, key=int)]:  # 1, 2, ... of binarize
            raise InputError(f"{path}: holds {len(several)} data-bins, one an epoch; give {':'.join(several)}")
        raise InputError(f"{path}: no dict.txt in this data-bin; give the output directory of binarize.")
    if not filecmp.cmp(table, os.path.join(first, "dict.txt"), shallow=False):
        raise InputError(f"{table}: not the dict.txt of {first}; binarize both texts with one tokenizer.")
    if os.path.isfile(os.path.join(path, "tokenizer.json")):
        load_tokenizer(Path(path))  # compares its ids with dict.txt
