"""A discriminator that learns nothing is reported, a healthy one is not."""

import pytest
import torch.distributed
from fairseq.logging import metrics

from alibert_fairseq.criterions.detection_health import DetectionHealth, verdict
from alibert_fairseq.tasks.electra import ElectraTask


def figures(judged=1000, replaced=100, flagged=50, auc=0.8) -> dict:
    return {"judged": judged, "replaced": replaced, "flagged": flagged, "auc_times_replaced": auc * replaced}


def test_a_learning_discriminator_is_left_alone_even_when_it_flags_nothing_yet():
    assert verdict(**figures()) is None
    assert verdict(**figures(flagged=0, auc=0.6)) is None


def test_what_is_wrong_is_named():
    assert "that it is original" in verdict(**figures(flagged=0, auc=0.51))
    assert "that it was replaced" in verdict(**figures(flagged=1000, auc=0.51))
    assert "is idle" in verdict(**figures(auc=0.54))
    assert "only 0.9 % of the tokens" in verdict(**figures(replaced=9, auc=0.9))
    assert "only 0.0 %" in verdict(**figures(replaced=0))


def test_a_verdict_comes_once_a_window_and_forgets_the_one_before():
    health = DetectionHealth(window=3)
    ill, well = figures(auc=0.5), figures()
    assert [health.update([ill]) for _ in range(2)] == [None, None]
    assert health.update([ill]).startswith("in the last 3 updates the discriminator is idle")
    assert [health.update([well]) for _ in range(3)] == [None, None, None]
    assert [health.update([f]) for f in (ill, ill, ill)][-1] is not None


@pytest.mark.parametrize(("training", "rank", "warnings"), [(True, 0, 1), (False, 0, 0), (True, 1, 0)])
def test_the_task_warns_of_updates_on_one_process(training, rank, warnings, caplog, monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: rank)
    task = object.__new__(ElectraTask)
    task.health = DetectionHealth(window=2)
    criterion = type("Criterion", (), {"training": training, "reduce_metrics": staticmethod(lambda logs: None)})()
    logs = [figures(auc=0.5) | {"ntokens": 1000, "nsentences": 10}]
    with metrics.aggregate():
        for _ in range(3):
            task.reduce_metrics(logs, criterion)
    assert caplog.text.count("the discriminator is idle") == warnings
