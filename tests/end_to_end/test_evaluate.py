"""One command, every task whose data are there, and the report; broken off, it goes on to the same figures."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_models import write_roberta
from tiny_tasks import text, with_its_organ, write_lines

from alibert_common.errors import InputError
from downstream.evaluate import run_commands
from downstream.evaluate.__main__ import build_parser, main
from downstream.evaluate.plan import plan
from downstream.evaluate.pretraining import seen_before
from downstream.evaluate.worker import Worker

ENTITIES = """
task: organs
format: jsonl
folder: organs_of_today
splits: {train: train.jsonl, dev: dev.jsonl, test: test.jsonl}
types: [anatomy]
"""
PAIRS = """
task: alike
kind: similarity
format: table
reader: {first: first, second: second, score: score}
folder: alike
splits: {train: train.tsv, dev: dev.tsv, test: test.tsv}
"""
PROTOCOL = "{batch: 2, learning_rate: 1.0e-2, epochs: 4, seeds: 2, source: chosen so that a tiny model learns}"
SPLITS = {"train": range(16), "dev": range(30, 36), "test": range(40, 46)}


def pair(number: int) -> str:
    return f"{text(number)}\t{text(number + number % 4)}\t{number % 4}"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """recipes/ with two tasks, data/ with theirs at two depths, encoder/."""
    root = tmp_path_factory.mktemp("evaluate")
    (root / "recipes" / "protocols").mkdir(parents=True)
    (root / "recipes" / "protocols" / "p.yaml").write_text(PROTOCOL)
    (root / "recipes" / "organs.yaml").write_text(ENTITIES)
    (root / "recipes" / "alike.yaml").write_text(PAIRS)
    for name, numbers in SPLITS.items():
        write_lines(root / "data" / "fr" / "organs_of_today" / f"{name}.jsonl", map(with_its_organ, numbers))
        write_lines(root / "data" / "alike" / f"{name}.tsv", ["first\tsecond\tscore", *map(pair, numbers)])
    write_roberta(root / "encoder")
    return root


class KeptWorker(Worker):
    """`close` ends its jobs, and it waits for the next evaluation. A single job prints to the file `said`."""

    said: Path

    def start(self, command: list[str], log: Path | None, threads: int | None) -> int:
        return super().start(command, log or self.said, threads)

    def close(self) -> None:
        self._ask({"end": True})


@pytest.fixture(scope="module", autouse=True)
def one_worker(tmp_path_factory):
    """For the evaluations in this process: each would import torch and transformers anew."""
    kept = KeptWorker()
    kept.said = tmp_path_factory.mktemp("worker") / "said"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_commands, "Worker", lambda: kept)
        yield kept
    Worker.close(kept)


def words(place: Path, output: Path, *more) -> list[str]:
    given = [place / "encoder", "--data", place / "data", "--recipes", place / "recipes", "--output", output]
    return [str(word) for word in (*given, "--protocol", "p", "--device", "cpu", *more)]


@pytest.fixture(scope="module")
def undisturbed(place, tmp_path_factory) -> Path:
    """An output of all tasks, with baselines, two at a time."""
    output = tmp_path_factory.mktemp("undisturbed")
    baselines = ["--baselines", "majority", "--jobs", "2"]
    main(
        words(place, output, *baselines, "--pretraining-text", place / "data" / "fr" / "organs_of_today" / "test.jsonl")
    )
    return output


def scores(output: Path) -> dict[str, dict]:
    """Of each run, without its times."""
    found = {file.parent: json.loads(file.read_text()) for file in output.glob("*/*/metrics.json")}
    kept = ("dev", "test", "seeds", "model", "protocol", "data_sha256")
    return {str(path.relative_to(output)): {key: one.get(key) for key in kept} for path, one in found.items()}


def test_every_task_and_baseline_that_serves_it_is_scored(undisturbed):
    assert set(scores(undisturbed)) == {
        "organs/encoder-p",
        "organs/majority",
        "alike/encoder-p",
        "alike/majority",
    }
    assert scores(undisturbed)["organs/encoder-p"]["seeds"] == [1, 2]


def test_the_report_has_them_all(undisturbed):
    page = (undisturbed / "report.md").read_text()
    for name in ("organs", "alike", "encoder", "majority"):
        assert name in page
    assert "<html" in (undisturbed / "report.html").read_text()


def test_a_protocol_with_a_grid_is_searched_and_the_report_says_so(place, tmp_path):
    searched = PROTOCOL.replace("epochs: 4, seeds: 2", "grid: {epochs: [1, 4]}, seeds: 1")
    (place / "recipes" / "protocols" / "open.yaml").write_text(searched)
    more = ["--protocol", "open", "--only", "organs", "--jobs", "2"]
    main(words(place, tmp_path, *more))
    metrics = json.loads((tmp_path / "organs" / "encoder-open" / "metrics.json").read_text())
    selection = json.loads((tmp_path / "organs" / "encoder-open-search" / "selection.json").read_text())
    assert metrics["selection"]["by"] == "search" and metrics["selection"]["settings"] == selection["settings"]
    assert metrics["seeds"] == [1] and "open" in (tmp_path / "report.md").read_text()
    log = tmp_path / "organs" / "encoder-open.log"
    told = log.read_text()
    assert told.index("trial 2/2: epochs ") < told.index("chosen: epochs ") < told.index("seed-1: micro f1")
    stamp = (tmp_path / "organs" / "encoder-open" / "seed-1" / "metrics.json").stat().st_mtime_ns
    main(words(place, tmp_path, *more))
    assert (tmp_path / "organs" / "encoder-open" / "seed-1" / "metrics.json").stat().st_mtime_ns == stamp
    assert "2 of 2 trials were finished before" in log.read_text()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_patients_in_several_splits_are_named(place, tmp_path, one_worker, capfd, jobs):
    """The number of a line is its patient; of two jobs at a time, the log has the warning and the report the table."""
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "protocols").symlink_to(place / "recipes" / "protocols")
    (tmp_path / "recipes" / "organs.yaml").write_text(ENTITIES + 'patient_pattern: "-(.+)$"\n')
    more = ["--recipes", str(tmp_path / "recipes"), "--seeds", "1", "--jobs", jobs]
    main([*words(place, tmp_path / "out"), *more])
    said = one_worker.said if jobs == "1" else tmp_path / "out" / "organs" / "encoder-p.log"
    assert "warning: organs: 6 patients are in train and test (1, 2, 3 and 3 more); " in said.read_text()
    for page in (capfd.readouterr().out, (tmp_path / "out" / "report.md").read_text()):
        assert "| organs | train and test | 6 | 1, 2, 3 and 3 more |" in page


def test_sentences_of_the_pretraining_text_are_counted(undisturbed):
    found = json.loads((undisturbed / "pretraining_text.json").read_text())["tasks"]
    assert set(found) == {"organs", "alike"} and all(one["sentences"] for one in found.values())


def test_text_that_has_changed_is_read_again(place, tmp_path):
    write_lines(tmp_path / "text.txt", ["Rien de ce que l'on cherche n'est dans cette ligne."])
    given = words(place, tmp_path / "out", "--only", "organs", "--pretraining-text", tmp_path / "text.txt")
    asked = build_parser().parse_args(given)
    jobs, _ = plan(asked)
    for found, more in ((0, []), (1, [text(41)])):
        write_lines(tmp_path / "text.txt", more)
        seen_before(jobs, asked.pretraining_text, tmp_path / "found.json")
        assert json.loads((tmp_path / "found.json").read_text())["tasks"]["organs"]["found"] == found


def test_what_was_found_of_other_tasks_in_the_same_text_stays(place, tmp_path, monkeypatch):
    write_lines(tmp_path / "text.txt", [text(41)])
    output = tmp_path / "found.json"

    def look(task: str) -> dict:
        more = ["--only", task, "--pretraining-text", tmp_path / "text.txt"]
        asked = build_parser().parse_args(words(place, tmp_path / "out", *more))
        seen_before(plan(asked)[0], asked.pretraining_text, output)
        return json.loads(output.read_text())["tasks"]

    organs = look("organs")
    both = look("alike")
    assert set(both) == {"organs", "alike"} and both["organs"] == organs["organs"]
    monkeypatch.setattr("downstream.evaluate.pretraining.in_files", lambda *_: pytest.fail("looked for again"))
    assert look("organs") == both
    monkeypatch.undo()
    write_lines(tmp_path / "text.txt", ["Rien de ce que l'on cherche n'est dans cette ligne."])
    assert set(look("organs")) == {"organs"}


def test_what_is_finished_is_not_done_again(place, undisturbed, one_worker, capfd):
    before = {file: file.stat().st_mtime_ns for file in undisturbed.glob("*/*/seed-*/metrics.json")}
    main(words(place, undisturbed, "--only", "organs"))
    assert {file: file.stat().st_mtime_ns for file in before} == before
    said = one_worker.said.read_text(encoding="utf-8")
    assert "seed-2: micro f1 on dev" in said and said.count("(finished before)") == 2
    assert re.search(r"== 1 of 1 \(\d+ min\): organs, encoder-p: micro f1 on test", capfd.readouterr().out)


@pytest.mark.long
def test_killed_and_started_again_it_ends_like_one_left_in_peace(place, undisturbed, tmp_path):
    """By SIGKILL, in the midst of a seed; the training that it leaves behind goes on, and is waited for."""
    command = [sys.executable, "-m", "downstream.evaluate", *words(place, tmp_path / "out", "--only", "alike")]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    wait_for(lambda: list(tmp_path.glob("out/alike/encoder-p/seed-1")))
    killed.kill()
    killed.wait()
    assert not (tmp_path / "out" / "report.md").exists()
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "(finished before)" in done.stdout
    assert scores(tmp_path / "out") == {"alike/encoder-p": scores(undisturbed)["alike/encoder-p"]}


def test_stopped_it_leaves_nobody_behind(place, tmp_path):
    command = [sys.executable, "-m", "downstream.evaluate", *words(place, tmp_path / "out", "--jobs", "2")]
    stopped = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_for(lambda: len(trainings(stopped.pid)) == 2)
    left = trainings(stopped.pid)
    stopped.terminate()
    assert stopped.wait(60) == 128 + signal.SIGTERM
    assert len(left) == 2 and not any(alive(pid) for pid in left)


def trainings(pid: int) -> list[int]:
    """The forks of the worker of an evaluation."""
    return [fork for worker in children(pid) for fork in children(worker)]


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(ready, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_one_that_fails_does_not_keep_the_others(place, tmp_path, capfd):
    data = tmp_path / "data"
    for folder in ("fr/organs_of_today", "alike"):
        (data / folder).parent.mkdir(parents=True, exist_ok=True)
        (data / folder).symlink_to(place / "data" / folder)
    (data / "alike").unlink()
    write_lines(data / "alike" / "train.tsv", ["first\tsecond\tscore", "le foie\tle rein\tbeaucoup"])
    for name in ("dev", "test"):
        (data / "alike" / f"{name}.tsv").write_text((place / "data" / "alike" / f"{name}.tsv").read_text())
    given = [*words(place, tmp_path / "out", "--jobs", "2"), "--data", str(data)]
    with pytest.raises(InputError, match=r"1 of 2 did not end well: alike \(encoder-p\)"):
        main(given)
    assert set(scores(tmp_path / "out")) == {"organs/encoder-p"}
    assert "organs" in (tmp_path / "out" / "report.md").read_text()
    assert "did not end well: error: " in (said := capfd.readouterr().out) and "train.tsv, line 2" in said


def test_what_is_not_there_is_said(place, tmp_path, capsys):
    with pytest.raises(InputError, match="the data of no recipe"):
        main([*words(place, tmp_path), "--data", str(tmp_path)])
    assert "organs: no folder organs_of_today with its splits below" in capsys.readouterr().out
    with pytest.raises(InputError, match="the data of organs are not in it"):
        main([*words(place, tmp_path, "--only", "organs"), "--data", str(tmp_path)])
    with pytest.raises(InputError, match="nowhere: no such folder; give --data"):
        main([*words(place, tmp_path), "--data", "nowhere"])
