"""The sections of a report, in their order."""

from collections.abc import Sequence

from alibert_common.report.document import Block, Section
from downstream.report import averages, confusion, data_sets, errors, published, scores, significance
from downstream.report.groups import Group
from downstream.report.groups import group as grouped
from downstream.report.read_runs import Loaded

TITLE = "Scores of models on tasks"
READING = (
    "A score is a mean ± a standard deviation (n - 1) over the seeds of a run. Each seed is one training. The "
    "deviation shows how much the score changes from one training to the next.",
    "A 95% interval in brackets shows how much the score of these trained models could change on other test documents. "
    "It is a percentile bootstrap: documents are drawn with replacement, together with the answers of all seeds. "
    "Some tasks have no documents. Their intervals are over sentences, questions or pairs.",
    "Baselines train no encoder. They show the score of a simple method.",
    "P is precision and R is recall. The main metric of a task is the one that selects epochs and settings on dev.",
    "Models are sorted by score, best first. In a table of several tasks, they are sorted by their mean distance from "
    "the best score of each task.",
    "The best mean of a row is in bold. Bold does not mean that the difference is significant: see the section "
    "Differences of the task.",
    "In a cross-validation, the folds of each seed are averaged, and documents are drawn within each fold.",
)


def report(loaded: Loaded) -> tuple[Section, Section]:
    """The whole report, and its scores alone, which are short enough for a terminal.

    Reads the predictions of one group at a time. Raises InputError for damaged files.
    """
    groups = grouped(loaded.runs)
    assessed, tasks, short = [], [], []
    for group in groups:
        found = significance.significance_of(group)
        apart = [f"Not comparable with the first table of this task. {group.differs}."] if group.differs else []
        scored = [*apart, *scores.by_model(group, found), *scores.by_label(group)]
        assessed.append((group, found))
        tasks.append(Section(group.title, [*scored, *_task(group, found)]))
        short.append(Section(group.title, scored))
        for run in group.runs:
            run.forget_predictions()
    summary, masked = averages.summary(groups), published.masked_words(loaded.masked_words)
    sections: list[Section] = []
    if groups:
        data = [Section(group.title, data_sets.labels(group)) for group in groups]
        sections += [
            Section("How to read this", READING),
            Section("Summary", [scores.picture(assessed), *summary]),
            Section("Tasks", tasks),
            Section("Data sets", [data_sets.overview(groups), *data]),
        ]
    sections += [Section("Masked words", masked)] if masked else []
    leaked = data_sets.patients(groups)
    seen = [Section("Patients", leaked)] if leaked else []
    seen += [Section("In train and dev", data_sets.in_training(groups))]
    seen += [Section("In pretraining text", data_sets.in_pretraining(loaded.pretraining, groups))]
    sections += [Section("Contamination", seen)] if groups or loaded.pretraining else []
    return Section(TITLE, sections), Section(TITLE, [*summary, *short, *masked, *leaked])


def _task(group: Group, found: significance.Significance) -> list[Block]:
    """The blocks after the scores."""
    blocks = [*scores.conditions(group), *published.beside_ours(group)]
    below: dict[str, Sequence[Block]] = {
        "Differences": significance.pairs(group, found),
        "Confusions": confusion.matrices(group),
        "Errors": errors.tables(group),
    }
    return [*blocks, *(Section(title, content) for title, content in below.items() if content)]
