"""The reference model: the same recipe, trained on the first half of the patients."""

from pathlib import Path

from omegaconf import OmegaConf

from alibert_common.errors import InputError
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import Stage, identity
from alibert_fairseq.audit.texts import Data, of_reference
from alibert_fairseq.lineage.again import CHECKPOINTS, DATA_BIN, train
from alibert_fairseq.lineage.run import Run, checkpoints_in, load
from alibert_fairseq.tasks.tokenizer_identity import manifest_digests
from preprocess.databin.subset import write_subset

STAGE = Stage("audit reference", 1)


def last_checkpoint(run: Run, data: str, folder: Path) -> Path | None:
    """The checkpoint of a reference that has had as many updates as the run, None if there is none yet.

    Raises InputError for one of another model, or on other data than `data`.
    """
    checkpoints, updates = checkpoints_in(folder / CHECKPOINTS), max(run.checkpoints)
    if not checkpoints or max(checkpoints) < updates:
        return None
    path = checkpoints[max(checkpoints)]
    state, model, digests = load(path), OmegaConf.to_container(run.cfg.model), manifest_digests(data)
    if (state["cfg"]["model"], state["task_state"].get("data", digests)) != (model, digests):
        raise InputError(
            f"{path}: is not a reference of this training: its model or its data-bin is another; give another "
            "--reference, or another --output."
        )
    return path


def prepare(data: Data, data_bins: list[Path], folder: Path) -> str:
    """Write the data-bins of the reference, unless they are there; returns what fairseq-train reads."""
    places = list[Path]()
    for number, data_bin in enumerate(data_bins, 1):
        place = folder / DATA_BIN if len(data_bins) == 1 else folder / DATA_BIN / str(number)
        kept = {
            split.prefix.name: of_reference(split.patients) for split in data.train if split.prefix.parent == data_bin
        }
        with resumable_directory(place, STAGE, {"settings": "first half", "inputs": identity([data_bin])}) as work:
            if work is not None:
                write_subset(data_bin, work.directory, kept)
        places.append(place.absolute())
    return ":".join(map(str, places))


def train_reference(run: Run, data: str, folder: Path) -> None:
    """Train it in this process, with as many updates as the last checkpoint of the run has; resumes."""
    train(run, data, (folder / CHECKPOINTS).absolute(), max(run.checkpoints))
