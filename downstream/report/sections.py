"""What stands in a report, and in which order."""

from alibert_common.report.document import Section, Text
from downstream.report import (
    averages,
    confusion,
    contamination,
    data_sets,
    errors,
    masked,
    published,
    scores,
    significance,
)
from downstream.report.groups import Group, group
from downstream.report.picture import draw
from downstream.report.read_runs import Loaded
from downstream.report.significance import judge

TITLE = "Scores of models on tasks"
READING = (
    "A score is the mean over the seeds of a run ± their standard deviation (n - 1): how it varies with chance in "
    "training. An interval in brackets says how the score of these trained models would vary over other documents of "
    "the kind (percentile bootstrap, documents drawn with replacement, all seeds of a document together; in place of "
    "documents sentences, questions or pairs, where the table says so). P is "
    "precision, R recall; the chief figure of a task is the one that epochs and seeds are chosen by, on dev. The best "
    "mean of a row is in bold type, whether or not the difference could be chance; the tables of differences say that. "
    "Folds of a cross-validation are averaged for each seed, and documents drawn within each fold."
)
MARKS = "Gold entities are marked [words|TYPE], predicted ones {words|TYPE}. "
ERRORS = (
    "Examples are chosen by rule: what most seeds get wrong, or what is farthest off, in the order of the file, one of "
    "each document."
)


def report(loaded: Loaded) -> tuple[Section, Section]:
    """The whole report, and its scores alone, which are short enough for a terminal.

    Predictions are read for one group at a time. Raises InputError for files that are damaged.
    """
    groups = group(loaded.runs)
    judgements, tasks, short = [], [], []
    for one in groups:
        judgement = judge(one)
        scored = [*_apart(one), *significance.models(one, judgement), *scores.by_label(one)]
        judgements.append((one, judgement))
        tasks.append(Section(one.title, [*scored, *_task(one, judgement)]))
        short.append(Section(one.title, scored))
        for run in one.runs:
            run.forget_predictions()
    summary = _summary(groups)
    whole = Section(TITLE)
    if groups:
        pictures = [draw(judgements)]
        whole.blocks += [Section("How to read this", [Text(READING)]), Section("Summary", [*pictures, *summary])]
        whole.blocks += [Section("Tasks", tasks), Section("Data sets", _data(groups))]
    whole.blocks += [Section("Masked words", blocks)] if (blocks := masked.tables(loaded.masked_words)) else []
    leaked = [Section("In train and dev", contamination.in_training(groups))]
    leaked += [Section("In pretraining text", contamination.in_pretraining(loaded.pretraining, groups))]
    whole.blocks += [Section("Leakage", leaked)] if groups or loaded.pretraining else []
    return whole, Section(TITLE, [*summary, *short, *masked.tables(loaded.masked_words)])


def _summary(groups: list[Group]) -> list:
    """For each way of training, all tasks and then the averages."""
    blocks = []
    for setting in averages.settings(groups):
        blocks.append(averages.all_tasks(setting))
        for benchmark in averages.benchmarks():
            blocks += averages.average(setting, benchmark)
    return blocks


def _apart(one: Group) -> list[Text]:
    """Why there are several tables of a task."""
    return [Text(f"Does not compare with the first table of the task; {one.differs}.")] if one.differs else []


def _task(one: Group, judgement: significance.Judged) -> list:
    """What follows the scores."""
    blocks: list = [Text(f"Measured as: {told}.")] if (told := scores.conditions(one.first)) else []
    blocks += published.beside_ours(one)
    for title, below in (
        ("Differences", significance.pairs(one, judgement)),
        ("Confusions", confusion.matrices(one)),
        ("Errors", _errors(one)),
    ):
        blocks += [Section(title, below)] if below else []
    return blocks


def _errors(one: Group) -> list:
    wrong = {run.name: errors.amounts(run) for run in one.runs}
    tables = [table for run in one.runs for table in errors.examples(one, run, wrong[run.name])]
    tables += errors.side_by_side(one, wrong)
    return [Text(MARKS * (one.first.metrics["kind"] == "ner") + ERRORS), *tables] if tables else []


def _data(groups: list[Group]) -> list:
    return [data_sets.overview(groups), *(Section(one.title, data_sets.labels(one)) for one in groups)]
