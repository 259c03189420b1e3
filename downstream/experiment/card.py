"""The card of a fine-tuned model: what a stranger has to know before using the folder, and its scores for the hub.

README.md in the model's folder. Its front matter is built and checked by huggingface_hub, which transformers needs
anyway. The card leaves open what only a publisher knows: licence, language, the hub's id of the encoder. Its text is in
`templates`. The code there defines `answer`, which gives what was scored; tests/end_to_end/test_pipelines.py runs it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from huggingface_hub import EvalResult, ModelCardData

from alibert_common.files import write_text
from alibert_common.report.templates import filled
from downstream.experiment.results import labels_in, split_of, table
from downstream.tasks.base import Task
from downstream.tasks.candidates import MultipleChoice, Ranking
from downstream.tasks.classification import TextClassification
from downstream.tasks.extractive_qa import ExtractiveAnswers
from downstream.tasks.ner import NamedEntities
from downstream.tasks.relations import MARKS, Relations
from downstream.tasks.similarity import Similarity

TEMPLATES = Path(__file__).with_name("templates")
# Where the hub's name of a figure is not ours (https://huggingface.co/metrics).
METRICS = {"pearson": "pearsonr", "spearman": "spearmanr"}
NO_FIGURES = ("support", "ceiling")  # how many there are; what a perfect tagger would have
USES: dict[type[Task], tuple[str, str, str]] = {  # the hub's name of the task, its name in words, the template
    NamedEntities: ("token-classification", "named entity recognition", "entities.md"),
    ExtractiveAnswers: ("question-answering", "extractive question answering", "answers.md"),
    TextClassification: ("text-classification", "text classification", "classification.md"),
    Relations: ("text-classification", "relation extraction", "relations.md"),
    Similarity: ("text-classification", "sentence similarity", "similarity.md"),
    Ranking: ("text-classification", "ranking of answers", "candidates.md"),
    MultipleChoice: ("text-classification", "multiple choice", "candidates.md"),
}

FORM_TAGS = {"bi-encoder": "sentence-similarity"}  # the hub's name where a form has another than its task


class Usage(NamedTuple):
    """How a model is used. tag: the hub's name of the task; name: in words; text: Python and its limits."""

    tag: str
    name: str
    text: str


def usage_of(task: Task, items: list, longest: int, form: str | None = None) -> Usage:
    """The usage of the task's models, which read items like these in sequences of at most `longest` tokens.

    form: a name of learners/registry.py, None of the plain head.
    """
    tag, name, template = USES[type(task)]
    if isinstance(task, NamedEntities) and task.recipe.nested in ("concatenated", "per_type"):
        template = "nested_entities.md"
    if form:
        template, tag = f"{form.replace('-', '_')}.md", FORM_TAGS.get(form, tag)
    values = {
        "recipe": task.recipe,
        "longest": longest,
        "paired": isinstance(task, TextClassification)
        and any(second is not None for item in items for _, second in task.pairs(item)),
        "several": False,
        "marks": MARKS,
        "ranks": isinstance(task, Ranking),
        "may_be_none": isinstance(task, ExtractiveAnswers) and task.may_be_none,
    }
    return Usage(tag, name, filled(TEMPLATES / template, **values).strip())


def write_card(folder: Path, summary: dict, kept: dict, usage: Usage) -> None:
    """Write README.md, whole or not at all.

    summary: what metrics.json holds, over all seeds. kept: metrics.json of the seed (and fold) whose model is in the
    folder, best on dev.
    """
    split = split_of(summary)
    own = [(words(path), value) for path, value in figures(kept[split])]
    values = summary | {"usage": usage, "split": split, "table": table(summary), "own": own, "kept": unit_of(kept)}
    text = filled(TEMPLATES / "card.md", **values)
    head = front_matter(summary, kept, usage).to_yaml()
    write_text(folder / "README.md", f"---\n{head}\n---\n{text}\n", shared=True)


def front_matter(summary: dict, kept: dict, usage: Usage) -> ModelCardData:
    """The metadata that the hub reads; `model-index` has each figure twice: the mean over the seeds, and that of the
    model in the folder."""
    return ModelCardData(
        library_name="transformers",
        pipeline_tag=usage.tag,
        tags=[usage.name.replace(" ", "-"), summary["task"]],
        model_name=f"{summary['model']['folder']}, {summary['task']}",
        eval_results=list(_results(summary, kept, usage)),
    )


def _results(summary: dict, kept: dict, usage: Usage) -> Iterator[EvalResult]:
    split, source, seeds = split_of(summary), summary["recipe"]["source"], len(summary["seeds"])
    own = dict(figures(kept[split]))
    for path, mean in figures(summary[split]):
        values = {f"mean of {seeds} seed{'s' * (seeds > 1)}": mean}
        if (value := own.get(path)) is not None:  # else the kept fold has none of the items that this figure is of
            values[f"this folder's model, {unit_of(kept)}"] = value
        for whose, value in values.items():
            yield EvalResult(
                task_type=usage.tag, task_name=usage.name, dataset_type=summary["task"], dataset_name=summary["task"],
                dataset_split=split, dataset_args={"source": source} if source else None,
                metric_type=METRICS.get(path[-1], path[-1]), metric_name=f"{words(path)}, {whose}",
                metric_value=value,
            )  # fmt: skip


def unit_of(kept: dict) -> str:
    """The seed and the fold in words."""
    return f"seed {kept['seed']}" + (f", fold {kept['fold']}" if kept["fold"] else "")


def words(path: Iterable[str]) -> str:
    """The name of a figure from where it stands."""
    return " ".join(path).replace("_", " ")


def figures(scores: dict, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Where a figure stands, and its mean or value; not those of single labels, nor any that there is none of."""
    for name, scored in scores.items():
        if name in NO_FIGURES or scored is None or scored is labels_in(scores):
            continue
        if isinstance(scored, dict) and "mean" not in scored:
            yield from figures(scored, (*path, name))
        elif not isinstance(scored, dict) or scored["mean"] is not None:
            yield (*path, name), scored["mean"] if isinstance(scored, dict) else scored
