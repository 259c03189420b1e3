"""What the scripts of recipes/slurm hand to Slurm and to the launcher, among stand-ins for these."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SAYS_ITS_ARGUMENTS = """#!/usr/bin/env bash
printf '%s\\n' "$@" >"$CALLS/{name}"
printf '%s\\n' "DATA_BIN=$DATA_BIN" "SAVE_DIR=$SAVE_DIR" "HF_HUB_OFFLINE=$HF_HUB_OFFLINE" >"$CALLS/{name}.environment"
[ -t 0 ] || cat >"$CALLS/{name}.input"
[ {name} != sbatch ] || echo "12;cluster"
"""
CENTRE = """. "{shipped}"
work="{root}/kept" scratch="{root}/scratch"
reservation=(--gpus-per-node 4 --account 'a b')
one_gpu=(--gpus=1)
"""


class Project:
    """A copy of the scripts, with an environment of stand-ins and a centre of its own."""

    def __init__(self, root: Path, repository: Path):
        self.root, self.calls = root, root / "calls"
        slurm = root / "recipes" / "slurm"
        shutil.copytree(repository / "recipes" / "slurm", slurm)
        for folder in ("bin", "calls", "data bin", "my annotations"):
            (root / folder).mkdir()
        (root / "recipes" / "environment.sh").write_text(f'export PATH="{root}/bin:$PATH"\n')
        for name in ("python", "sbatch"):
            (root / "bin" / name).write_text(SAYS_ITS_ARGUMENTS.format(name=name))
            (root / "bin" / name).chmod(0o755)
        (root / "centre.bash").write_text(CENTRE.format(shipped=slurm / "centre.bash", root=root))
        for name in ("dict.txt", "train.bin"):
            (root / "data bin" / name).write_text(name)

    def run(self, script: str, *arguments, **variables) -> subprocess.CompletedProcess:
        own = {"CALLS": self.calls, "CENTRE": self.root / "centre.bash", "DATA_BIN": "data bin", "SAVE_DIR": "save"}
        own = {name: str(value) for name, value in (own | variables).items()}
        command = ["bash", self.root / "recipes" / "slurm" / script, *arguments]
        return subprocess.run(
            command, cwd=self.root, env=os.environ | own, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    def called(self, name: str) -> list[str]:
        return (self.calls / name).read_text().splitlines()


@pytest.fixture
def project(tmp_path, repository):
    """In a folder with a space in its name."""
    (tmp_path / "a project").mkdir()
    return Project(tmp_path / "a project", repository)


def test_pretraining_is_launched_on_a_copy_of_the_data_bin(project):
    done = project.run("pretrain.sh", "recipe.sh", "12", "--time", "9", "--", "--seed", "2")
    assert done.returncode == 0, done.stderr
    launch = ["-m", "alibert_fairseq.launch", "recipe.sh", "--nodes", "12", "--gpus-per-node", "4", "--account", "a b"]
    launch += ["--requeue", "--detach", "--logs", f"{project.root}/kept/launch", "--time", "9", "--", "--seed", "2"]
    assert project.called("python") == launch
    data_bin, save, offline = (line.split("=", 1)[1] for line in project.called("python.environment"))
    assert Path(data_bin).parent == project.root / "scratch" / "data-bins" and "data bin-" in data_bin
    assert {path.name: path.read_text() for path in Path(data_bin).iterdir()} == {
        "dict.txt": "dict.txt",
        "train.bin": "train.bin",
    }
    assert (save, offline) == (f"{project.root}/save", "1") and (project.root / "save").is_dir()


def test_a_copy_is_made_once_and_anew_of_another_data_bin(project):
    copies = project.root / "scratch" / "data-bins"
    assert "copying" in project.run("pretrain.sh", "r.sh", "1").stderr
    assert "copying" not in project.run("pretrain.sh", "r.sh", "1").stderr
    (project.root / "data bin" / "train.bin").write_text("another")
    (left,) = copies.iterdir()
    assert "copying" in project.run("pretrain.sh", "r.sh", "1").stderr
    (copy,) = set(copies.iterdir()) - {left}
    copy.rename(f"{copy}.partial")  # as an interrupted copy is left
    (copies / f"{copy.name}.partial" / "train.bin").unlink()
    assert "copying" in project.run("pretrain.sh", "r.sh", "1").stderr
    assert set(copies.iterdir()) == {left, copy} and (copy / "train.bin").read_text() == "another"


def test_several_data_bins_and_a_dry_run_that_copies_none(project):
    (project.root / "parts" / "1").mkdir(parents=True)
    (project.root / "parts" / "1" / "dict.txt").touch()
    assert "parts: no dict.txt" in project.run("pretrain.sh", "r.sh", "1", DATA_BIN="parts").stderr
    assert project.run("pretrain.sh", "r.sh", "1", "--dry-run", DATA_BIN="data bin:parts/1").returncode == 0
    both = f"DATA_BIN={project.root}/data bin:{project.root}/parts/1"
    assert project.called("python.environment")[0] == both and not (project.root / "scratch").exists()
    assert project.run("pretrain.sh", "r.sh", "1", DATA_BIN="data bin:parts/1").stderr.count("copying") == 2
    first, second = project.called("python.environment")[0].removeprefix("DATA_BIN=").split(":")
    assert Path(first, "train.bin").exists() and Path(second, "dict.txt").exists()


@pytest.mark.parametrize(
    "arguments, variables, words",
    [
        (["r.sh"], {}, "give a recipe and the number of nodes"),
        (["r.sh", "1"], {"SAVE_DIR": ""}, "SAVE_DIR is not set"),
        (["r.sh", "1"], {"DATA_BIN": "kept"}, "kept: no dict.txt"),
        (["r.sh", "1"], {"CENTRE": "none.bash"}, "CENTRE=none.bash: no such file; copy "),
    ],
)
def test_what_is_missing_is_said(arguments, variables, words, project):
    done = project.run("pretrain.sh", *arguments, **variables)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and words in done.stderr
    assert done.stderr.count("\n") == 1 and not (project.calls / "python").exists()


def test_a_dry_run_of_the_evaluation_shows_the_job(project):
    """What it prints is what would be done."""
    for name in ("last.pt", "r.yaml"):
        (project.root / name).touch()
    arguments = ["last.pt", "data bin", "r.yaml", "my annotations", "my output"]
    shown = project.run("evaluate.sh", *arguments, "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert not (project.calls / "sbatch").exists() and not (project.root / "my output").exists()
    project.run("evaluate.sh", *arguments)
    submitted = [project.called(name) for name in ("sbatch", "sbatch.input")]
    (project.calls / "sbatch.input").unlink()
    (project.root / "dry.sh").write_text(shown.stdout)
    names = {"DATA_BIN": "", "SAVE_DIR": "", "HF_HUB_OFFLINE": "", "CALLS": str(project.calls)}
    own = os.environ | names | {"PATH": f"{project.root}/bin:{os.environ['PATH']}"}
    subprocess.run(["bash", project.root / "dry.sh"], env=own, check=True, cwd=project.root)
    assert [project.called(name) for name in ("sbatch", "sbatch.input")] == submitted


@pytest.mark.parametrize(
    "arguments", [["a", "b", "c", "d"], ["a", "b", "c", "d", "e", "--wet-run"], ["a", *"bcde", "--dry-run", "f"]]
)
def test_what_evaluation_takes(arguments, project):
    done = project.run("evaluate.sh", *arguments)
    assert done.returncode == 2 and "give CHECKPOINT TOKENIZER RECIPE ANNOTATIONS OUTPUT" in done.stderr


def test_evaluation_needs_its_centre(project):
    (project.root / "r").touch()
    done = project.run("evaluate.sh", "r", "r", "r", "r", "o", CENTRE="none.bash")
    assert done.returncode == 2 and "CENTRE=none.bash: no such file" in done.stderr


def test_evaluation_is_one_job(project):
    """The batch file, run here, exports and fine-tunes; once more, it does neither."""
    for name in ("last.pt", "r.yaml"):
        (project.root / name).touch()
    done = project.run("evaluate.sh", "last.pt", "data bin", "r.yaml", "my annotations", "my output")
    assert done.returncode == 0, done.stderr
    out = project.root / "my output"
    assert project.called("sbatch") == ["--parsable", "--job-name=evaluate", f"--output={out}/%j.log", "--gpus=1"]
    assert done.stdout == f"job 12; log: {out}/12.log\n" and out.is_dir()
    batch = project.calls / "sbatch.input"
    own = os.environ | {"CALLS": str(project.calls), "DATA_BIN": "", "SAVE_DIR": "", "HF_HUB_OFFLINE": "1"}
    subprocess.run(["bash", batch], env=own, check=True, stdin=subprocess.DEVNULL)
    finetune = ["-m", "downstream.finetune", f"{project.root}/r.yaml", "--data", f"{project.root}/my annotations"]
    assert project.called("python") == [*finetune, "--model", f"{out}/model", "--output", f"{out}/ner"]
    (out / "model").mkdir()
    (out / "ner").mkdir()
    (out / "ner" / "metrics.json").touch()
    (project.calls / "python").unlink()
    subprocess.run(["bash", batch], env=own, check=True, stdin=subprocess.DEVNULL)
    assert not (project.calls / "python").exists()
    missing = project.run("evaluate.sh", "none.pt", "data bin", "r.yaml", "my annotations", "my output")
    assert missing.returncode == 2 and "none.pt: no such file" in missing.stderr
