"""What the quickstart reuses and what it refuses to reuse, with stages that only leave their outputs behind."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

STAGE = """#!/usr/bin/env bash
# Stands for `python -m STAGE ... --output RESULT`.
echo "$2" >>"$CALLS"
[ "$2" != "${FAILS:-}" ] || { echo "error: no field 'text'; name it with --text-field." >&2; exit 2; }
recipe=$3 data=$5
while [ $# -gt 0 ]; do
    case $1 in
        --check) echo "dev: 1"; cat "$recipe" "$data"/*/*.ann | cksum; exit 0 ;;
        --output) result=$2 ;;
    esac
    shift
done
case $result in *.*) touch "$result" ;; *) mkdir -p "$result"; touch "$result/metrics.json" ;; esac
"""
PRETRAINING = 'mkdir -p "$SAVE_DIR"; echo "$@" >"$SAVE_DIR/options"; echo pretraining >>"$CALLS"\n'
ALL = [
    "downstream.finetune", "preprocess.ingest", "preprocess.clean", "preprocess.deduplicate", "preprocess.mix",
    "preprocess.train_tokenizer", "preprocess.binarize", "pretraining", "alibert_fairseq.hf.export",
    "downstream.masked_words", *["downstream.finetune"] * 3, "downstream.report",
]  # fmt: skip
NOTHING = [ALL[0], ALL[-1]]  # the annotations are looked at, the table is made


class Project:
    """A copy of the quickstart among stages that do nothing."""

    def __init__(self, root: Path, repository: Path):
        self.root, self.output, self.calls = root, root / "my out", root / "calls"
        recipes = root / "recipes"
        for folder in ("pretrain", "finetune", "sample/text", "sample/brat/train", "sample/brat/dev", "bin"):
            (recipes / folder).mkdir(parents=True)
        shutil.copy(repository / "recipes" / "quickstart.sh", recipes)
        (recipes / "environment.sh").write_text(f'PATH="{recipes}/bin:$PATH"\n')
        (recipes / "pretrain" / "tiny_modern.sh").write_text(PRETRAINING)
        (recipes / "bin" / "python").write_text(STAGE)
        (recipes / "bin" / "python").chmod(0o755)
        self.recipe, self.text = recipes / "finetune" / "sample.yaml", recipes / "sample" / "text" / "a.txt"
        self.annotation = recipes / "sample" / "brat" / "train" / "a.ann"
        for file in (self.recipe, self.text, self.annotation):
            file.write_text("before\n")

    def run(self, *options, fails: str = "") -> tuple[list[str], str]:
        """(the stages that ran, the error or nothing)."""
        self.calls.write_text("")
        command = ["bash", self.root / "recipes" / "quickstart.sh", "--output", self.output, *options]
        environment = os.environ | {"CALLS": str(self.calls), "FAILS": fails}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == (2 if done.stderr else 0), done.stderr
        return self.calls.read_text().split(), done.stderr


@pytest.fixture
def project(tmp_path, repository) -> Project:
    made = Project(tmp_path, repository)
    assert made.run() == (ALL, "")
    return made


def test_a_second_call_reuses_everything(project):
    assert project.run() == (NOTHING, "")


@pytest.mark.parametrize(
    "changed, outdated",
    [
        ("recipe", "ner ner-tagger ner-random"),
        ("annotation", "ner ner-tagger ner-random"),
        ("text", "mixed tokenizer data-bin pretrained checkpoints model masked_words ner ner-tagger ner-random"),
    ],
)
def test_a_changed_file_is_noticed_and_what_was_made_of_it_is_named(project, changed, outdated):
    getattr(project, changed).write_text("after\n")
    ran, error = project.run()
    assert ran == NOTHING[:1] and error.count("\n") == 1
    assert error.endswith(f"my\\ out && rm -r {outdated}\n")
    subprocess.run(error.partition("outdated folders: ")[2], shell=True, check=True)
    assert project.run()[1] == "" and project.run() == (NOTHING, "")


def test_a_text_that_was_renamed_is_noticed(project):
    project.text.rename(project.text.with_name("b.txt"))
    assert project.run()[1].count("mixed was made with other settings or of other files") == 1


def test_a_corpus_that_takes_options_is_for_ingest(project, tmp_path):
    ran, error = project.run("--output", tmp_path / "other", fails="preprocess.ingest")
    assert ran == ALL[:2] and error.splitlines()[0].endswith("name it with --text-field.")
    assert "run `alibert ingest` yourself, and give its output folder as --corpus." in error


def test_a_text_that_cannot_be_read_is_one_sentence(project):
    (project.text.parent / "loop.txt").symlink_to("loop.txt")
    ran, error = project.run()
    assert ran == ALL[:1] and "some files cannot be read" in error


def test_an_output_inside_the_corpus_is_refused(project, tmp_path, monkeypatch):
    (tmp_path / "letters").mkdir()
    monkeypatch.chdir(tmp_path / "letters")
    for corpus in (tmp_path / "letters", "."):
        ran, error = project.run("--corpus", corpus, "--output", tmp_path / "letters" / "out")
        assert not ran and "lies inside the corpus" in error


def test_few_updates_have_a_shorter_warm_up(project, tmp_path):
    for updates, warmup in (("7", 6), ("800", 20)):
        project.run("--updates", updates, "--output", tmp_path / updates)
        assert (tmp_path / updates / "checkpoints" / "options").read_text().endswith(f"--warmup-updates {warmup}\n")


def test_a_model_of_a_pretraining_that_was_removed_is_not_reused(project):
    (project.output / "pretrained").unlink()
    shutil.rmtree(project.output / "checkpoints")
    ran, error = project.run("--updates", "7")
    assert ran == [ALL[0], "pretraining"] and "rm -r model masked_words ner ner-tagger ner-random" in error


def test_an_unfinished_stage_goes_on_with_its_own_settings_only(project):
    (project.output / "pretrained").unlink()  # the last thing that pretraining leaves
    _, error = project.run("--updates", "7")
    assert "checkpoints was made with other settings or of other files (tiny_modern.sh, 800 updates)" in error
    assert project.run() == ([ALL[0], "pretraining", ALL[-1]], "")


@pytest.mark.parametrize("option, value", [("--updates", "soixante"), ("--updates", "0"), ("--vocab-size", "3e3")])
def test_numbers_are_checked_before_anything_runs(project, option, value):
    ran, error = project.run(option, value)
    assert not ran and error == f"error: {option} {value}: give a whole number above 0.\n"


def test_an_installed_wheel_needs_no_environment(project, tmp_path):
    """The recipes of a wheel have no setup.py beside them: the Python that is first on PATH has everything."""
    environment = Path(__file__).resolve().parents[2] / "recipes" / "environment.sh"
    shutil.copy(environment, project.root / "recipes")
    path = f"{project.root / 'recipes' / 'bin'}:{os.environ['PATH']}"
    command = ["bash", project.root / "recipes" / "quickstart.sh"]
    done = subprocess.run(command, env=os.environ | {"CALLS": str(project.calls), "PATH": path}, cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "runs" / "quickstart-mlm" / "report").is_dir() and not (project.root / ".venv").exists()


def test_help_of_the_tests_installs_nothing(repository, tmp_path):
    (tmp_path / "recipes").mkdir()
    shutil.copy(repository / "recipes" / "test.sh", tmp_path / "recipes")  # without environment.sh beside it
    command = ["bash", tmp_path / "recipes" / "test.sh", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("usage: bash recipes/test.sh")
