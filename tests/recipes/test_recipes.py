"""The recipes that are shipped say what they do."""

import re
import shutil

import pytest
from recipe_helpers import arguments_of, as_options, recipes_of, run_recipe, start_for

from alibert_fairseq.launch.plan import CPU_ARGUMENTS, check_recipe

SAME_IN_TOY = ("--task", "--criterion", "--optimizer", "--lr-scheduler", "--mask-prob", "--mask-unit", "--segments")
LARGEST_TOY = {"--tokens-per-sample": 64, "--batch-size": 8, "--update-freq": 1, "--max-update": 60}


@pytest.fixture
def options_of(tmp_path):
    """A function: the options a recipe, started as it asks for, gives to fairseq-train."""

    def run(recipe, *arguments, **variables):
        return as_options(arguments_of(recipe, tmp_path, *arguments, **(start_for(recipe, tmp_path) | variables)))

    return run


def test_batches_are_as_large_as_the_recipe_says(repository, options_of):
    """fairseq makes batches of a multiple of --required-batch-size-multiple, 8 unless given."""
    recipes = recipes_of(repository)
    assert len(recipes) >= 12
    for recipe in recipes:
        options = options_of(recipe)
        assert int(options["--batch-size"]) % int(options.get("--required-batch-size-multiple", 8)) == 0, recipe.name


def test_the_launcher_takes_every_recipe(repository):
    for recipe in recipes_of(repository):
        assert check_recipe(recipe) == recipe


def test_a_toy_differs_in_size_only(repository, options_of):
    for recipe in recipes_of(repository):
        real, toy = options_of(recipe), options_of(recipe, "--toy")
        assert {key: toy.get(key) for key in SAME_IN_TOY} == {key: real.get(key) for key in SAME_IN_TOY}, recipe.name
        assert toy["--arch"] == real["--arch"].rpartition("_")[0] + "_tiny"
        assert set(real) - set(toy) <= {"--bf16-autocast"}, recipe.name
        assert {key: int(toy[key]) <= most for key, most in LARGEST_TOY.items()} == dict.fromkeys(LARGEST_TOY, True)
        assert toy["--total-num-update"] == toy["--max-update"]


def test_toy_may_stand_anywhere_and_what_follows_counts(repository, options_of):
    recipe = repository / "recipes" / "pretrain" / "alibert_base.sh"
    options = options_of(recipe, *CPU_ARGUMENTS, "--toy", "--max-update", "7", "--user-dir", "with a space")
    assert options["--arch"] == "alibert_tiny" and "--toy" not in options
    assert (options["--max-update"], options["--user-dir"]) == ("7", "with a space")
    assert options["--distributed-backend"] == "gloo"


def test_a_precision_of_ones_own_takes_the_place_of_the_recipes(repository, options_of):
    recipe = repository / "recipes" / "pretrain" / "alibert_base.sh"
    assert "--bf16-autocast" in options_of(recipe, "--seed", "2")
    own = options_of(recipe, "--fp16", "--fp16-no-flatten-grads")
    assert "--fp16" in own and "--bf16-autocast" not in own


@pytest.mark.parametrize("words", [["--arch", "alibert_modern_small"], ["--arch=alibert_modern_small"]])
def test_another_size_has_the_saves_of_its_size_and_bfloat16_on_a_gpu(words, repository, options_of, tmp_path):
    """As --budget chooses it."""
    recipe = repository / "recipes" / "pretrain" / "tiny_modern.sh"
    tools = ["bash", "dirname"]  # a PATH on which no nvidia-smi is
    for tool in tools:
        (tmp_path / tool).symlink_to(shutil.which(tool))
    on_cpu = options_of(recipe, *words, PATH=str(tmp_path))
    assert ("--bf16-autocast" in on_cpu, on_cpu["--save-interval-updates"]) == (False, "1000")
    (tmp_path / "nvidia-smi").symlink_to(shutil.which("true"))
    on_gpu = options_of(recipe, *words, PATH=str(tmp_path))
    assert ("--bf16-autocast" in on_gpu, on_gpu["--save-interval-updates"]) == (True, "1000")
    assert "--bf16-autocast" not in options_of(recipe, *words, "--cpu", PATH=str(tmp_path))
    published = repository / "recipes" / "pretrain" / "alibert_base.sh"  # its precision does not depend on the machine
    assert "--bf16-autocast" in options_of(published, "--arch", "alibert_large", "--cpu", PATH=str(tmp_path))
    tiny = options_of(recipe, "--arch", "alibert_modern_tiny", PATH=str(tmp_path))
    assert ("--bf16-autocast" in tiny, tiny["--save-interval-updates"]) == (False, "250")


