"""The long campaigns in short: what can be seen of them without running them whole."""

import importlib.util
import json
import os
import random
import re
import subprocess
import sys

import numpy as np
import pytest
from text_helpers import CASED, trained

from preprocess.compare_tokenizers import study_of
from preprocess.tokenizer_study.candidates import load_candidates
from preprocess.tokenizer_study.samples import Term


@pytest.fixture
def campaign(repository, monkeypatch):
    """A function that loads a script of tests/campaigns."""
    monkeypatch.syspath_prepend(str(repository / "tests" / "campaigns"))

    def load(name):
        spec = importlib.util.spec_from_file_location(name, repository / "tests" / "campaigns" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize("name", ["bad_input_mutations", "objective_mutations", "published_mutations"])
def test_every_mutation_finds_its_code_and_its_test(campaign, repository, name):
    for one in campaign(name).MUTATIONS:
        assert (repository / one.file).read_text(encoding="utf-8").count(one.text) == 1, one
        for test in one.test.split():
            file, _, name = test.partition("::")
            text = (repository / file).read_text(encoding="utf-8")
            assert not name or f"def {name.partition('[')[0]}(" in text, one


def test_curves_are_read_from_a_log_and_drawn(campaign, tmp_path, monkeypatch):
    line = "2026-01-01 10:00:00 | INFO | train_inner | epoch 001:  {0} / 90 loss={1}, {2}num_updates={0}, wall={3}\n"
    mlm = "".join(line.format(update, 9 - update / 50, "", update) for update in (50, 100))
    electra = "".join(
        line.format(update, 47.5, f"generator_loss_nats=5.5, discriminator_auc=0.{update}, ", update)
        for update in (50, 60)
    )
    (tmp_path / "mlm.log").write_text(f"noise\n{mlm}")
    (tmp_path / "electra.log").write_text(electra)
    module = campaign("training_curves")
    points = module.read_curve(tmp_path / "mlm.log")
    assert [module.loss_in_bits(point) for point in points] == [8.0, 7.0] and points[1]["wall"] == 100
    assert module.loss_in_bits(module.read_curve(tmp_path / "electra.log")[0]) == pytest.approx(7.9348, abs=1e-4)
    logs = [str(tmp_path / "mlm.log"), str(tmp_path / "electra.log")]
    monkeypatch.setattr(sys, "argv", ["training_curves", *logs, "--output", str(tmp_path / "curves.png")])
    module.main()
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def lamb_adam(campaign, tmp_path):
    """lamb_adam_curves, and a folder as the campaign leaves it.

    Adam's loss falls from 10 by 1 in 40 updates, LAMB's by 2; so do the generator's from 9, where the whole loss rises.
    """
    line = "2026-01-01 10:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss {1} | {2}num_updates {0}{3}\n"
    electra = "generator_loss_nats {0} | discriminator_auc 0.6 | "
    for objective, rises, more in (("mlm", -1, ""), ("electra", 1, electra)):
        for name, fall, last in (("adam-2e-3", 1, 400), ("adam-1e-3", 0.5, 80), ("lamb-1e-2", 2, 400)):
            falls = {update: fall * update / 40 for update in range(20, last + 1, 20)}
            lines = [
                line.format(update, 10 + rises * x, more.format(9 - x), " | best_loss 1" * (update > 20))
                for update, x in falls.items()
            ]
            (tmp_path / f"{objective}-{name}.log").write_text("noise\n" + "".join(lines))
    busy = {"adam": ([0.9, 0.9, 0.9], [0.1, 0.1, 0.5]), "lamb": ([1.9, 0.9, 1.9], [0.35, 0.35, 0.35])}  # rest, step
    costs = [
        {"name": f"{objective}-{name}", "update": np.add(rest, step).tolist(), "step": step}
        for objective in ("mlm", "electra")
        for name, (rest, step) in busy.items()
    ]
    (tmp_path / "cost.jsonl").write_text("".join(json.dumps(cost) + "\n" for cost in costs))
    (tmp_path / "dict.txt").write_text("a 2\nb 1\n")
    np.array([4, 2, 4], dtype=np.uint16).tofile(tmp_path / "train.bin")
    np.array([4, 5, 2], dtype=np.uint16).tofile(tmp_path / "valid.bin")
    return campaign("lamb_adam_curves")


def test_lamb_and_adam_compare_at_equal_updates_time_and_loss(lamb_adam, tmp_path, monkeypatch, capsys):
    arguments = [str(tmp_path), str(tmp_path), "--output", str(tmp_path / "curves.png")]
    monkeypatch.setattr(sys, "argv", ["lamb_adam_curves", *arguments])
    lamb_adam.main()
    printed = capsys.readouterr().out
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "| electra adam | 1.000 | 0.100 | 10.000 |" in printed  # medians
    assert "| electra lamb | 1.250 | 0.350 | 28.000 |" in printed  # the rest as with Adam
    assert "| adam | 1e-3 | 9.000 | - | - |\n| adam | 2e-3 | 8.000 | 6.000 | 0.000 |" in printed
    cost = 1.25  # an update of LAMB's, in updates of Adam's
    assert f"| 80 | 8.000 | 6.000 | {10 - 2 * 2 / cost:.3f} |" in printed
    assert f"| 80 | 12.000 | 14.000 | {10 + 4 / cost:.3f} | 7.000 | 5.000 | {9 - 4 / cost:.3f} | 0.600 |" in printed
    assert "| adam | 1e-3 | 8.000 | - | - |" in printed  # ELECTRA's learning rates are judged by the generator
    assert f"| 0.000 | 400.000 | 200.000 | {cost / 2:.3f} |" in printed
    assert f"| -1.000 | 400.000 | 200.000 | {cost / 2:.3f} |" in printed  # the generator's
    by_frequency = lamb_adam.frequency_levels(tmp_path)["mlm"][0]
    assert f"| {by_frequency:.3f} | {40 * (10 - by_frequency):.3f} | " in printed


def test_the_lamb_campaign_goes_on_with_the_best_rates(lamb_adam, tmp_path, repository):
    script = (repository / "tests" / "campaigns" / "lamb_adam.sh").read_text()
    tables = "\n".join(re.findall(r"^declare -A (?:measures|rates)=.*$", script, re.MULTILINE))
    function = re.search(r"^best\(\) \{.*?^\}", script, re.MULTILINE | re.DOTALL)[0]

    def best(arguments):
        command = ["bash", "-euo", "pipefail", "-c", f"{tables}\n{function}\nbest {arguments}"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()

    assert best("mlm adam 80 2") == best("electra adam 80 2") == ["2e-3", "1e-3"]
    assert best("mlm adam 40 1") == ["2e-3"] and best("mlm adam 160 2") == ["2e-3"]


def test_curves_are_read_between_validations_but_not_beyond(lamb_adam):
    curve = {20: {"loss": 9.0}, 40: {"loss": 7.0}, 60: {"loss": 8.0}}
    assert lamb_adam.at(curve, "loss", 25) == 8.5
    assert lamb_adam.at(curve, "loss", 19) is lamb_adam.at(curve, "loss", 61) is None
    assert lamb_adam.reached(curve, "loss", 7.5) == 35
    assert lamb_adam.reached(curve, "loss", 9.5) == 20 and lamb_adam.reached(curve, "loss", 6.9) is None


def test_frequencies_alone_cost_what_they_cost_by_hand(lamb_adam, tmp_path):
    # p = 3/4, 1/4 (counts 2 and 0, one added to each); held out: one of each; q = 3/5, 1/3
    bits = (np.log2(4 / 3) + 2) / 2
    shown, random = (np.log2(5 / 3) + np.log2(3)) / 2, (np.log2(5 / 2) + np.log2(3 / 2)) / 2 + bits
    levels = lamb_adam.frequency_levels(tmp_path)
    assert levels["mlm"] == pytest.approx((bits, 0.8 * bits + 0.1 * shown + 0.1 * random))
    assert levels["electra"] == pytest.approx((bits * np.log(2), 0.85 * bits * np.log(2)))


def test_the_clock_pairs_an_update_with_its_own_step(campaign):
    clock = campaign("lamb_adam_cost").Clock()
    clock.ends, clock.steps = [1.0, 2.0, 4.0, 7.0], [0.1, 0.2, 0.3, 0.4]
    assert clock.figures() == {"update": [2.0, 3.0], "step": [0.3, 0.4]}


def test_tokenizer_studies_of_all_sizes_come_on_one_page(campaign, tmp_path, monkeypatch):
    """Two sizes, of which one has a second draw that lacks a tokenizer; the measures are those of the studies."""
    script, text = campaign("tokenizer_study"), tmp_path / "pamj_cas_cliniques.txt"
    text.write_text("Le patient tousse.\n\nElle a une fièvre à 39 °C.\n", encoding="utf-8")
    both = load_candidates([trained(), trained(CASED)], ["lower", "cased"])
    for place, some in {"plain-8000": both, "amplified-8000": both[:1], "plain-16000": both}.items():
        study = {"settings": {"inputs": []}, "versions": {}}
        study |= study_of(some, text, [Term("toux", "x"), Term("fièvre", "y")], ["Le patient tousse."], seed=1)
        (tmp_path / "studies" / place).mkdir(parents=True)
        (tmp_path / "studies" / place / "study.json").write_text(json.dumps(study), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "studies"), "--output", str(tmp_path / "out")])
    script.main()
    lower, cased = study["tokenizers"].values()
    markdown = (tmp_path / "out" / "study.md").read_text(encoding="utf-8")
    fertility = markdown.split("**fertility**\n\n")[1].split("\n\n")[0].splitlines()
    first, second = f"{lower['tokens_per_word']:.3f}", f"{cased['tokens_per_word']:.3f}"
    assert fertility[0] == "| tokenizer | 8,000 plain | 8,000 amplified | 16,000 plain |"
    assert fertility[2:] == [f"| lower | {first} | {first} | {first} |", f"| cased | {second} |  | {second} |"]
    assert "## Medical terms: 16,000 pieces, plain" in markdown and "(sizes.png)" in markdown
    figures = json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))["studies"]["plain-8000"]
    assert figures["lower"]["twice by boundary"] == lower["twice_by_boundary"]
    assert figures["cased"]["fertility on cases"] == figures["cased"]["fertility"] == cased["tokens_per_word"]
    assert (tmp_path / "out" / "study.html").read_text(encoding="utf-8").count("data:image/png") == 1


