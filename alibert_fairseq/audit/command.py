"""`alibert audit`: the reference model, the measurements and the page."""

import time
from pathlib import Path

from fairseq import utils

from alibert_common.directories import Marker, refuse_foreign
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.files import write_json
from alibert_common.output_dir import Work, resumable_directory
from alibert_common.provenance import Stage, identity
from alibert_fairseq.audit import reference
from alibert_fairseq.audit.figures import cost_of, figures_of
from alibert_fairseq.audit.measures import Measure, Subject
from alibert_fairseq.audit.options import audit_parser
from alibert_fairseq.audit.page import write_pages
from alibert_fairseq.audit.texts import choose, read_data
from alibert_fairseq.callbacks.metrics_log import LOG
from alibert_fairseq.data.dictionary import load_dictionary
from alibert_fairseq.lineage.again import CHECKPOINTS
from alibert_fairseq.lineage.run import Run, read_run

STAGE = Stage("audit", 1, ("numpy", "torch", "tokenizers"))
FIGURES = "audit.json"


def audit(subject: Subject, data_bins: list[Path], output: Path) -> None:
    """Write audit.json and the pages to `output`."""
    checkpoints = [*subject.run.checkpoints.values(), subject.checkpoints["reference"]]
    key = {
        "settings": {"documents": len(subject.texts), "seed": subject.seed},
        "inputs": identity([*data_bins, *checkpoints]),
    }
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            _measure(Measure(subject, work.scratch / "steps"), work)


def _measure(measure: Measure, work: Work) -> None:
    measured, began = measure.run(), time.monotonic()
    figures = figures_of(measure)
    figures["cost"] = cost_of(measure, measured + time.monotonic() - began)
    write_json(work.directory / FIGURES, figures)
    write_pages(figures, work.directory)


def main() -> None:
    """Command line."""
    options = audit_parser().parse_args()
    refuse_foreign(options.output, Marker.of_command(STAGE.command))  # before the reference is trained
    run = read_run(options.checkpoints, options.data)
    run.task()  # refuses another data-bin
    data_bins = [Path(path) for path in utils.split_paths(run.cfg.task.data)]
    data, begin = read_data(data_bins), load_dictionary(data_bins[0]).bos()
    texts = choose(data, options.documents, run.cfg.task.tokens_per_sample, begin, options.seed)
    folder = options.reference or options.output.with_name(f"{options.output.name}-reference")
    place = reference.prepare(data, data_bins, folder)
    trained = reference.last_checkpoint(run, place, folder)
    if trained is None:
        trained = _trained(run, place, folder, options.prepare)
    if trained is not None:
        checkpoints = {"audited": run.checkpoints[max(run.checkpoints)], "reference": trained}
        audit(Subject(run, data_bins[0], data, checkpoints, texts, options.seed), data_bins, options.output)
        print(f"wrote {options.output}: {FIGURES}, audit.en.html, audit.fr.html")


def _trained(run: Run, place: str, folder: Path, only_prepare: bool) -> Path | None:
    """Train the reference; None where it is to be trained elsewhere."""
    processes = run.cfg.distributed_training.distributed_world_size
    if only_prepare or processes > 1:
        end = f"--max-update {max(run.checkpoints)}{', no --budget-minutes' * bool(run.cfg.task.budget_minutes)}"
        print(
            f"Give the recipe of the training DATA_BIN={place} and SAVE_DIR={(folder / CHECKPOINTS).absolute()}, with "
            f"its options, {end} and {processes} process{'es' * (processes > 1)}. When it has ended, give this command "
            "again."
        )
        return None
    reference.train_reference(run, place, folder)
    found = reference.last_checkpoint(run, place, folder)
    if found is None:
        raise InputError(f"{folder / CHECKPOINTS / LOG}: the reference was stopped; give the same command again.")
    return found


if __name__ == "__main__":
    exit_with_sentence(main)