@pytest.mark.parametrize("missing", ["DATA_BIN", "SAVE_DIR"])
def test_a_recipe_says_which_variable_it_lacks(missing, repository, tmp_path):
    done = run_recipe(repository / "recipes" / "pretrain" / "alibert_base.sh", tmp_path, **{missing: ""})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {missing} is not set; ")


STARTING = ["oubiobert_phase2.sh", "oubiobert_continual.sh", "bio_electra_pp.sh"]


@pytest.mark.parametrize("name", STARTING)
def test_a_recipe_that_goes_on_says_from_what(name, repository, tmp_path):
    recipe = repository / "recipes" / "pretrain" / name
    done = run_recipe(recipe, tmp_path)
    assert done.returncode == 2 and re.fullmatch(r"error: FROM is not set; set it to the \w+ .*\.\n", done.stderr)
    for file in ("one.pt", "two.pt"):
        (tmp_path / file).touch()
    done = run_recipe(recipe, tmp_path, FROM=str(tmp_path))
    assert done.returncode == 2 and done.stderr.startswith(f"error: FROM={tmp_path}: neither a checkpoint nor a folder")


@pytest.mark.parametrize("name", [*STARTING, "bioalbert.sh"])
def test_from_is_a_checkpoint_or_the_folder_of_one(name, repository, options_of, tmp_path):
    recipe = repository / "recipes" / "pretrain" / name
    option = "--restore-file" if name == "bio_electra_pp.sh" else "--finetune-from-model"
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "model.pt").touch()
    assert options_of(recipe, FROM=str(folder / "model.pt"))[option] == str(folder / "model.pt")
    assert options_of(recipe, FROM=str(folder))[option] == str(folder / "model.pt")
    (folder / "checkpoint_last.pt").touch()  # the folder is a --save-dir then
    assert options_of(recipe, FROM=str(folder))[option] == str(folder / "checkpoint_last.pt")


@pytest.mark.parametrize("name", ["oubiobert_continual.sh", "bioalbert.sh"])
def test_a_published_model_has_its_own_sizes(name, repository, options_of, tmp_path):
    """hf.load writes them beside its checkpoint; what the user says still counts."""
    folder = tmp_path / "of hf.load"
    folder.mkdir()
    (folder / "checkpoint.pt").touch()
    (folder / "options").write_text("--arch albert_base --encoder-layers 12 --dropout 0.0\n")
    options = options_of(repository / "recipes" / "pretrain" / name, "--dropout", "0.3", FROM=str(folder))
    assert options["--finetune-from-model"] == str(folder / "checkpoint.pt")
    assert (options["--arch"], options["--encoder-layers"], options["--dropout"]) == ("albert_base", "12", "0.3")


def test_bioalbert_refuses_an_albert_of_another_size(repository, tmp_path):
    (tmp_path / "checkpoint.pt").touch()
    (tmp_path / "options").write_text("--arch albert_base --encoder-layers 12\n")
    recipe = repository / "recipes" / "pretrain" / "bioalbert.sh"
    done = run_recipe(recipe, tmp_path, VARIANT="large1", FROM=str(tmp_path))
    assert done.returncode == 2 and done.stderr.startswith(f"error: FROM={tmp_path}: not an ALBERT-large of 24 layers;")


def test_a_continued_recipe_needs_the_options_of_its_model(repository, options_of, tmp_path):
    """Without them fairseq-train would have no --arch."""
    recipe = repository / "recipes" / "pretrain" / "continue.sh"
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "checkpoint.pt").touch()
    remedy = "holds no file 'options'; set it to the folder that hf.load wrote, or copy that file from there."
    for given in (folder / "checkpoint.pt", folder):
        done = run_recipe(recipe, tmp_path, FROM=str(given))
        assert done.returncode == 2 and done.stderr == f"error: FROM={given}: {remedy}\n"
    (folder / "options").write_text("--arch alibert_base\n")
    assert options_of(recipe, FROM=str(folder))["--arch"] == "alibert_base"


CONTINUED = {  # family, variant: learning rate, schedule, task
    ("alibert", ""): ("5e-5", "polynomial_decay", "alibert_mlm"),
    ("alibert", "detour"): ("2e-4", "wsd", "alibert_mlm"),
    ("alibert_modern", ""): ("2e-4", "wsd", "alibert_mlm"),
    ("alibert_modern", "detour"): ("2e-4", "wsd", "alibert_mlm"),
    ("alibert_modern", "detection"): ("2e-4", "wsd", "electra"),
    ("alibert_deberta", ""): ("5e-5", "polynomial_decay", "alibert_mlm"),
    ("electra_deberta", ""): ("5e-5", "polynomial_decay", "electra"),
}


