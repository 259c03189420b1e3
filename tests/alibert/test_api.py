"""The Python API: every step on a part of the sample, as a notebook would run it."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import alibert

# A page of docs/reference/api.md shows these steps.
STEPS = """
import alibert

sample = alibert.RECIPES / "sample"
alibert.ingest(sample / "text", "documents", source="sample")
alibert.clean("documents", "clean")
alibert.deduplicate("clean", "unique")
alibert.mix("unique", "mixed", valid=0.05)
alibert.train_tokenizer("mixed", "tokenizer", vocab_size=1000)
alibert.binarize("tokenizer", "mixed", "data-bin")
checkpoint = alibert.pretrain("data-bin", "checkpoints", recipe="tiny_mlm", max_update=3, total_num_update=3)
model = alibert.export(checkpoint, "tokenizer", "model")
guesses = alibert.fill_mask(model, "Le patient présente une <mask> à 38,5 °C.", top_k=3)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(the folder, the names that the steps have set)."""
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        names: dict = {}
        exec(STEPS, names)
        yield folder, names


def test_every_step_of_pretraining_leaves_its_output(made):
    folder, names = made
    for name in ("documents", "clean", "unique", "mixed"):
        assert (folder / name / "manifest.json").is_file()
    assert (folder / "tokenizer" / "tokenizer.json").is_file() and (folder / "data-bin" / "train.bin").is_file()
    assert names["checkpoint"].is_file() and (folder / "model" / "model.safetensors").is_file()


def test_a_mask_is_filled(made):
    (guesses,) = made[1]["guesses"]
    assert len(guesses) == 3 and guesses[0].probability >= guesses[1].probability > 0
    assert "<mask>" not in guesses[0].text and guesses[0].piece in guesses[0].text
    with pytest.raises(alibert.InputError, match="has 0 times <mask>; each text needs exactly one"):
        alibert.fill_mask(made[1]["model"], "Sans trou.")


def test_a_fine_tuned_model_finds_entities(made):
    folder, names = made
    brat = alibert.RECIPES / "sample" / "brat"
    recipe = alibert.RECIPES / "finetune" / "sample.yaml"
    options = {"protocol": "quickstart", "set": "epochs=1", "dev_only": True, "seeds": 1}
    metrics = alibert.finetune(recipe, names["model"], folder / "ner", data=brat, **options)
    assert metrics
    (model,) = (folder / "ner").rglob("finetuning.json")
    text = "Paracétamol pour une fièvre."
    (spans,) = alibert.tag(model.parent, text)
    assert all(0 <= span[0] < span[1] <= len(text) for span in spans)


def test_words_have_their_places_in_the_raw_text():
    text = "L’été,\u00a0il a  38,5\u202f°C…"
    words = alibert.normalize(text)
    assert [word.text for word in words][:4] == ["l", "'", "été", ","]
    raw = [text[word.start : word.end] for word in words]
    assert raw[:4] == ["L", "’", "été", ","] and "38" in raw
    clinical = alibert.normalize(text, options=alibert.TextOptions("clinical"))
    assert "38,5" in [text[word.start : word.end] for word in clinical]


def test_words_of_a_tokenizer_are_those_of_its_rules(made):
    text = "Fièvre à 38,5 °C."
    assert alibert.normalize(text, made[0] / "tokenizer") == alibert.normalize(text)


def test_options_become_words_of_a_command_line():
    from alibert.api import _words

    assert _words({"max_update": 3, "cpu": True}) == ["--max-update", "3", "--cpu"]
    assert _words({"cpu": False, "seed": None, "lamb_betas": (0.9, 0.98)}) == ["--lamb-betas", "0.9,0.98"]
    assert _words({"update_freq": [2, 4]}) == ["--update-freq", "2,4"]
    assert _words({"set": ["epochs=3", "batch=8"]}, repeat=True) == ["--set", "epochs=3", "--set", "batch=8"]


def test_a_recipe_that_is_not_there_is_named_with_those_that_are(tmp_path):
    with pytest.raises(alibert.InputError, match="recipe 'tiny': there is no such recipe; choose one of .*tiny_mlm"):
        alibert.pretrain(tmp_path, tmp_path, recipe="tiny")


def test_a_failed_training_quotes_its_last_lines(tmp_path):
    with pytest.raises(alibert.InputError, match="(?s)exit code .*error: --arch: missing"):
        alibert.pretrain(tmp_path / "none", tmp_path / "save", task="alibert_mlm")


LONG = """#!/bin/bash
trap 'sleep 1; echo it says so; touch "$SAVE_DIR/saved"; exit 75' TERM
touch "$SAVE_DIR/begun"
for i in {1..200}; do sleep 0.1; done
"""


def test_who_interrupts_a_recipe_waits_for_the_checkpoint_of_its_training(tmp_path, monkeypatch):
    """A training that went on would write to a --save-dir that its user takes for free."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "fairseq-train").write_text(LONG)
    (tmp_path / "bin" / "fairseq-train").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored

    def interrupt():
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        alibert.pretrain(tmp_path, tmp_path, recipe="tiny_mlm")
    assert (tmp_path / "saved").exists()


def test_importing_alibert_imports_nothing_slow_and_its_names_exist():
    code = "import sys, alibert; assert not {'torch', 'numpy', 'fairseq', 'tokenizers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert all(getattr(alibert, name) is not None for name in alibert.EXPORTED)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = alibert.nothing
