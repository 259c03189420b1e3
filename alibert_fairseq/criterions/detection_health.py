"""Detecting from the metrics of replaced token detection that the discriminator learns nothing."""

from collections import defaultdict

WINDOW = 1000  # updates before each verdict; the metrics of one batch say little
# A discriminator that knows the frequencies of words, and nothing of context, has an AUC of 0.6
# (docs/results/leaving_the_plateau.md); one that gives every token the same score has 0.5.
IDLE_AUC = 0.55
# Of all tokens some 6 % are replaced in a healthy training (K. Clark, google-research/electra issue 49). With a sixth
# of that, the generator guesses so well that hardly anything is left to detect (issue 37: the usual failure).
FEW_REPLACED = 0.01


class DetectionHealth:
    """Sums the metrics of updates and reports, once per window, what is wrong if anything is."""

    def __init__(self, window: int = WINDOW):
        self.window, self.updates, self.total = window, 0, defaultdict[str, float](float)

    def update(self, logging_outputs: list[dict]) -> str | None:
        """Add one update's sums (`judged`, `replaced`, `flagged`, `auc_times_replaced`); a sentence, or None."""
        for name in ("judged", "replaced", "flagged", "auc_times_replaced"):
            self.total[name] += sum(float(log.get(name, 0)) for log in logging_outputs)
        self.updates += 1
        if self.updates < self.window:
            return None
        sentence, updates = verdict(**self.total), self.updates
        self.updates, self.total = 0, defaultdict(float)
        return sentence and f"in the last {updates} updates {sentence}"


def verdict(judged: float, replaced: float, flagged: float, auc_times_replaced: float) -> str | None:
    """What is wrong with the discriminator, from sums over many batches, or None."""
    if replaced < FEW_REPLACED * judged:
        return (
            f"only {100 * replaced / max(1, judged):.1f} % of the tokens were replaced: the generator leaves the "
            "discriminator nothing to detect; give it fewer --generator-layers or mask more (--mask-prob)."
        )
    auc = auc_times_replaced / replaced
    if auc >= IDLE_AUC:
        return None
    says = {0.0: "says of every token that it is original", 1.0: "says of every token that it was replaced"}
    does = says.get(flagged / judged, "is idle")
    return (
        f"the discriminator {does}: an AUC of {auc:.3f} is hardly above chance, 0.5; lower --lr, or look whether the "
        "generator is too far ahead (generator_accuracy_pct)."
    )