@pytest.fixture
def folder_of(tmp_path):
    """A folder of hf.load, as far as the recipe looks at it."""

    def write(family: str) -> str:
        folder = tmp_path / family
        folder.mkdir()
        (folder / "checkpoint.pt").touch()
        (folder / "options").write_text(f"--arch {family}_base\n")
        return str(folder)

    return write


@pytest.mark.parametrize(("family", "variant"), CONTINUED)
def test_a_continued_recipe_chooses_by_the_family(family, variant, repository, options_of, folder_of):
    recipe = repository / "recipes" / "pretrain" / "continue.sh"
    folder = folder_of(family)
    found = options_of(recipe, FROM=folder, VARIANT=variant)
    assert (found["--lr"], found["--lr-scheduler"], found["--task"]) == CONTINUED[family, variant]
    assert ("--causal-until" in found) == (variant == "detour")
    like_modern = found["--lr-scheduler"] == "wsd"
    assert (found["--optimizer"], found["--alibert-adam-betas"]) == (
        "alibert_adam", "0.9,0.98" if like_modern else "0.9,0.999"
    )  # fmt: skip
    other = options_of(recipe, "--optimizer", "muon", FROM=folder, VARIANT=variant)
    assert other["--optimizer"] == "muon" and not any("adam" in name or name == "--weight-decay" for name in other)
    assert found["--arch"] == ("electra_modern_base" if variant == "detection" else f"{family}_base")


@pytest.mark.parametrize(
    ("family", "variant", "words"),
    [
        ("electra", "detour", "has a generator, and the detour is for one model"),
        ("alibert", "detection", "is for a ModernBERT"),
        ("alibert", "other", "is not detour or detection"),
    ],
)
def test_a_variant_that_does_not_fit_is_refused(family, variant, words, repository, tmp_path, folder_of):
    recipe = repository / "recipes" / "pretrain" / "continue.sh"
    done = run_recipe(recipe, tmp_path, FROM=folder_of(family), VARIANT=variant)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1


def test_detection_of_the_modern_form_starts_from_its_masked_language_model(repository, options_of, tmp_path):
    recipe = repository / "recipes" / "pretrain" / "tiny_modern.sh"
    done = run_recipe(recipe, tmp_path, VARIANT="detection")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: FROM is not set; set it to the checkpoint of this recipe")
    done = run_recipe(recipe, tmp_path, VARIANT="electra")
    assert (done.returncode, done.stderr) == (
        2, "error: VARIANT=electra is not detection; leave it out for masked language modelling.\n"
    )  # fmt: skip
    (tmp_path / "checkpoint_last.pt").touch()
    plain, detection = options_of(recipe), options_of(recipe, VARIANT="detection", FROM=str(tmp_path))
    assert (detection["--task"], detection["--arch"]) == ("electra", "electra_modern_tiny")
    assert detection["--finetune-from-model"] == str(tmp_path / "checkpoint_last.pt")
    own = {"--task", "--criterion", "--arch"}
    assert {key: detection[key] for key in set(plain) & set(detection) - own} == {
        key: plain[key] for key in set(plain) & set(detection) - own
    }


def test_bioalbert_starts_from_random_weights_unless_told(repository, options_of):
    assert "--finetune-from-model" not in options_of(repository / "recipes" / "pretrain" / "bioalbert.sh")


def test_an_interrupted_bio_electra_pp_goes_on_from_its_own_checkpoint(repository, options_of, tmp_path):
    """--restore-file would begin it again, --reset-dataloader read the beginning of the corpus again."""
    recipe = repository / "recipes" / "pretrain" / "bio_electra_pp.sh"
    again = {"--restore-file", "--reset-dataloader", "--reset-meters"}
    assert again < set(options_of(recipe))
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "checkpoint_1_9.pt").touch()  # checkpoint_last.pt may be missing
    assert not again & set(options_of(recipe))


def test_what_the_page_of_the_papers_names_is_there(repository):
    """Every module and every file of docs/reference/papers.md."""
    text = (repository / "docs" / "reference" / "papers.md").read_text(encoding="utf-8")
    modules = set(re.findall(r"python -m ((?:preprocess|downstream|alibert_fairseq)[\w.]*)", text))
    assert len(modules) >= 6
    for module in modules:
        path = repository / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module
    text = re.sub(r"\]\([\w/.]+\.md", "", text)  # tests/project/test_docs.py follows the links
    files = set(re.findall(r"(?:recipes|tests|docs|alibert_fairseq|downstream|preprocess)/[\w/.]*\.\w+", text))
    assert len(files) >= 12
    assert [file for file in sorted(files) if not (repository / file).is_file()] == []
