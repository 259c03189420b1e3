"""`alibert continue`: the ways that fit a family, the commands of each, and which model the table says to keep."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from alibert import continuations
from alibert.continuations import main, other_forms, table, verdict, ways_of
from alibert_common.errors import InputError
from downstream.evaluate.plan import Job

MODERN = "--arch alibert_modern_base --encoder-layers 2"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("--arch alibert_base", ["mlm", "detour"]),
        (MODERN, ["mlm", "detour", "detection"]),
        ("--arch alibert_deberta_base --convolution-width 0", ["mlm", "detour"]),
        ("--arch alibert_deberta_base --convolution-width 3", ["mlm"]),  # it reads later tokens
        ("--arch electra_deberta_base --convolution-width 0", ["detection"]),
        ("--arch electra_base", ["detection"]),
    ],
)
def test_the_ways_that_fit_a_family(options, names):
    ways = ways_of({"start": options})
    assert [way.name for way in ways] == ["published", *names] and ways[0].variant is None
    if options.startswith("--arch electra"):
        assert ways[1].variant == ""  # what continue.sh does by itself


def test_each_way_is_tried_with_the_new_words_too():
    ways = ways_of({"start": MODERN, "start-new-words": MODERN})
    assert [way.name for way in ways[4:]] == ["mlm-new-words", "detour-new-words", "detection-new-words"]
    assert {way.start for way in ways[4:]} == {"start-new-words"}


class Commands:
    """What would be run; each leaves what the next one reads."""

    def __init__(self):
        self.given, self.variables = [], []

    def __call__(self, words, **variables):
        command = [str(word) for word in words]
        self.given.append(command)
        self.variables.append(variables)
        if "--output" in command:
            output = Path(command[command.index("--output") + 1])
            if "downstream.evaluate" in command:
                for name in [Path(word).name for word in command[3 : command.index("--data")]]:
                    write_run(output / "sample" / name, name, [0.5, 0.52] if name == "published" else [0.6, 0.62])
            else:
                output.mkdir(parents=True)
                (output / "options").write_text(MODERN)


def made(place: Path, *names: str) -> list[str]:
    """Empty folders of these names."""
    for name in names:
        (place / name).mkdir()
    return [str(place / name) for name in names]


def write_run(folder: Path, name: str, values: list[float]) -> None:
    """A metrics.json of downstream.finetune, as far as it is read."""
    folder.mkdir(parents=True, exist_ok=True)
    score = {"mean": sum(values) / 2, "deviation": abs(values[0] - values[1]) / 2**0.5, "values": values}
    (folder / "metrics.json").write_text(
        json.dumps(
            {
                "task": "sample", "kind": "ner", "recipe": {}, "data_sha256": "", "num_parameters": 1, "data": [{}],
                "seconds_per_seed": 1, "seeds": [1, 2], "protocol": {}, "dev": {"f1": score}, "selection": None,
                "chief": {"path": ["f1"], "tally": "micro_f1", "counted": None},
                "model": {"folder": name, "architecture": "x", "random_init": False, "frozen": False},
            }
        )
    )  # fmt: skip


@pytest.fixture
def commands(monkeypatch):
    """No command runs, and the data of every task are there."""
    found = Commands()
    monkeypatch.setattr("downstream.evaluate.__main__.refuse", lambda _: None)
    data = {"sample": "a", "sample_raw": "a"}
    jobs = [Job(Path(f"{name}.yaml"), Path(folder), "", [], Path()) for name, folder in data.items()]
    monkeypatch.setattr("downstream.evaluate.plan.plan", lambda _: (jobs, {}))
    monkeypatch.setattr(continuations, "_call", found)
    return found


def test_the_commands_of_a_comparison(commands, tmp_path, capsys):
    folder, mixed = made(tmp_path, "folder", "mixed")
    given = [folder, "--mix", mixed, "--data", "sets", "--minutes", "30", "--output", str(tmp_path / "out")]
    main([*given, "--seeds", "2", "--", "--cpu", "--batch-size", "4"])
    modules = [command[2] if command[1] == "-m" else Path(command[1]).name for command in commands.given]
    assert modules == [
        "alibert_fairseq.hf.load", "preprocess.binarize", "alibert_fairseq.hf.export",
        *["continue.sh", "alibert_fairseq.hf.export"] * 3, "downstream.evaluate",
    ]  # fmt: skip
    recipes = [n for n, command in enumerate(commands.given) if command[0] == "bash"]
    assert [commands.variables[n]["VARIANT"] for n in recipes] == ["", "detour", "detection"]
    for n in recipes:
        assert commands.given[n][2:] == ["--budget-minutes", "30.0", "--cpu", "--batch-size", "4"]
        assert commands.variables[n]["FROM"] == str(tmp_path / "out" / "start")
    evaluated = commands.given[-1][commands.given[-1].index("--dev-only") + 1 :]
    assert evaluated == ["--seeds", "2", "--output", str(tmp_path / "out" / "scores"), "--only", "sample"]
    text_of_run = capsys.readouterr().out
    assert "| published | 0.510 ± 0.014 | 0.510 |" in text_of_run
    text = (tmp_path / "out" / "continuations.md").read_text()
    assert "Keep mlm: it is better than the published model by 0.100 on dev." in text
    assert "== 2 of 4: mlm (0 min, 60 min of training left)" in text_of_run
    before = len(commands.given)
    with pytest.raises(InputError, match="settings.json: of a comparison with other settings; give the same"):
        main([*given, "--new-head"])
    assert len(commands.given) == before


def test_more_seeds_are_scored_without_other_trainings(commands, tmp_path):
    """What the verdict on one seed advises."""
    folder, mixed = made(tmp_path, "folder", "mixed")
    given = [folder, "--mix", mixed, "--data", "sets", "--minutes", "30", "--output", str(tmp_path / "out")]
    main([*given, "--seeds", "1", "--", "--cpu"])
    before = len(commands.given)
    main([*given, "--seeds", "3", "--", "--cpu"])
    (again,) = commands.given[before:]
    assert again[2] == "downstream.evaluate" and again[again.index("--seeds") + 1] == "3"


def test_the_longest_word_and_a_folder_of_recipes(commands, tmp_path):
    """A limit is of the published tokenizer: it is not given where another replaces it."""
    folder, mixed, recipes = made(tmp_path, "folder", "mixed", "recipes")
    given = [folder, "--mix", mixed, "--data", "sets", "--minutes", "30", "--output", str(tmp_path / "out")]
    main([*given, "--longest-word", "100", "--tokenizer", "own", "--recipes", recipes, "--only", "sample,other"])
    loads = [command for command in commands.given if "alibert_fairseq.hf.load" in command]
    assert [command[6:] for command in loads] == [["--longest-word", "100"], ["--tokenizer", "own"]]
    evaluated = commands.given[-1][commands.given[-1].index("--dev-only") + 1 :]
    assert evaluated[:4] == ["--only", "sample,other", "--recipes", recipes]


def test_other_forms_of_a_set_are_left_out():
    data = {"notes": "a", "notes_raw": "a", "notes_cardio": "b", "note": "a"}
    assert other_forms({name: Path(place) for name, place in data.items()}) == ["notes_raw"]


def test_a_command_is_shown_with_its_variables(monkeypatch, capsys):
    monkeypatch.setattr(continuations.subprocess, "Popen", lambda *_, **__: SimpleNamespace(wait=lambda: 0))
    continuations._call(["bash", "continue.sh"], FROM="start", VARIANT="detour")
    assert capsys.readouterr().out == "\nFROM=start VARIANT=detour bash continue.sh\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_training_saves_before_the_command_ends(number, tmp_path):
    """Ctrl-C reaches both, SIGTERM the command alone."""
    work = "sleep 60 >&- 2>&- & wait"  # which keeps no pipe open
    training = f"trap 'sleep 0.5; touch {tmp_path}/saved; exit 75' TERM INT; touch {tmp_path}/begun; {work}"
    program = f"""
