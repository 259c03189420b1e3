"""What a calibration counts of a model."""

import torch

from alibert_fairseq.callbacks.calibration import counted
from alibert_fairseq.models.encoder import SentenceEncoder
from alibert_fairseq.models.size import EncoderSize


def test_the_joined_weights_of_attention_are_a_copy_and_no_activation():
    """They do not grow with the batch, as activations do."""
    size = EncoderSize(2, 24, 40, 2, 24, 50, 32, padding_id=1, layer_norm_eps=1e-5)
    encoder = SentenceEncoder(size)
    found = []
    for rows in (1, 3):
        with counted(encoder) as counts:
            encoder.of_rows(torch.full((rows, 16), 7))
        found.append(counts)
    joined = 2 * 3 * 24 * 24 * 4  # layers, float32
    assert [counts["copy_bytes"] for counts in found] == [joined, joined]
    assert found[1]["activation_bytes"] == 3 * found[0]["activation_bytes"]
