"""`launch --budget`: which size, batch and number of updates a time allows."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from alibert_common.errors import InputError
from alibert_fairseq.launch import budget
from alibert_fairseq.launch.estimate import Calibrated
from alibert_fairseq.launch.options import parse
from alibert_fairseq.launch.plan import Plan

KEPT = {"recipe": "recipe.sh", "minutes": 60, "world_size": 1, "words": ["--arch", "alibert_modern_tiny"]}
WEIGHTS = {"tiny": 1e6, "small": 1e7, "base": 1e8, "large": 3e8}


def found(size="tiny", seconds=0.5, **changed) -> dict:
    """A calibration on one core: 4,096 tokens in half a second, longer for larger models."""
    weights = WEIGHTS[size]
    return {
        "device": "CPU", "flop": 6 * weights * 4096, "seconds": seconds * weights / 1e6, "sequences": 32,
        "tokens_per_sample": 128, "batch_size": 32, "epoch_tokens": 5_000_000,
        "max_update": 7000, "warmup_updates": 0,
    } | changed  # fmt: skip


def plan(tmp_path, words="--arch alibert_modern_tiny", processes=1, gpu=False) -> Plan:
    recipe = tmp_path / "recipe.sh"
    recipe.write_text(f'fairseq-train data {words} "$@"\n')
    return Plan(recipe, ["--seed", "2"], False, 1, processes, gpu, None, Path("logs"))


def measure(monkeypatch, **of) -> list[str]:
    """Let the calibration find this; the architectures that it is asked for."""
    asked = []

    def calibrate(plan):
        asked.append([word for before, word in pairwise(plan.arguments) if before == "--arch"][-1])
        return Calibrated(found(asked[-1].rpartition("_")[2], **of))

    monkeypatch.setattr(budget, "calibrate", calibrate)
    return asked


def options(plan: Plan) -> dict[str, str]:
    return dict(zip(plan.arguments[::2], plan.arguments[1::2], strict=True))


def test_an_hour_of_a_core_is_for_the_smallest_model(tmp_path, monkeypatch):
    asked = measure(monkeypatch)
    chosen = options(budget.with_budget(plan(tmp_path), 60, keep=False))
    assert asked == ["alibert_modern_tiny", "alibert_modern_small"]
    assert chosen == {
        "--arch": "alibert_modern_tiny", "--batch-size": "32", "--update-freq": "1", "--max-update": "7200",
        "--total-num-update": "7200", "--budget-minutes": "60", "--seed": "2",
    }  # fmt: skip


def test_a_short_time_has_smaller_updates(tmp_path, monkeypatch):
    measure(monkeypatch)
    chosen = options(budget.with_budget(plan(tmp_path), 5, keep=False))
    assert (chosen["--batch-size"], chosen["--max-update"]) == ("16", "1200")


def test_more_time_is_for_a_larger_model_and_larger_updates(tmp_path, monkeypatch):
    measure(monkeypatch, epoch_tokens=10**9)
    chosen = options(budget.with_budget(plan(tmp_path), 60 * 24, keep=False))
    assert chosen["--arch"] == "alibert_modern_tiny"  # 71 M tokens of small are 7 a weight
    measure(monkeypatch, epoch_tokens=10**9, seconds=0.05)
    chosen = options(budget.with_budget(plan(tmp_path), 60 * 24, keep=False))
    tokens = 10 * 24 * 7200 * 4096 / 10
    assert chosen["--arch"] == "alibert_modern_small"
    update = int(chosen["--batch-size"]) * int(chosen["--update-freq"]) * 128
    assert update == 131072 and int(chosen["--batch-size"]) <= 32
    assert int(chosen["--max-update"]) == int(tokens / update)


def test_the_warm_up_is_the_recipes_share_of_the_updates(tmp_path, monkeypatch):
    """10,000 of 125,000 updates are 576 of 7,200; and a short one stays a warm-up."""
    measure(monkeypatch, max_update=125_000, warmup_updates=10_000)
    assert options(budget.with_budget(plan(tmp_path), 60, keep=False))["--warmup-updates"] == "576"
    measure(monkeypatch, max_update=125_000, warmup_updates=2)
    assert options(budget.with_budget(plan(tmp_path), 60, keep=False))["--warmup-updates"] == "1"
    measure(monkeypatch, max_update=0, warmup_updates=2)  # a share of nothing
    assert "--warmup-updates" not in options(budget.with_budget(plan(tmp_path), 60, keep=False))


@pytest.mark.parametrize("save", ["save", ""])
def test_a_choice_that_the_recipe_refuses_is_not_kept(tmp_path, monkeypatch, save):
    monkeypatch.setenv("SAVE_DIR", save and str(tmp_path / save))
    measure(monkeypatch)
    there = budget.calibrate
    refuses = lambda plan: Calibrated({}, "no such option", True) if "--max-update" in plan.arguments else there(plan)  # noqa: E731
    monkeypatch.setattr(budget, "calibrate", refuses)
    with pytest.raises(InputError, match="--budget chose --arch alibert_modern_tiny .*, but no such option"):
        budget.with_budget(plan(tmp_path), 60, keep=True)
    assert not (tmp_path / "save").exists()


def test_a_small_corpus_is_for_a_small_model(tmp_path, monkeypatch):
    """In 40 epochs of 4 million tokens, a model of ten million weights sees 16 a weight."""
    measure(monkeypatch, epoch_tokens=4_000_000, seconds=0.05)
    assert options(budget.with_budget(plan(tmp_path), 60 * 24, keep=False))["--arch"] == "alibert_modern_tiny"


def test_a_corpus_of_unknown_size_is_no_limit(tmp_path, monkeypatch):
    measure(monkeypatch, epoch_tokens=0, seconds=0.05)
    assert options(budget.with_budget(plan(tmp_path), 60 * 24, keep=False))["--arch"] == "alibert_modern_small"


def test_processes_share_an_update(tmp_path, monkeypatch):
    measure(monkeypatch)
    chosen = options(budget.with_budget(plan(tmp_path, processes=4), 60, keep=False))
    assert (chosen["--batch-size"], chosen["--max-update"]) == ("32", "7200")  # 16,384 tokens


@pytest.mark.parametrize(
    ("words", "given", "of", "sentence"),
    [
        ("--arch albert", 60, {}, "--budget chooses among _tiny, _small, _base and _large; its --arch has none"),
        (
            "--arch electra_base",
            1,
            {"seconds": 2},
            "1 minutes are 60 updates here, and .* needs 200; give 4m",
        ),
        ("--arch electra_base", 1, {"seconds": 3000}, "1 minutes are 0 updates here, and .* needs 200; give 5000m"),
        ("--arch electra_base", 60, {"batch_size": None}, "leave --max-tokens out"),
    ],
)
def test_what_fits_no_budget_is_refused(tmp_path, monkeypatch, words, given, of, sentence):
    measure(monkeypatch, **of)
    with pytest.raises(InputError, match=sentence):
        budget.with_budget(plan(tmp_path, words), given, keep=False)


@pytest.mark.parametrize(
    "words", ["--arch electra_small", "-a electra_small", "--max-update=9", "--total-num-update 9"]
)
def test_what_a_budget_chooses_is_not_for_the_user(tmp_path, monkeypatch, words):
    asked = measure(monkeypatch)
    given = replace(plan(tmp_path), arguments=["--seed", "2", *words.split()])
    option = words.replace("=", " ").split()[0]
    with pytest.raises(InputError, match=f"^{option}: --budget chooses it; leave it out, or leave --budget out.$"):
        budget.with_budget(given, 60, keep=False)
    assert not asked


def test_the_last_architecture_of_the_recipe_counts(tmp_path, monkeypatch):
    measure(monkeypatch)
    words = "--arch electra_base --arch alibert_modern_tiny"
    assert options(budget.with_budget(plan(tmp_path, words), 60, keep=False))["--arch"] == "alibert_modern_tiny"


@pytest.mark.parametrize(("variant", "family"), [("", "alibert_modern"), ("detection", "electra_modern")])
def test_the_shipped_recipe_has_the_family_of_its_variant(tmp_path, monkeypatch, repository, variant, family):
    """It names one --arch for each."""
    for name, value in {"DATA_BIN": "data", "SAVE_DIR": "save", "VARIANT": variant, "FROM": __file__}.items():
        monkeypatch.setenv(name, str(value))
    asked = measure(monkeypatch)
    own = replace(plan(tmp_path), recipe=repository / "recipes" / "pretrain" / "tiny_modern.sh")
    assert options(budget.with_budget(own, 60, keep=False))["--arch"] == f"{family}_tiny"
    assert asked == [f"{family}_tiny", f"{family}_small"]


def test_a_recipe_that_calls_another_program_has_the_family_of_its_text(tmp_path, monkeypatch):
    asked = measure(monkeypatch)
    own = plan(tmp_path)
    own.recipe.write_text('true train data --arch electra_base "$@"\n')
    assert options(budget.with_budget(own, 60, keep=False))["--arch"] == "electra_tiny" and len(asked) == 2


def test_a_recipe_may_be_in_latin_1(tmp_path, monkeypatch):
    measure(monkeypatch)
    own = plan(tmp_path)
    own.recipe.write_bytes("# modèle\n".encode("latin-1") + own.recipe.read_bytes())
    assert options(budget.with_budget(own, 60, keep=False))["--arch"] == "alibert_modern_tiny"


def test_what_cannot_be_measured_is_refused(tmp_path, monkeypatch):
    measure(monkeypatch)
    with pytest.raises(InputError, match="run it on a node with a GPU"):
        budget.with_budget(plan(tmp_path, gpu=True), 60, keep=False)
    monkeypatch.setattr(budget, "calibrate", lambda _: Calibrated({}, "the recipe says: error: no data-bin"))
    with pytest.raises(InputError, match="--budget measured nothing: the recipe says: error: no data-bin"):
        budget.with_budget(plan(tmp_path), 60, keep=False)


def test_the_same_command_resumes_with_what_was_chosen(tmp_path, monkeypatch, capsys):
    """The machine may be slower then; another model could not read the checkpoint."""
    monkeypatch.setenv("SAVE_DIR", str(tmp_path / "save"))
    asked = measure(monkeypatch)
    first = budget.with_budget(plan(tmp_path), 60, keep=False)
    assert not (tmp_path / "save").exists()  # a dry run writes nothing
    assert budget.with_budget(plan(tmp_path), 60, keep=True).arguments == first.arguments
    asked.clear()
    measure(monkeypatch, seconds=5)
    assert budget.with_budget(plan(tmp_path), 60, keep=True).arguments == first.arguments and not asked
    assert "budget.json says: --arch alibert_modern_tiny" in capsys.readouterr().out
    (tmp_path / "other.sh").write_text("")
    recipe, four = replace(plan(tmp_path), recipe=tmp_path / "other.sh"), plan(tmp_path, processes=4)
    sentence = (
        "budget.json: is of recipe.sh with --budget 60m and world size 1; give these again, or give another SAVE_DIR.$"
    )
    for other, given in ((plan(tmp_path), 90), (recipe, 60), (four, 60)):
        with pytest.raises(InputError, match=sentence):
            budget.with_budget(other, given, keep=True)


@pytest.mark.parametrize(
    "content",
    ["{", "[]", "{}", '{"minutes": 60, "words": ["--arch"]}']
    + [json.dumps(KEPT | change) for change in ({"words": "3"}, {"words": [3]}, {"minutes": "60"}, {"recipe": None})],
)
def test_a_damaged_choice_is_refused(tmp_path, monkeypatch, content):
    monkeypatch.setenv("SAVE_DIR", str(tmp_path))
    asked = measure(monkeypatch)
    (tmp_path / "budget.json").write_text(content)
    sentence = "budget.json: is damaged; delete it and the checkpoints beside it, or give another SAVE_DIR.$"
    with pytest.raises(InputError, match=sentence):
        budget.with_budget(plan(tmp_path), 60, keep=True)
    assert not asked


def test_a_size_that_a_family_lacks_is_left_out(tmp_path, monkeypatch):
    measure(monkeypatch, seconds=1e-4, epoch_tokens=10**12)
    there = budget.calibrate
    lacks = lambda plan: Calibrated({}, "no such arch", True) if "small" in plan.arguments[-1] else there(plan)  # noqa: E731
    monkeypatch.setattr(budget, "calibrate", lacks)
    chosen = options(budget.with_budget(plan(tmp_path, "--arch albert_base"), 60 * 24, keep=False))
    assert chosen["--arch"] == "albert_large"


def test_a_time_has_a_unit(capsys):
    assert parse(["r.sh", "--budget", "1.5h"]).budget == 90 and parse(["r.sh", "--budget", "55m"]).budget == 55
    for text in ("55", "0m", "m", "-5m"):
        with pytest.raises(SystemExit):
            parse(["r.sh", f"--budget={text}"])
        assert f"{text} is not a time like 55m or 2h" in capsys.readouterr().err
