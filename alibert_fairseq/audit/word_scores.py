"""What a model thinks of words at masked places: the losses of a text, and the likelihood of what could stand there.

Shapes: T tokens of a row, M masked ones of all rows, V ids.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from alibert_common.errors import InputError
from alibert_fairseq.data.dictionary import mask_id
from alibert_fairseq.data.layout import Layout
from alibert_fairseq.hf.checkpoint import Checkpoint
from alibert_fairseq.models.bert import EncoderWithHeads

TOKENS_AT_ONCE = 1 << 12  # of rows in a batch


def word_predictor(checkpoint: Checkpoint) -> EncoderWithHeads:
    """The part of a model that predicts words: the encoder, or ELECTRA's generator."""
    model = checkpoint.model
    if checkpoint.model_name == "electra_modern" and not checkpoint.cfg["criterion"]["encoder_weight"]:
        return model.generator  # type: ignore[return-value]
    found = getattr(model, "encoder", None) or getattr(model, "generator", None)
    if found is None:
        raise InputError(f"{checkpoint.path}: no part of it predicts words; the audit needs one.")
    return found


class WordScorer:
    """The word predictor of a checkpoint, which reads rows of ids with <mask> at some places."""

    def __init__(self, checkpoint: Checkpoint, device: str = "cpu"):
        self.part = word_predictor(checkpoint).to(device).eval()
        self.mask, self.pad, self.device = mask_id(checkpoint.dictionary), checkpoint.dictionary.pad(), device
        self.longest = self.part.sentence_encoder.size.max_positions

    @torch.no_grad()
    def log_probabilities(self, rows: Sequence[np.ndarray], masked: Sequence[np.ndarray]) -> Tensor:
        """(M, V) of the masked places of rows: (T,) ids each, and the places, in their order."""
        tokens = torch.nn.utils.rnn.pad_sequence(
            [torch.from_numpy(row.astype(np.int64)) for row in rows], True, padding_value=self.pad
        )
        chosen = torch.zeros_like(tokens, dtype=torch.bool)
        for row, places in enumerate(masked):
            chosen[row, torch.from_numpy(places)] = True
        layout = Layout.of(tokens.ne(self.pad), None, chosen)
        hidden = layout.flat(tokens.masked_fill(chosen, self.mask)).to(self.device)
        layout = _moved(layout, self.device)
        features = self.part.sentence_encoder(hidden, layout, only_masked=True)
        return self.part.lm_head(features).float().log_softmax(-1).cpu()

    def losses(self, rows: Sequence[np.ndarray], masked: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        """For each row the losses of its masked places in nats, float64."""
        for part in in_batches([len(row) for row in rows]):
            some = rows[part], masked[part]
            scores = self.log_probabilities(*some)
            target = np.concatenate([row[places] for row, places in zip(*some, strict=True)])
            own = -scores.gather(1, torch.from_numpy(target.astype(np.int64))[:, None])[:, 0].double().numpy()
            yield from np.split(own, np.cumsum([len(places) for places in some[1]])[:-1])


def in_batches(lengths: Sequence[int]) -> Iterator[slice]:
    """Neighbouring rows of at most TOKENS_AT_ONCE tokens with their padding; a longer row is alone."""
    first, longest = 0, 0
    for number, length in enumerate(lengths):
        longest = max(longest, length)
        if number > first and longest * (number + 1 - first) > TOKENS_AT_ONCE:
            yield slice(first, number)
            first, longest = number, length
    if first < len(lengths):
        yield slice(first, len(lengths))


def _moved(layout: Layout, device: str) -> Layout:
    if device == "cpu":
        return layout
    from fairseq.utils import move_to_cuda

    return Layout.read(move_to_cuda(layout.written()))
