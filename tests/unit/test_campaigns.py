"""The long campaigns in short: what can be seen of them without running them whole."""

import importlib.util
import sys

import pytest


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


@pytest.mark.parametrize("name", ["bad_input_mutations", "objective_mutations"])
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
