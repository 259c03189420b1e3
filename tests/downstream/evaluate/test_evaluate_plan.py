"""What downstream.evaluate would run, and what it refuses before it runs anything."""

from pathlib import Path

import pytest
from tiny_models import write_roberta

from alibert_common.errors import InputError
from downstream.data.data_folder import find
from downstream.evaluate import __main__ as command
from downstream.evaluate import run_commands
from downstream.evaluate.plan import Job, plan
from downstream.evaluate.run_commands import _ending
from downstream.learners import registry
from downstream.tasks import load_task

RECIPE = (
    "task: {task}\nfolder: {task}\nformat: {format}\nsplits: {{train: a.jsonl, dev: b.jsonl, test: c.jsonl}}\n{more}"
)
FINETUNE, SEARCH = "downstream.finetune", "downstream.search"
KINDS = {
    "spans": ("jsonl", "types: [anatomy]"),
    "texts": ("table", "kind: classification\nlabels: [good, bad]\nreader: {text: text, label: label}"),
    "ranks": ("ranking", "kind: ranking\nreader: {question: a, candidate: b, right: c}"),
}


@pytest.fixture
def place(tmp_path) -> Path:
    (tmp_path / "recipes").mkdir()
    for task in KINDS:
        (tmp_path / "recipes" / f"{task}.yaml").write_text(recipe_of(task, KINDS[task]))
        with_splits(tmp_path / "data" / "fr" / task)
    return tmp_path


def recipe_of(task: str, kind: tuple[str, str]) -> str:
    form, more = kind
    return RECIPE.format(task=task, format=form, more=more)


