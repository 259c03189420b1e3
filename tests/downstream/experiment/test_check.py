"""`finetune --check`: counts of a path once, labels as the policies leave them, without importing torch."""

import json
import shutil
import subprocess
import sys

import pytest

from alibert_common.errors import InputError
from downstream import finetune
from downstream.training.model_folder import refuse_no_model

RECIPE = """
task: tiny
format: jsonl
data: .
splits: {all: all.jsonl}
dev_share: 0.2
test_share: 0.2
types: [anatomy]
"""


@pytest.fixture
def recipe(tmp_path):
    """Ten documents, each with an entity and one inside it."""
    entities = [{"start": 0, "end": 10, "label": "anatomy"}, {"start": 0, "end": 4, "label": "anatomy"}]
    records = [{"id": str(number), "text": "foie droit", "entities": entities} for number in range(10)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (tmp_path / "tiny.yaml").write_text(RECIPE)
    return tmp_path / "tiny.yaml"


def test_counts_of_a_path_are_printed_once_and_labels_after_the_policies(recipe, capsys):
    """Each of the three splits had the counts of the whole file, and the labels before nested ones were dropped."""
    finetune.main([str(recipe), "--check"])
    *lines, digest = capsys.readouterr().out.splitlines()
    assert lines == [
        "read from all.jsonl: 10 nested entities dropped",
        "train: 6 items (6 anatomy)",
        "dev: 2 items (2 anatomy)",
        "test: 2 items (2 anatomy)",
    ]
    assert digest.startswith("sha256 of recipe, protocol and documents: ")


def test_documents_that_splits_share_are_printed(recipe, capsys):
    for name in ("dev", "test"):
        shutil.copy(recipe.with_name("all.jsonl"), recipe.with_name(f"{name}.jsonl"))
    splits = "splits: {train: all.jsonl, dev: dev.jsonl, test: test.jsonl}\n"
    recipe.write_text(RECIPE.partition("splits")[0] + splits + "types: [anatomy]\n")
    finetune.main([str(recipe), "--check"])
    assert "test: 10 items (10 anatomy); 10 documents whose id an earlier split has\n" in capsys.readouterr().out


def test_a_configuration_that_is_nested_too_deeply_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(InputError, match="config.json: is not usable JSON"):
        refuse_no_model(tmp_path)


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["tiny.yml", "--model", "m"], "tiny.yml: no such file"),
        (["tiny.yaml", "--model", "m"], "m: no such folder"),
        (["tiny.yaml", "--model", "m", "--protocol", "tunde"], "no such protocol"),
        (["tiny.yaml", "--model", "."], "no config.json"),
        (["tiny.yaml", "--model", "model", "--data", "nowhere"], "nowhere: no such file or folder"),
        (["tiny.yaml", "--check"], None),
        (["--help"], None),
    ],
)
def test_a_typo_is_reported_before_torch_is_imported(recipe, words, complaint):
    """torch and transformers took 5 seconds before the message."""
    code = (
        "import sys\nfrom alibert_common.errors import exit_with_sentence\nfrom downstream import finetune\n"
        "try:\n    exit_with_sentence(finetune.main)\nfinally:\n"
        "    assert not {'torch', 'transformers'} & set(sys.modules)\n"
    )
    (recipe.parent / "model").mkdir()
    (recipe.parent / "model" / "config.json").write_text("{}")
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=recipe.parent, capture_output=True, text=True)
    assert "Error" not in done.stderr and done.returncode == (2 if complaint else 0)
    assert complaint is None or complaint in done.stderr
