"""The card of a fine-tuned model: what the hub reads of it, which figures it tells; from a metrics.json made here."""

import pytest
import yaml
from huggingface_hub import ModelCard
from huggingface_hub.repocard import metadata_load
from huggingface_hub.repocard_data import model_index_to_eval_results
from task_helpers import OFFICIAL, ner_task

from downstream.data.examples import LabelledText
from downstream.experiment.card import figures, usage_of, write_card
from downstream.tasks.candidates import CandidatesRecipe, MultipleChoice
from downstream.tasks.classification import TextClassification, TextRecipe


def over(*values):
    return {"mean": sum(values) / len(values), "deviation": 0.1, "values": list(values)}


def row(*values, support=4):
    return {"precision": over(*values), "recall": over(*values), "f1": over(*values), "support": support}


def one(value, support=4):
    return {"precision": value, "recall": value, "f1": value, "support": support}


def summary(**changes):
    """Of two seeds, the second of which is the better one."""
    test = {"types": {"organ": row(0.25, 0.75)}, "micro": row(0.25, 0.75), "ceiling": row(1.0, 1.0)}
    return {
        "task": "leaflets",
        "model": {"folder": "small", "architecture": "roberta", "random_init": False, "frozen": False, "sha256": "ab1"},
        "recipe": {"source": "https://example.org: leaflets", "splits": OFFICIAL, "split_seed": 1},
        "protocol": {
            "name": "tuned", "changed": [], "source": "ours", "epochs": 3, "updates": None, "batch": 8,
            "learning_rate": 5e-4,
        },
        "selection": {"by": "protocol tuned, as it stands"},
        "max_tokens": 32,
        "precision": "fp32",
        "device": "cpu",
        "versions": {"torch": "2"},
        "num_parameters": 1234,
        "seeds": [1, 2],
        "chief": {"path": ["micro", "f1"], "tally": "entity_micro_f1", "counted": []},
        "evaluation": {"seqeval_mode": "strict"},
        "data": [{"train": {"items": 9, "types": {"organ": 7}}}],
        "test": test,
        "dev": test | {"micro": row(0.5, 0.9)},
    } | changes  # fmt: skip


KEPT = {
    "seed": 2, "fold": None,
    "test": {"types": {"organ": one(0.75)}, "micro": one(0.75), "ceiling": one(1.0)},
    "dev": {"types": {"organ": one(0.9)}, "micro": one(0.9), "ceiling": one(1.0)},
}  # fmt: skip


def written(folder, metrics=None, kept=KEPT):
    write_card(folder, metrics or summary(), kept, usage_of(ner_task("organ"), [], 32))
    return (folder / "README.md").read_text(encoding="utf-8")


def index(folder):
    return {
        result.metric_name: result
        for result in model_index_to_eval_results(metadata_load(folder / "README.md")["model-index"])[1]
    }


def test_the_hub_reads_the_mean_and_the_figure_of_the_model_itself(tmp_path):
    written(tmp_path)
    data = ModelCard.load(tmp_path / "README.md").data
    assert (data.library_name, data.pipeline_tag) == ("transformers", "token-classification")
    assert data.model_name == "small, leaflets"
    found = index(tmp_path)
    rates = ("precision", "recall", "f1")
    assert {name: one.metric_value for name, one in found.items()} == {
        **{f"micro {rate}, mean of 2 seeds": 0.5 for rate in rates},
        **{f"micro {rate}, this folder's model, seed 2": 0.75 for rate in rates},
    }
    result = found["micro f1, mean of 2 seeds"]
    assert (result.metric_type, result.task_name) == ("f1", "named entity recognition")
    assert (result.dataset_name, result.dataset_split) == ("leaflets", "test")
    assert result.dataset_args == {"source": "https://example.org: leaflets"}


def test_what_only_a_publisher_knows_is_left_open(tmp_path):
    text = written(tmp_path)
    assert not {"license", "language", "base_model"} & set(metadata_load(tmp_path / "README.md"))
    assert "`license`, `language`, `base_model`" in text