def with_splits(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in "abc":
        (folder / f"{name}.jsonl").touch()
    return folder


def parsed(place: Path, *more: str):
    given = ["models/encoder", "--data", str(place / "data"), "--recipes", str(place / "recipes"), "--output", "out"]
    return command.build_parser().parse_args([*given, *more])


def learners(place: Path, *more: str) -> dict[str, list[str]]:
    """By task."""
    found: dict[str, list[str]] = {}
    for job in plan(parsed(place, *more))[0]:
        found.setdefault(job.recipe.stem, []).append(job.learner)
    return found


def test_a_set_without_its_test_split_is_for_dev_alone(place):
    (place / "data" / "fr" / "ranks" / "c.jsonl").unlink()
    assert "ranks" not in learners(place) and "ranks" in learners(place, "--dev-only")


def test_each_baseline_where_it_serves_the_task(place):
    found = learners(place, "--baselines", "all")
    of_model = ["encoder-tuned", "encoder-random-tuned", "encoder-frozen-tuned"]
    assert found["spans"] == [*of_model, "encoder-as-tagger", "majority", "dictionary", "crf", "crf_clusters", "rnn"]
    assert found["texts"] == [*of_model, "encoder-as-label-attention", "majority", "tfidf_svm", "cnn", "rnn"]
    assert found["ranks"] == [
        *of_model,
        "encoder-as-bi-encoder",
        "encoder-cosine",
        "majority",
        "tfidf_cosine",
        "tfidf_svm",
        "cnn",
        "rnn",
    ]
    assert {"random", "frozen", "cosine", "dictionary", "crf"} < set(registry.EVALUATED)


def test_random_weights_are_of_the_first_model_and_a_probe_is_of_each(place):
    found = learners(place, "--only", "spans", "--baselines", "random,frozen", "--quick")
    assert found["spans"] == ["encoder-quick", "encoder-random-quick", "encoder-frozen-quick"]
    both = command.build_parser().parse_args(
        ["a/one", "a/two", "--data", str(place), "--recipes", str(place / "recipes")]
    )
    both.baselines = "random,frozen"
    names = [job.learner for job in plan(both)[0] if job.recipe.stem == "spans"]
    assert names == ["one-tuned", "one-random-tuned", "one-frozen-tuned", "two-tuned", "two-frozen-tuned"]


def test_a_command_has_what_it_was_asked_for(place):
    more = ["--baselines", "majority,rnn", "--only", "texts", "--quick", "--device", "cpu", "--dev-only"]
    encoder, majority, rnn = plan(parsed(place, *more))[0]
    recipe, data = str(place / "recipes" / "texts.yaml"), str(place / "data" / "fr" / "texts")
    common = ["--data", data, "--output", "out/texts/{}", "--seeds", "1", "--dev-only"]
    cpu = ["--device", "cpu"]
    named = [word.format("encoder-quick") for word in common]
    assert encoder.commands == [[FINETUNE, recipe, "--model", "models/encoder", "--protocol", "quick", *named, *cpu]]
    named = [word.format("majority") for word in common]
    assert majority.commands == [[FINETUNE, recipe, "--baseline", "majority", *named]]
    named = [word.format("rnn-quick") for word in common]
    assert rnn.commands == [[FINETUNE, recipe, "--baseline", "rnn", "--protocol", "vectors_quick", *named, *cpu]]


def test_a_quick_look_has_a_budget_for_networks_over_vectors_too(place):
    jobs = plan(parsed(place, "--baselines", "all", "--quick", "--only", "texts", "--device", "cpu"))[0]
    names = ["majority", "tfidf_svm", "cnn-quick", "rnn-quick"]
    assert [job.learner for job in jobs][3:] == names
    for name, job in zip(names, jobs[3:], strict=True):
        network = name.endswith("quick")
        [words] = job.commands
        assert (words[4:6] == ["--protocol", "vectors_quick"]) == network == ("--device" in words)


def test_overwrite_is_every_commands(place):
    whole = plan(parsed(place, "--baselines", "all"))[0]
    anew = plan(parsed(place, "--baselines", "all", "--overwrite"))[0]
    assert [job.commands for job in anew] == [[[*words, "--overwrite"] for words in job.commands] for job in whole]


def test_the_seeds_are_the_protocols_unless_they_are_given(place):
    assert "--seeds" not in plan(parsed(place))[0][0].commands[-1]
    [given] = plan(parsed(place, "--quick", "--seeds", "3"))[0][0].commands
    assert given[given.index("--seeds") + 1] == "3"


def test_what_a_protocol_leaves_to_choose_is_searched_for_first(place):
    more = ["--protocol", "oubiobert", "--baselines", "random,majority", "--only", "texts", "--device", "cpu"]
    encoder, random, majority = plan(parsed(place, *more, "--seeds", "2", "--dev-only", "--overwrite"))[0]
    recipe, data = str(place / "recipes" / "texts.yaml"), ["--data", str(place / "data" / "fr" / "texts"), "--output"]
    scoring = ["--seeds", "2", "--dev-only", "--device", "cpu", "--overwrite"]
    for job, name, how in ((encoder, "encoder", []), (random, "encoder-random", ["--random-init"])):
        found, model = f"out/texts/{name}-oubiobert-search", ["--model", "models/encoder"]
        grid = ["--protocol", "oubiobert"]
        search, training = job.commands
        assert search == [SEARCH, recipe, *model, *grid, *how, *data, found, "--device", "cpu", "--overwrite"]
        chosen = ["--selection", f"{found}/selection.json"]
        assert training == [FINETUNE, recipe, *model, *chosen, *how, *data, str(job.output), *scoring]
    assert len(majority.commands) == 1


def test_a_tagger_is_searched_for_where_its_own_protocol_leaves_something_to_choose(place):
    asked = place, "--protocol", "oubiobert", "--baselines", "tagger", "--only", "spans"
    recipe, data = str(place / "recipes" / "spans.yaml"), ["--data", str(place / "data" / "fr" / "spans"), "--output"]
    model = ["--model", "models/encoder", "--form", "tagger"]
    encoder, tagger = plan(parsed(*asked))[0]
    assert [words[0] for words in encoder.commands] == [SEARCH, FINETUNE]
    assert tagger.commands == [[FINETUNE, recipe, *model, "--protocol", "tagger", *data, str(tagger.output)]]
    (place / "recipes" / "protocols").mkdir()
    own = "source: a test\nbatch: 8\nepochs: 1\ngrid: {learning_rate: [1.0e-3, 2.0e-3]}\n"
    (place / "recipes" / "protocols" / "tagger.yaml").write_text(own)
    encoder, tagger = plan(parsed(place, "--baselines", "tagger", "--only", "spans"))[0]
    assert [words[0] for words in encoder.commands] == [FINETUNE]
    found = "out/spans/encoder-as-tagger-search"
    chosen = ["--selection", f"{found}/selection.json"]
    assert tagger.commands == [
        [SEARCH, recipe, *model, "--protocol", "tagger", *data, found],
        [FINETUNE, recipe, *model, *chosen, *data, str(tagger.output)],
    ]


def test_a_protocol_that_nobody_knows_is_refused_before_anything_runs(place):
    with pytest.raises(InputError, match="protocols/haste.yaml: no such protocol; there are: alibert, "):
        plan(parsed(place, "--protocol", "haste"))


def test_a_set_is_found_at_any_depth_with_all_its_splits(place, tmp_path):
    recipe = load_task(place / "recipes" / "spans.yaml").recipe
    assert find(recipe, place / "data") == place / "data" / "fr" / "spans"
    assert find(recipe, place / "data" / "fr" / "spans") == place / "data" / "fr" / "spans"
    (place / "data" / "fr" / "spans" / "b.jsonl").unlink()
    assert find(recipe, place / "data") is None
    deeper = with_splits(place / "data" / "x" / "y" / "spans")
    assert find(recipe, place / "data") == deeper
    assert find(recipe, place.parent / "nowhere") is None


def test_a_recipe_without_a_folder_is_not_run(place):
    file = place / "recipes" / "own.yaml"
    file.write_text(recipe_of("own", KINDS["spans"]).replace("folder: own\n", ""))
    jobs, missing = plan(parsed(place))
    assert "own" not in {job.recipe.stem for job in jobs} and not missing
    with pytest.raises(InputError, match="own.yaml: has no `folder` to look for"):
        plan(parsed(place, "--only", "own"))


@pytest.mark.parametrize(
    "more, words",
    [
        (["--only", "spans,nothing"], "no recipe nothing; there are: ranks, spans, texts"),
        (["--baselines", "crf,luck"], "there is no luck; there are: random, frozen"),
        (["--quick", "--protocol", "tuned"], "leave out --protocol, or --quick"),
        (["--dev-only", "--pretraining-text", "x"], "leave one out"),
        (["--pretraining-text", "not/there"], "not/there: no such file, nor a folder of .txt files"),
        (["--jobs", "0"], "--jobs 0: at least one"),
        (["--seeds", "0"], "--seeds 0: at least one"),
    ],
)
def test_what_cannot_be_is_refused(place, more, words):
    given = ["encoder", "--data", str(place / "data"), "--recipes", str(place / "recipes"), *more]
    with pytest.raises(InputError) as refused:
        command.main(given)
    assert words in str(refused.value)


@pytest.fixture
def reported(monkeypatch) -> list[tuple]:
    """What the report is called with, once for each command."""
    found: list[list[str]] = []
    monkeypatch.setattr("downstream.report.print_and_write", lambda *given: found.append(given))
    return found


def test_text_that_is_not_utf8_is_refused_with_its_line_before_anything_is_trained(place, monkeypatch, tmp_path):
    monkeypatch.setattr(run_commands, "run", lambda *_: pytest.fail("trained"))
    write_roberta(tmp_path / "encoder")
    (tmp_path / "bad.txt").write_bytes("une ligne\nd’été\n".encode() + b"d'\xe9t\xe9\n")
    given = [str(tmp_path / "encoder"), "--data", str(place / "data"), "--recipes", str(place / "recipes")]
    with pytest.raises(InputError, match=r"bad.txt, line 3: 0xe9 is not UTF-8; convert the file"):
        command.main([*given, "--pretraining-text", str(tmp_path / "bad.txt")])


@pytest.mark.parametrize("error", [InputError("bad.txt: not UTF-8; convert it."), FileNotFoundError("bad.txt")])
def test_the_report_is_written_where_the_pretraining_text_cannot_be_searched(place, monkeypatch, reported, error):
    def fails(*_):
        raise error

    monkeypatch.setattr("downstream.evaluate.pretraining.seen_before", fails)
    args = parsed(place, "--pretraining-text", "bad.txt")
    first, second, third = plan(args)[0]
    with pytest.raises(InputError) as said:
        command.tell(args, [first, third], [second])
    failed = f"1 of 3 did not end well: {second.recipe.stem} (encoder-tuned); correct, and run again."
    assert str(said.value) == f"{failed} The pretraining text is not in the report: {error}"
    assert reported == [([first.output, third.output], Path("out"))]


def test_two_models_of_one_name_are_refused(place):
    with pytest.raises(InputError, match="a/model and b/model: folders of one name"):
        command.main(["a/model", "b/model", "--data", str(place), "--recipes", str(place / "recipes")])


def test_models_that_cannot_be_used_are_refused_before_any_training(place, monkeypatch, tmp_path):
    monkeypatch.setattr(run_commands, "run", lambda *_: pytest.fail("trained"))
    write_roberta(tmp_path / "one")
    given = [str(tmp_path / "one"), "nowhere/two", "--data", str(place / "data"), "--recipes", str(place / "recipes")]
    with pytest.raises(InputError, match=r"^nowhere/two: no such folder"):
        command.main(given)
    given.remove("nowhere/two")
    (tmp_path / "one" / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match=r"one/tokenizer.json: not usable"):
        command.main(given)


def test_two_trainings_with_one_output_are_refused(place):
    args = parsed(place, "--baselines", "random", "--only", "spans")
    args.models = [Path("a/one"), Path("a/one-random")]
    with pytest.raises(
        InputError, match=r"spans.yaml \(one-random-tuned\) and .*spans.yaml \(one-random-tuned\): both"
    ):
        plan(args)
    (place / "recipes" / "again.yaml").write_text(recipe_of("spans", KINDS["spans"]))
    with pytest.raises(InputError, match=r"both would be written to out/spans/encoder-tuned; give one of the recipes"):
        plan(parsed(place))


def test_a_score_that_the_report_would_refuse_is_a_failure_of_its_own(tmp_path):
    (tmp_path / "metrics.json").write_text('{"task": "t", "test": {}}')
    well, said = _ending(Job(tmp_path / "t.yaml", tmp_path, "m", [], tmp_path), 0, 1)
    assert not well and said.startswith(f"did not end well: {tmp_path}/metrics.json: not written by")


def test_the_last_line_of_a_log_says_what_went_wrong(tmp_path):
    job = Job(tmp_path / "t.yaml", tmp_path, "m", [], tmp_path / "out")
    (tmp_path / "out.log").write_text("seed-1\nerror: no data.\n")
    assert _ending(job, 2, 2) == (False, f"did not end well: error: no data. ({tmp_path}/out.log)")
    assert _ending(job, -9, 1) == (False, "was killed by SIGKILL: see above")


class EndsAfterALook:
    """A worker whose every command still runs when it is looked at first, and has ended well at the next look."""

    def __init__(self):
        self.started, self.codes = [], []

    def start(self, command, log, threads) -> int:
        self.started.append(command)
        self.codes = [None]
        return 1

    def poll(self, number: int) -> int | None:
        return self.codes.pop() if self.codes else 0

    def close(self) -> None:
        pass


def test_a_search_that_ends_between_two_looks_is_followed_by_its_training(monkeypatch, tmp_path):
    worker = EndsAfterALook()
    monkeypatch.setattr(run_commands, "POLL_SECONDS", 0)
    monkeypatch.setattr(run_commands, "Worker", lambda: worker)
    monkeypatch.setattr(run_commands, "_ending", lambda *_: (True, "well"))
    assert run_commands.run([Job(tmp_path / "t.yaml", tmp_path, "m", [["search"], ["finetune"]], tmp_path)]) == []
    assert worker.started == [["search"], ["finetune"]]
