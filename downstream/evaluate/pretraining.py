"""Test sentences that stand in the pretraining text."""

from pathlib import Path

from tqdm import tqdm

from alibert_common.errors import InputError
from alibert_common.files import read_json, write_json
from downstream.data.contamination import COMPARED, Sought, in_files, text_files
from downstream.data.splits import read_folds
from downstream.evaluate.plan import Job
from downstream.tasks import load_task


def refuse_undecodable(paths: list[Path]) -> None:
    """Read the text once through: in a search after hours of training, a bad byte would come late. Raises InputError
    with the line that is not UTF-8."""
    for file in tqdm(
        text_files(paths), desc="reading", unit=" files of pretraining text", leave=False, disable=not paths
    ):
        with open(file, "rb") as handle:
            for number, line in enumerate(handle, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{file}, line {number}: 0x{line[error.start]:02x} is not UTF-8; convert the file, for example "
                        "with iconv -f latin1 -t utf-8."
                    ) from None


def seen_before(jobs: list[Job], paths: list[Path], output: Path) -> None:
    """Look for test sentences in the pretraining text, once for all tasks; writes what is found, by task.

    What an earlier command found of other tasks, in the same text, stays; so a task is looked for once.
    """
    files = text_files(paths)
    # Size and time of the last change: of gigabytes a digest would take as long as the search.
    states = {str(file.resolve()): [file.stat().st_size, file.stat().st_mtime_ns] for file in files}
    asked = {"files": states, "compared": COMPARED}
    before = read_json(output) if output.is_file() else {}
    same = all(before.get(key) == value for key, value in asked.items())
    digests, tasks = ({**before.get(key, {})} if same else {} for key in ("test_sha256", "tasks"))
    sought = {}
    for job in {job.recipe: job for job in jobs}.values():
        task = load_task(job.recipe)
        parts = [splits["test"] for splits in read_folds(task, job.data, dev_only=False)]
        name, digest = task.recipe.task, [part.sha256 for part in parts]
        if name not in tasks or digests.get(name) != digest:
            sought[name] = Sought(task, [item for part in parts for item in part.items])
            digests[name] = digest
    if sought:
        in_files(sought.values(), files, lambda lines: tqdm(lines, unit=" lines of pretraining text", leave=False))
        tasks |= {name: task.report() for name, task in sought.items()}
        write_json(output, asked | {"test_sha256": digests, "tasks": tasks})