def test_without_test_the_figures_are_those_of_dev_and_the_card_says_so(tmp_path):
    metrics = summary()
    del metrics["test"]
    text = written(tmp_path, metrics, KEPT | {"test": None})
    assert "**Test was not read.**" in text and "own figures on dev" in text
    assert {one.dataset_split for one in index(tmp_path).values()} == {"dev"}
    assert index(tmp_path)["micro f1, this folder's model, seed 2"].metric_value == 0.9
    assert "Test was not read" not in written(tmp_path)


def test_the_prose_tells_whose_figures_they_are_and_how_they_came_about(tmp_path):
    text = written(tmp_path)
    assert "| micro | 0.500 ± 0.100 |" in text and "| micro f1 | 0.750 |" in text
    assert "those of seed 2, which had the best micro f1 on dev" in text
    for said in (
        "from the encoder `small`: roberta, 1,234 parameters",
        "`ab1`",
        "- seqeval mode: strict",
        "| train | 9 | 7 organ |",
    ):
        assert said in text
    assert "| batch, learning rate, length | 8, 0.0005, at most 3 epochs |" in text
    assert "changed by hand" not in text and "Splits were drawn" not in text
    model = summary()["model"] | {"random_init": True}
    drawn = summary()["recipe"] | {"splits": {"all": "x"}, "split_seed": 5}
    other = written(tmp_path, summary(model=model, recipe=drawn), KEPT | {"fold": 3})
    assert "from random weights of the architecture of `small`" in other and "frozen" not in text + other
    probe = written(tmp_path, summary(model=summary()["model"] | {"frozen": True}))
    assert "from the encoder `small` (frozen; only the head was trained)" in probe
    assert "Splits were drawn with seed 5" in other and "those of seed 2, fold 3" in other


def test_a_figure_that_the_kept_fold_has_not_is_told_as_a_mean_only(tmp_path):
    scores = {"f1": over(0.5), "unanswerable": {"f1": over(0.25), "support": 1}, "support": 3}
    kept = {"seed": 1, "fold": 2, "test": {"f1": 0.5, "unanswerable": {"f1": None, "support": 0}, "support": 3}}
    chief = summary()["chief"] | {"path": ["f1"]}
    written(tmp_path, summary(test=scores, seeds=[1], chief=chief), kept)
    assert set(index(tmp_path)) == {
        "f1, mean of 1 seed", "f1, this folder's model, seed 1, fold 2", "unanswerable f1, mean of 1 seed"
    }  # fmt: skip


def test_figures_are_those_of_averages():
    scores = {"classes": {"a": row(0.1)}, "micro": row(0.5), "accuracy": over(0.25), "none": over(0.5) | {"mean": None}}
    assert dict(figures(scores)) == {
        **{("micro", rate): 0.5 for rate in ("precision", "recall", "f1")}, ("accuracy",): 0.25
    }  # fmt: skip


def test_a_card_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    before = written(tmp_path)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError):
        written(tmp_path, summary(task="other"))
    assert [file.name for file in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == before


def test_names_with_signs_of_yaml_are_read_back(tmp_path):
    written(tmp_path, summary(task="a: #1 'é'"))
    assert metadata_load(tmp_path / "README.md")["tags"] == ["named-entity-recognition", "a: #1 'é'"]
    assert yaml.safe_load(written(tmp_path).split("---\n")[1])["model-index"][0]["name"] == "small, leaflets"


@pytest.mark.parametrize("nested, said", [("per_type", "a tag for each type"), ("concatenated", "joined by +")])
def test_where_no_pipeline_finds_entities_the_card_shows_the_tagger(nested, said):
    usage = usage_of(ner_task("a", "b", nested=nested), [], 32)
    assert "pipeline(" not in usage.text and "Tagger" in usage.text and said in usage.text


def test_the_code_has_the_recipes_threshold():
    keys = {"task": "t", "format": "table", "splits": OFFICIAL, "labels": ["a", "b"]}
    task = TextClassification(TextRecipe(**keys, multi_label=True, threshold=0.25))
    assert "> 0.25" in usage_of(task, [LabelledText("1", "x", ("a",))], 32).text
    choice = MultipleChoice(CandidatesRecipe(task="t", kind="choice", format="options", splits=OFFICIAL))
    assert usage_of(choice, [], 32).name == "multiple choice"