from alibert.continuations import _call
from alibert_common.errors import exit_with_sentence
exit_with_sentence(lambda: _call(["bash", "-c", {training!r}]))
"""
    command = subprocess.Popen(
        [sys.executable, "-c", program], start_new_session=True, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell in the background ignores it
    )  # fmt: skip
    end = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    (os.killpg if number == signal.SIGINT else os.kill)(command.pid, number)
    said = command.communicate(timeout=60)[1]
    assert (tmp_path / "saved").exists()
    assert command.returncode == 128 + number and b"give the same command again" in said


def test_new_words_are_read_before_the_text_is_binarized(commands, tmp_path):
    folder, mixed = made(tmp_path, "folder", "mixed")
    given = [folder, "--mix", mixed, "--data", "sets", "--minutes", "30", "--output", str(tmp_path / "out")]
    main([*given, "--add-tokens", "words.txt"])
    modules = [command[2] for command in commands.given]
    assert modules[:4] == ["alibert_fairseq.hf.load"] * 2 + ["preprocess.binarize"] * 2


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (["--minutes", "0.05"], "--minutes 0.05: give 0.1 or more"),
        (["--minutes", "nan"], "--minutes nan: give 0.1 or more"),
        (["--data", "nowhere"], "nowhere: no such folder"),
        (["--only", "quaero_emea"], "no data of quaero_emea in it"),
        (["--seeds", "0"], "--seeds 0: at least one is needed"),
        (["--mix", "absent"], "absent: no such folder; give the published model's, and an output of mix"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_anything_is_trained(changed, words, tmp_path, monkeypatch):
    monkeypatch.setattr(continuations, "_call", lambda *_, **__: pytest.fail("something ran"))
    (tmp_path / "sets").mkdir()
    folder, mixed = made(tmp_path, "x", "m")
    given = [folder, "--mix", mixed, "--data", str(tmp_path / "sets"), "--minutes", "1"]
    given += ["--output", str(tmp_path / "out")]
    with pytest.raises(InputError, match=words):
        main([*given, *changed])
    assert not (tmp_path / "out").exists()


def test_what_is_done_is_not_done_again(commands, tmp_path):
    out = tmp_path / "out"
    for folder in ("start", "data-bin", "published", "mlm"):
        (out / folder).mkdir(parents=True)
    (out / "start" / "options").write_text(MODERN)
    folder, mixed = made(tmp_path, "x", "m")
    given = [folder, "--mix", mixed, "--data", "d", "--minutes", "1", "--output", str(out)]
    with pytest.raises(InputError, match="of a comparison with other settings"):  # what those folders are of
        main(given)
    settings = vars(continuations.parser().parse_args(given)).items()
    settings = {name: str(value) for name, value in settings if name not in ("output", "only", "seeds")} | {
        "options": []
    }
    (out / "settings.json").write_text(json.dumps(settings))
    main(given)
    assert len([command for command in commands.given if command[0] == "bash"]) == 2
    assert not any("alibert_fairseq.hf.load" in command for command in commands.given)


@pytest.mark.parametrize(
    ("means", "words"),
    [
        ({"published": (0.6, 0.01), "mlm": (0.5, 0.01)}, "Keep the published model: none"),
        ({"published": (0.5, 0.01), "mlm": (0.52, 0.01)}, "Keep the published model: mlm is better by 0.020"),
        ({"published": (0.5, 0.01), "mlm": (0.53, 0.01), "detour": (0.51, 0.0)}, "Keep mlm: .* by 0.030"),
        ({"published": (0.5, None), "mlm": (0.6, None)}, "Best on dev: mlm, by 0.100. One seed shows no noise"),
    ],
)
def test_the_verdict(means, words):
    assert re.match(words, verdict(means))


def test_a_model_that_lacks_a_set_has_no_mean(tmp_path):
    write_run(tmp_path / "sample" / "published", "published", [0.5, 0.6])
    text = table(tmp_path, ["published", "mlm"], ["sample"], 5)
    assert "| mlm |  |  |" in text and "5 min of training each" in text