def test_the_mixed_text_of_the_speed_campaign_goes_on_with_new_words(campaign, tmp_path):
    """The same text from the same files; a second round has all documents again, a third of the words changed."""
    speed = campaign("binarize_speed")
    words = [f"mot{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(600)]
    for name, part in (("a", words[:300]), ("b", words[300:])):
        lines = [" ".join(part[start : start + 10]) for start in range(0, 300, 10)]
        (tmp_path / f"{name}.txt").write_text("\n\n".join(lines) + "\n")
    files, texts = [tmp_path / "a.txt", tmp_path / "b.txt"], speed.mixed([tmp_path / "a.txt", tmp_path / "b.txt"])
    first, second = ([next(texts) for _ in range(60)] for _ in range(2))
    assert sorted(" ".join(first).split()) == sorted(words) and first != sorted(first)
    new = set(" ".join(second).split()) - set(words)
    assert 100 < len(new) < 300 and all(len(word) == 5 for word in new)
    one, two = (speed.write_text(files, 0.006, tmp_path / name).read_bytes() for name in ("one", "two"))
    assert one == two and 5_900 < len(one) <= 6_000 and one.decode().startswith(first[0])


SENTENCES = {"la [MASK] de": "fièvre", "le [MASK] est": "foie", "[MASK] cas": "Le"}


def leave_run(folder, ranks, emea):
    """What a run of small_encoders.bash leaves: the ranks of SENTENCES' words (two pieces from the 9th on), F1 on EMEA;
    MEDLINE not there yet."""
    rows = [
        {
            "sentence": sentence,
            "expected": word,
            "answers": {"model": {"expected_rank": rank, "expected_pieces": 1 + (rank > 8)}},
        }
        for (sentence, word), rank in zip(SENTENCES.items(), ranks, strict=True)
    ]
    for part, content in (
        ("masked_words/masked_words.json", {"rows": rows}),
        (
            "emea/metrics.json",
            {"dev": {"micro": {"f1": {"values": [0.3]}}}, "test": {"micro": {"f1": {"values": emea}}}},
        ),
    ):
        (folder / part).parent.mkdir(parents=True)
        (folder / part).write_text(json.dumps(content))


def test_small_encoders_are_compared_over_seeds_and_a_table_may_be_partial(campaign, tmp_path):
    (tmp_path / "conditions.tsv").write_text("name\tAmpV\nboth\tyes\nneither\tno\nlater\tno\n")
    leave_run(tmp_path / "both-1", [1, 2, 1], [0.50])
    leave_run(tmp_path / "both-2", [1, 1, 1], [0.54])
    leave_run(tmp_path / "neither-1", [9, 3, 1], [0.40])
    (tmp_path / "random-1" / "emea").mkdir(parents=True)
    (tmp_path / "random-1" / "emea" / "metrics.json").write_text(
        '{"dev": {"micro": {"f1": {"values": [0.1, 0.1]}}}, "test": {"micro": {"f1": {"values": [0.2, 0.4]}}}}'
    )
    printed = campaign("small_encoders_table").table(tmp_path)
    # "fièvre" is of two pieces in neither's vocabulary: three words asked, two in all vocabularies
    assert (
        "| both | yes | 83.3 ± 23.6 (2) | 75.0 ± 35.4 (2) | 100.0 (1) | 30.0 ± 0.0 (2) | - | 52.0 ± 2.8 (2) | - |"
        in printed
    )
    assert "| neither | no | 33.3 (1) | 50.0 (1) | 66.7 (1) | 30.0 (1) | - | 40.0 (1) | - |" in printed
    assert "| later | no | - | - | - | - | - | - | - |" in printed
    assert "| random |  | - | - | - | 10.0 ± 0.0 (2) | - | 30.0 ± 14.1 (2) | - |" in printed
    assert "3 masked words, 2 of them one piece in all vocabularies" in printed


@pytest.mark.parametrize("script", ["oubiobert_ablation.sh", "text_rules.sh"])
def test_a_campaign_completes_a_table_of_one_seed_before_the_next(repository, tmp_path, script):
    text = (repository / "tests" / "campaigns" / script).read_text(encoding="utf-8")
    conditions = re.search(r"^conditions=\((.*)\)$", text, re.MULTILINE)[1].split()
    shared = repository / "tests" / "campaigns" / "small_encoders.bash"
    command = f"set -euo pipefail; . '{shared}'; conditions=({' '.join(conditions)}); plan"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{one} {seed}" for seed in (1, 2, 3) for one in conditions]


def test_masked_words_stand_apart_whatever_the_text_rules(campaign):
    module = campaign("masked_sentences")
    long = " ".join(f"m{number} un" for number in range(40))
    lines = ["L'état général, 38,5 °C est bon.", "# une remarque", long]
    drawn = module.draw(lines, 1000, seed=1)
    assert (
        drawn[:2]
        == [
            "L'état général, 38,5 °C [MASK] bon.\test",  # not "bon.", "L'état" and "général,": a mark sticks to them
            f"{' '.join(['m0', module.MASK, *long.split()[2:14]])}\tun",
        ]
    )
    assert len(drawn) == 41 and all(len(one.partition("\t")[0].split()) <= 25 for one in drawn)
    assert module.draw(lines, 5, seed=1) == module.draw(lines, 5, seed=1) != module.draw(lines, 5, seed=2)


def test_each_row_of_the_ablation_changes_the_recipe(campaign):
    module = campaign("modern_ablation")
    options = dict(module.recipe_options())
    assert options["--arch"] == ["alibert_modern_tiny"] and options["--optimizer"] == ["muon"]
    assert options["--mask-prob"] == ["0.3"] and "--save-dir" not in options
    for row, (left_out, more) in (module.PRETRAINING | module.OPTIMIZERS).items():
        assert left_out <= set(options) and (left_out or more or row == "the recipe"), row


def test_the_kills_of_a_training_are_of_all_kinds_and_nothing_is_killed_again_before_it_was(campaign):
    module = campaign("kill_training")
    drawn = [module.kinds_of_run(5, random.Random(number)) for number in range(50)]
    assert all(sorted(kinds) == sorted(module.KILLS_OF_RUN) and kinds[0] != "again" for kinds in drawn)
    assert len(set(map(tuple, drawn))) > 20 and len(module.kinds_of_run(2, random.Random(1))) == 2


def test_a_difference_is_the_exit_status_of_the_kills(campaign, monkeypatch, capsys):
    module = campaign("kill_training")
    monkeypatch.setattr(sys, "argv", ["kill_training", "data-bin", "--output", "runs"])
    for differences, status in ([], 0), (["checkpoint_last.pt: best"], 1):
        found = {"mlm": module.Found(runs=2, differences=differences), "electra": module.Found(runs=2)}
        monkeypatch.setattr(module, "campaign", lambda *_, found=found: found)
        assert module.main() == status
        assert json.loads(capsys.readouterr().out)["mlm"]["differences"] == differences


def test_a_save_under_way_is_told_from_its_folder(campaign, tmp_path):
    signs = campaign("killing").signs_of_a_save

    def write(name, when):
        (tmp_path / name).write_bytes(b"12345")
        os.utime(tmp_path / name, (when, when))

    write("checkpoint_1_4.pt", 100)
    assert list(signs(tmp_path).values()) == ["checkpoint_1_4.pt is not yet checkpoint_last.pt"]
    os.link(tmp_path / "checkpoint_1_4.pt", tmp_path / "checkpoint_last.pt")
    write("checkpoint_previous.pt", 90)
    write("checkpoint_1_2.pt", 90)
    assert signs(tmp_path) == {}
    write("checkpoint_1_6.pt.tmp", 200)
    before = signs(tmp_path)
    assert list(before.values()) == ["checkpoint_1_6.pt.tmp of 5 bytes"]
    os.utime(tmp_path / "checkpoint_1_6.pt.tmp", (300, 300))  # another one of the name, left by another kill
    assert signs(tmp_path).keys().isdisjoint(before)
    os.rename(tmp_path / "checkpoint_1_6.pt.tmp", tmp_path / "checkpoint_1_6.pt")
    not_last, one_too_many = signs(tmp_path).values()
    assert not_last == "checkpoint_1_6.pt is not yet checkpoint_last.pt"
    assert one_too_many == "checkpoint_1_2.pt is not yet removed"


def test_the_model_of_many_gpus(campaign):
    """48 GPUs, 10 TFLOP at 100 TFLOP/s, 1 GB at 47 GB/s as a ring sends it: 2 x 47 / 48 of it."""
    scaling = campaign("scaling")
    computing, exchanging = scaling.Cluster("c", 48, 100, 47, 0.001).update(10e12, 1e9)
    assert computing == pytest.approx(0.1) and exchanging == pytest.approx(2 / 48 + 0.001)
    assert scaling.model().count("\n") == 1 + len(scaling.CLUSTERS) * len(scaling.LOADS)


def test_the_rate_leaves_out_the_first_updates(campaign, tmp_path):
    """Three slow ones of 10 seconds; then 500 tokens in 2 seconds each."""
    lines = [{"seconds": 10 * n, "tokens": 500} for n in (1, 2, 3)]
    lines += [{"seconds": 30 + 2 * n, "tokens": 500} for n in range(1, 6)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert campaign("scaling").rate(tmp_path) == 250


@pytest.mark.parametrize(("second", "once"), [("3 4", True), ("3 3", False), ("3", False), ("3 5", False)])
def test_a_sample_that_is_missed_or_seen_twice_is_reported(second, once, campaign, tmp_path, monkeypatch):
    world_sizes = campaign("world_sizes")
    monkeypatch.setattr(world_sizes, "weights", lambda save: {})
    monkeypatch.setattr(world_sizes, "largest_difference", lambda left, right: 0.0)
    for save, text in {"whole": "1 0 1\n1 2\n2 3 4\n", "parts": f"1 0 1\n1 2\n2 {second}\n"}.items():
        (tmp_path / save).mkdir()
        (tmp_path / save / "samples.0").write_text(text)
        lines = [{"update": n, "epoch": 1, "processes": 1, "loss": 2.0} for n in (1, 2)]
        (tmp_path / save / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = world_sizes.compare(tmp_path / "whole", tmp_path / "parts", 0.0)
    assert found["each_sample_once_in_each_epoch"] is once and found["the_same_samples_in_every_update"] is once


def test_scores_of_a_killed_command_are_compared_but_for_times(campaign, tmp_path):
    module = campaign("kill_finetuning")
    for side in ("peace", "killed"):
        for name, content in {
            "t/m/metrics.json": {"test": 0.5, "seconds_per_seed": [len(side)]},
            "t/m/seed-1/metrics.json": {"test": 0.5, "seconds": len(side), "curve": [{"loss": 1.0, "seconds": side}]},
            "t/m/seed-1/predictions.jsonl": {"id": 1},
        }.items():
            file = tmp_path / side / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content))
    peace, killed = tmp_path / "peace", tmp_path / "killed"
    assert module.compared(peace, killed) == [] and len(module.results(killed)) == 1
    (killed / "t/m/seed-1/predictions.jsonl").write_text('{"id":  1}')
    (killed / "t/m/seed-1/metrics.json").unlink()
    (killed / "t/m/.seed-2.x.partial").mkdir()
    (killed / "t/m/metrics.json").write_text('{"test": 0.4, "seconds_per_seed": [1]}')
    assert module.compared(peace, killed) == [
        "left: t/m/.seed-2.x.partial",
        "t/m/metrics.json differs",
        "t/m/seed-1/metrics.json differs",
        "t/m/seed-1/predictions.jsonl differs",
    ]
