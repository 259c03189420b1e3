"""The card of a fine-tuned model: what a stranger has to know before using the folder, and its scores for the hub.

README.md in the model's folder. Its front matter is built and checked by huggingface_hub, which transformers needs
anyway. Of what only a publisher knows (licence, language, the hub's id of the encoder) the card says that it is open.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from huggingface_hub import EvalResult, ModelCardData

from alibert_common.files import written_whole
from downstream.experiment.card_examples import Usage
from downstream.experiment.plots import labels_in
from downstream.experiment.results import table

# Where the hub's name of a figure is not ours (https://huggingface.co/metrics).
METRICS = {"pearson": "pearsonr", "spearman": "spearmanr"}
NO_FIGURES = ("support", "ceiling")  # how many there are; what a perfect tagger would have


def write_card(folder: Path, summary: dict, kept: dict, usage: Usage) -> None:
    """Write README.md, whole or not at all.

    summary: what metrics.json holds, over all seeds. kept: metrics.json of the seed (and fold) whose model is in the
    folder, best on dev.
    """
    front = front_matter(summary, kept, usage).to_yaml()
    sections = (_title(summary, usage), _figures(summary, kept), _data(summary), _training(summary), _use(usage), OPEN)
    with written_whole(folder / "README.md", shared=True) as handle:
        handle.write(f"---\n{front}\n---\n" + "\n\n".join(sections) + "\n")


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
        told = {
            f"mean of {seeds} seed{'s' * (seeds > 1)}": mean,
            f"this folder's model, {unit_of(kept)}": own.get(path),
        }
        for whose, value in told.items():
            if value is None:  # the kept fold has none of the items that this figure is of
                continue
            yield EvalResult(
                task_type=usage.tag,
                task_name=usage.name,
                dataset_type=summary["task"],
                dataset_name=summary["task"],
                dataset_split=split,
                dataset_args={"source": source} if source else None,
                metric_type=METRICS.get(path[-1], path[-1]),
                metric_name=f"{words(path)}, {whose}",
                metric_value=value,
            )


def split_of(summary: dict) -> str:
    """Whose figures are told: dev where test was not read."""
    return "test" if "test" in summary else "dev"


def unit_of(kept: dict) -> str:
    """In words."""
    return f"seed {kept['seed']}" + (f", fold {kept['fold']}" if kept["fold"] else "")


def words(path: Iterable[str]) -> str:
    """The name of a figure from where it stands."""
    return " ".join(path).replace("_", " ")


def figures(scores: dict, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Where a figure stands, and its mean or value; not those of single labels, nor any that there is none of."""
    for name, one in scores.items():
        if name in NO_FIGURES or one is None or one is labels_in(scores):
            continue
        if isinstance(one, dict) and "mean" not in one:
            yield from figures(one, (*path, name))
        elif not isinstance(one, dict) or one["mean"] is not None:
            yield (*path, name), one["mean"] if isinstance(one, dict) else one


def _title(summary: dict, usage: Usage) -> str:
    model = summary["model"]
    start = "random weights of the architecture of" * model["random_init"] or "the encoder"
    frozen = " (frozen; only the head was trained)" * model["frozen"]
    return (
        f"# {usage.name[0].upper()}{usage.name[1:]}: {model['folder']}, fine-tuned on {summary['task']}\n\n"
        f"Made by `downstream.finetune` from {start} `{model['folder']}`{frozen}: {model['architecture']}, "
        f"{summary['num_parameters']:,} parameters, SHA-256 of configuration, tokenizer and weights "
        f"`{model['sha256']}`."
    )


def _figures(summary: dict, kept: dict) -> str:
    split = split_of(summary)
    own = "\n".join(f"| {words(path)} | {value:.3f} |" for path, value in figures(kept[split]))
    made = "\n".join(f"- {what.replace('_', ' ')}: {how}" for what, how in summary["evaluation"].items())
    warning = (
        "\n\n**Test was not read.** Dev chose the epoch and the seed, so figures on unseen texts will be lower."
        if split == "dev"
        else ""
    )
    return (
        f"## Figures\n{table(summary)}\n± is the standard deviation over the seeds. The weights in this folder are "
        f"those of {unit_of(kept)}, which had the best {words(summary['chief']['path'])} on dev; their own figures on "
        f"{split}:\n\n| | |\n|---|---|\n{own}\n\nHow they are made:\n{made}{warning}"
    )


def _data(summary: dict) -> str:
    recipe = summary["recipe"]
    rows = []
    for number, fold in enumerate(summary["data"], 1):
        for name, counts in fold.items():
            labels = ", ".join(f"{count} {label}" for label, count in counts["types"].items())
            place = f"{number}, {name}" if len(summary["data"]) > 1 else name
            rows.append(f"| {place} | {counts['items']} | {labels} |")
    source = f" Source: {recipe['source']}." if recipe["source"] else ""
    drawn = f" Splits were drawn with seed {recipe['split_seed']}." if len(recipe["splits"]) < 3 else ""
    return (
        f"## Data\n{summary['task']}.{source}{drawn} `finetuning.json` has the whole recipe and the SHA-256 of every "
        "split.\n\n| | items | labels |\n|---|---|---|\n" + "\n".join(rows)
    )


def _training(summary: dict) -> str:
    protocol = summary["protocol"]
    length = f"{protocol['epochs']} epochs" if protocol["epochs"] else f"{protocol['updates']} updates"
    rows = {
        "protocol": f"{protocol['name']} ({protocol['source']})",
        "changed by hand": ", ".join(protocol["changed"]),
        "settings chosen by": summary["selection"]["by"],
        "batch, learning rate, length": f"{protocol['batch']}, {protocol['learning_rate']:g}, at most {length}",
        "longest sequence (tokens)": summary["max_tokens"],
        "seeds": ", ".join(map(str, summary["seeds"])),
        "precision, device": f"{summary['precision']}, {summary['device']}",
        "versions": ", ".join(f"{name} {version}" for name, version in summary["versions"].items()),
    }
    return "## Training\n| | |\n|---|---|\n" + "\n".join(f"| {what} | {how} |" for what, how in rows.items() if how)


def _use(usage: Usage) -> str:
    return f'## Use\nFor `"model"` write the path of this folder.\n\n```python\n{usage.code}```\n\n{usage.limits}'


OPEN = """## Open
To be completed by whoever publishes this folder, here and in the front matter: `license`, `language`, `base_model` (the
hub's id of the encoder), the terms of the data, and whether these hold personal data. The model repeats the biases of
its corpora; it is no medical device."""
