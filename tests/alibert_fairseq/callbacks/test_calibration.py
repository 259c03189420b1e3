"""What a calibration counts of a model."""

from types import SimpleNamespace

import torch

from alibert_fairseq.callbacks.calibration import Calibration, counted
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


def test_weights_gradients_moments_and_copies_are_the_state():
    """Four numbers of four bytes a weight, and the copies of autocast."""
    model = torch.nn.Linear(30, 20)
    adam = torch.optim.Adam(model.parameters(), foreach=False)
    trainer = SimpleNamespace(model=model, optimizer=SimpleNamespace(optimizer=adam), cuda=False)
    calibration = Calibration(trainer)
    calibration.found = {}
    for _ in range(2):
        with calibration.measured(), torch.autocast("cpu", torch.bfloat16):
            model(torch.ones(3, 30, requires_grad=True)).sum().backward()
            adam.step()
    steps = 2 * 4  # Adam counts them for each of its two tensors
    assert calibration.found["state_bytes"] == 4 * 4 * (30 * 20 + 20) + steps + 2 * 30 * 20
