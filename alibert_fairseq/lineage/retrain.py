"""`alibert retrain`: a training without some documents, from the last checkpoint that has seen none of them."""

import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.files import read_json, read_text, write_json, written_whole
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import Stage, digest_of, identity
from alibert_fairseq.callbacks.metrics_log import LOG
from alibert_fairseq.lineage.again import CHECKPOINTS, DATA_BIN, LAST, train, without_clock
from alibert_fairseq.lineage.documents import Found, TrainingDocuments, as_in_data_bin
from alibert_fairseq.lineage.options import retrain_parser
from alibert_fairseq.lineage.order import first_updates
from alibert_fairseq.lineage.run import Run, read_run
from preprocess.databin.taken_out import take_out

STAGE = Stage("retrain", 1)
SETTINGS = "retrain.json"


def prepare(run: Run, ids: list[str], patients: list[str], output: Path) -> str:
    """Write the data-bin and the checkpoint to start from; returns what was done, as sentences.

    Raises InputError for a name that no document has, for an output of anything else, and where no document is left.
    """
    if output.is_dir() and any(output.iterdir()) and not (output / SETTINGS).is_file():
        raise InputError(f"{output}: holds other files; give another --output.")
    task, documents = run.task(), TrainingDocuments(run.cfg.task.data)
    found = [one for several in documents.find(ids, patients).values() for one in several]
    wanted = {number for number in map(documents.number, found) if number is not None}
    if len(wanted) == documents.total:
        raise InputError(f"{run.cfg.task.data}: no document would be left to train on; take out fewer.")
    task.readings = documents.reading
    first = next((update.number for update, _ in first_updates(run, task, wanted)), len(run.updates) + 1)
    before = run.checkpoint_before(first)
    start = before[0] if before else 0
    settings = {"of": str(run.folder.absolute()), "documents": _digest(found), "start": start}
    output.mkdir(parents=True, exist_ok=True)
    if (output / SETTINGS).is_file() and read_json(output / SETTINGS) != settings:
        raise InputError(f"{output / SETTINGS}: of another retraining; give another --output.")
    write_json(output / SETTINGS, settings)
    for number, data_bin in enumerate(documents.data_bins):
        _write_data_bin(data_bin, _place(output, number, len(documents.data_bins)), found)
    _place_start(run, before, output / CHECKPOINTS)
    saw = f"The first update that saw one of them is {first:,}" if first <= len(run.updates) else "No update saw them"
    return f"{len(set(found)):,} documents taken out. {saw}. The training starts after update {start:,}."


def data_of(output: Path) -> str:
    """What fairseq-train reads of an output: its data-bin, or `a:b:c`."""
    whole = output / DATA_BIN
    several = sorted((path for path in whole.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    return ":".join(str(path.absolute()) for path in several or [whole])


def _digest(found: Iterable[Found]) -> str:
    return digest_of(sorted({(one.prefix.name, one.prefix.parent.name, one.number) for one in found}))


def _place(output: Path, number: int, data_bins: int) -> Path:
    return output / DATA_BIN if data_bins == 1 else output / DATA_BIN / str(number + 1)


def _write_data_bin(data_bin: Path, output: Path, found: list[Found]) -> None:
    numbers = defaultdict[str, set[int]](set)
    for one in found:
        if one.prefix.parent == data_bin:
            numbers[one.prefix.name].add(one.number)
    listed = {split: sorted(several) for split, several in numbers.items()}
    key = {"settings": {"documents": digest_of(listed)}, "inputs": identity([data_bin])}
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            take_out(data_bin, work.directory, listed)
            work.manifest = {"taken_out": {split: len(several) for split, several in listed.items()}}


def _place_start(run: Run, before: tuple[int, Path] | None, folder: Path) -> None:
    """Copy the checkpoint and the lines of metrics.jsonl up to it, unless a training has begun there."""
    if (folder / LAST).exists() or before is None:
        return
    made, checkpoint = before
    lines = read_text(run.folder / LOG).splitlines(keepends=True)[:made]
    with written_whole(folder / LOG, shared=True) as log:
        log.writelines(lines)
    with written_whole(folder / LAST, "wb", shared=True) as copy, open(checkpoint, "rb") as stored:
        shutil.copyfileobj(stored, copy, 1 << 24)


def names_in(path: Path | None) -> list[str]:
    """The names in a file, one a line. Raises InputError for a file without any."""
    if path is None:
        return []
    lines = read_text(path).removeprefix("\ufeff").split("\n")
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError(f"{path}: holds no name; write one a line.")
    return names


def main() -> None:
    """Command line."""
    options = retrain_parser().parse_args()
    ids, patients = names_in(options.without), as_in_data_bin(names_in(options.without_patients), options.key)
    if not ids and not patients:
        raise InputError("--without: missing; give a file of ids of documents, or --without-patients.")
    run = read_run(options.checkpoints, options.data)
    processes = run.cfg.distributed_training.distributed_world_size
    print(prepare(run, ids, patients, options.output))
    data, save_dir = data_of(options.output), (options.output / CHECKPOINTS).absolute()
    if options.prepare or processes > 1:
        print(
            f"Give the recipe of the training DATA_BIN={data} and SAVE_DIR={save_dir}, with its options and "
            f"{processes} process{'es' * (processes > 1)}."
        )
        return
    if run.cfg.task.budget_minutes:
        updates = without_clock(run).optimization.max_update
        print(
            f"warning: --budget-minutes follows the clock. This training has {updates:,} updates in its place, and "
            "equals no other one bit for bit."
        )
    train(run, data, save_dir)


if __name__ == "__main__":
    exit_with_sentence(main)
