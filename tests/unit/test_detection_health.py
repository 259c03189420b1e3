"""A discriminator that learns nothing is reported, a healthy one is not."""

from alibert_fairseq.criterions.detection_health import DetectionHealth, verdict


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
