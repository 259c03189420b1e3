"""Label texts with a fine-tuned model, as it was scored: `Labeler("OUTPUT/model")(texts)`."""

from pathlib import Path
from typing import NamedTuple

from scipy.special import expit, softmax

from downstream.data.examples import LabelledText
from downstream.fine_tuned import FineTuned, require_list
from downstream.learners.form_folder import load_plain
from downstream.learners.label_attention import WEIGHTS, LabelAttention, load_label_attention, means_of, named
from downstream.learners.term_regression import TermRegression
from downstream.tasks.classification import TextClassification
from downstream.training.heads import head_of
from downstream.training.loop import predict


class Labelled(NamedTuple):
    """labels: those that the text has, in the order of the recipe. scores: from 0 to 1, of each label."""

    labels: tuple[str, ...]
    scores: dict[str, float]


class Labeler(FineTuned[TextClassification]):
    """A model of labels of texts, plain head or label attention."""

    regression: TermRegression | None = None  # label attention has one

    def __init__(self, folder: str | Path, device: str = "auto"):
        """Raises InputError for a folder that is not from downstream.finetune, of another task, or damaged."""
        super().__init__(folder, device, TextClassification, "labels of texts")

    def _loaded(self, folder: Path, config):
        head = head_of(self.task.head())
        if not (folder / WEIGHTS).is_file():
            return load_plain(folder, head, config), head
        model, self.regression = load_label_attention(folder, self.task.names, config)
        return model, head

    def __call__(self, texts: list[str] | list[tuple[str, str]]) -> list[Labelled]:
        """The labels of each text, or pair of texts. A long one is read in windows: no text is cut off.

        A score is a probability. Of several labels, label attention gives those above 0.5, a plain head those above the
        recipe's `threshold`. Otherwise the likeliest label is given, and the scores sum to 1.
        Raises TypeError for one text that is not in a list.
        """
        require_list(texts)
        if not texts:
            return []
        pairs = [(text, None) if isinstance(text, str) else text for text in texts]
        known = self.task.names[:1]  # reading needs a label; answering does not look at it
        items = [LabelledText(str(number), first, known, second) for number, (first, second) in enumerate(pairs)]
        encoded = self.task.encode(items, self.tokenizer, self.frame, training=False)
        rows = predict(self.learned, encoded.pieces)
        logits = means_of(self.task, encoded, rows)
        if self.regression is None:
            labels = [self.task.named(row) for row in logits]
        else:
            model = self.learned.model
            assert isinstance(model, LabelAttention)
            logits = model.joined(logits, self.regression.logits(self.task.all_pairs(encoded)))
            labels = named(self.task, logits)
        shares = expit if self.task.multi_label else softmax
        return [
            Labelled(own, dict(zip(self.task.names, shares(row).tolist(), strict=True)))
            for own, row in zip(labels, logits, strict=True)
        ]
