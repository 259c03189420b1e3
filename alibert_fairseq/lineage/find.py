"""`alibert lineage`: which update of a training first saw a document, or a patient."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from tqdm import tqdm

from alibert_common.errors import InputError, exit_with_sentence
from alibert_fairseq.lineage.documents import Found, TrainingDocuments, as_in_data_bin
from alibert_fairseq.lineage.options import lineage_parser
from alibert_fairseq.lineage.order import first_updates
from alibert_fairseq.lineage.run import Run, read_run


@dataclass(frozen=True)
class FirstUse:
    """When a training first saw a name. `update` is None where none did; `checkpoint` is None where none is before."""

    name: str
    documents: int
    in_validation: int
    update: int | None
    epoch: int | None
    checkpoint: str | None
    checkpoint_updates: int | None
    later_checkpoints: int


def first_uses(run: Run, ids: Iterable[str], patients: Iterable[str]) -> list[FirstUse]:
    """The first use of each id and patient. Raises InputError as `TrainingDocuments.find` and `order_of` do."""
    task = run.task()
    documents = TrainingDocuments(run.cfg.task.data)
    found = documents.find(ids, patients)
    numbers = {name: [documents.number(one) for one in several] for name, several in found.items()}
    first: dict[int, tuple[int, int]] = {}
    task.readings = documents.reading
    wanted = {number for several in numbers.values() for number in several if number is not None}
    with tqdm(total=len(wanted), desc="documents found", disable=None) as bar:
        for update, seen in first_updates(run, task, wanted):
            first |= dict.fromkeys(seen, (update.number, update.epoch))
            bar.update(len(seen))
    return [_first_use(run, name[1], found[name], several, first) for name, several in numbers.items()]


def _first_use(run: Run, name: str, found: list[Found], numbers: list[int | None], first: dict) -> FirstUse:
    uses = [first[number] for number in numbers if number in first]
    held_out = {(one.prefix.name, one.number) for one, number in zip(found, numbers, strict=True) if number is None}
    validated = len(held_out)  # each data-bin has the same
    documents = len(numbers) - numbers.count(None) + validated
    if not uses:
        return FirstUse(name, documents, validated, None, None, None, None, 0)
    update, epoch = min(uses)
    before = run.checkpoint_before(update)
    made, path = (before[0], str(before[1])) if before else (None, None)
    later = sum(updates >= update for updates in run.checkpoints)
    return FirstUse(name, documents, validated, update, epoch, path, made, later)


def described(use: FirstUse, updates: int) -> str:
    """A first use, for a person."""
    documents = f"{use.name}: {use.documents:,} document{'s' * (use.documents > 1)}"
    documents += f", {use.in_validation:,} of them validation text" * (use.in_validation > 0)
    if use.update is None:
        return f"{documents}; no update of {updates:,} saw it"
    before = f"{use.checkpoint} ({use.checkpoint_updates:,} updates)" if use.checkpoint else "none"
    return (
        f"{documents}; first seen in update {use.update:,} of {updates:,}, epoch {use.epoch}; last checkpoint before: "
        f"{before}; checkpoints that saw it: {use.later_checkpoints:,}"
    )


def main() -> None:
    """Command line."""
    options = lineage_parser().parse_args()
    if not options.document and not options.patient:
        raise InputError("--document: missing; give the id of a document, or --patient.")
    run = read_run(options.checkpoints, options.data)
    for use in first_uses(run, options.document, as_in_data_bin(options.patient, options.key)):
        print(json.dumps(asdict(use), ensure_ascii=False) if options.json else described(use, len(run.updates)))


if __name__ == "__main__":
    exit_with_sentence(main)
